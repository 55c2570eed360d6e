"""Chat completions and responses: passed on to the models behind, and kept where that is asked for."""
