"""Builds the tables packaged with the metrics, and the tree the tests' reference library reads."""
