"""The web page: what people see of the server in a browser. Everything it shows comes from the store and the engine."""
