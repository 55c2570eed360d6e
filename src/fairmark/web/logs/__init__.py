"""Stored completions and responses."""
