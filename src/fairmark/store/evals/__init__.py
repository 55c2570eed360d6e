"""Evals, their runs, and what a run writes: items, samples, scores, notes, counts, rows of its own."""
