"""Reinforcement jobs: their list, one of them, and its curves."""
