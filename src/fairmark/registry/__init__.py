"""Graders under keys: looked up, kept, carried as packs."""
