"""Servers, and what the database of one holds: keys, registered graders, runs."""
