"""Many rows: where they come from, the way through the graders, where results go, what they add up to."""
