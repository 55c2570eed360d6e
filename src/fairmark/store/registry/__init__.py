"""Graders under keys, and the scores that were pushed to them."""
