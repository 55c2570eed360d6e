"""Exit codes, the same for every command."""

EXIT_OK = 0
EXIT_BELOW = 1
"""Graded, and below the threshold that was asked for."""
EXIT_INVALID = 2
"""A bad grader, bad data or a bad option. Nothing was graded after it was found."""
EXIT_UNGRADED = 3
"""Nothing is wrong with what was asked, and it could not be done: a grader could not grade, a database is away."""
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

HELP = "Exit status: 0 graded, 1 below the threshold, 2 bad grader or input, 3 could not grade."
