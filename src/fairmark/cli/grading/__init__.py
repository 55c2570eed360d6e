"""Grading here and now: samples, data files, rewards, and the kinds there are."""
