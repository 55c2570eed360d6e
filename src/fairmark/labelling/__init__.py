"""People label rows of runs: what they are asked, which rows they get, and what their labels say of the judge."""
