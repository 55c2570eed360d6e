"""All that must not hold an event loop: the loop itself, worker processes, long rows."""
