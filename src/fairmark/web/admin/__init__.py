"""The pages for whoever looks after the server: keys and models."""
