"""Runs that were kept, on this machine or on a server, as people name and read them: for the commands and in Python."""
