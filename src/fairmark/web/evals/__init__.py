"""The pages of evals: the list, one of them, a new one."""
