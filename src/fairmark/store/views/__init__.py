"""What pages show of runs: rows, two runs side by side, the last ones, what they have spent."""
