"""Grades in pytest: a fixture, a marker for whole files, and what a test run says of them."""
