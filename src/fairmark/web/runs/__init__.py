"""The pages of runs: one of them, its rows, a new one, two of them compared."""
