"""Pages on which people label rows of a run, and see what their labels say."""
