"""What both HTTP servers and the web page share."""
