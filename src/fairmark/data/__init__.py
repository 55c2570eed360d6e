"""Many rows: read from files, graded, counted, told with how sure the figures are."""
