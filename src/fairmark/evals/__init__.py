"""Runs that lose nothing: rows out of a data source, samples and grades into the store, in the background."""
