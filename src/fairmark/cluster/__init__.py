"""Rows graded on many machines: what leaves this one, what stands on the others, and what becomes of those lost."""
