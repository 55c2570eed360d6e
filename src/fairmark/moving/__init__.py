"""Moving in and out: evals, runs, files and completions from other services, from files, and between two servers."""
