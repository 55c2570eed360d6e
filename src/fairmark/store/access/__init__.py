"""Who may come in: keys, and sessions of the web page."""
