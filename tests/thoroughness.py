"""How often the same is tried: `make test` takes a quarter of what repeats itself, `make test-all` all of it."""

_is_whole = True


def choose(*, whole: bool) -> None:
    """Called before any test file is read."""
    global _is_whole
    _is_whole = whole


def is_whole() -> bool:
    return _is_whole


def share(count: int) -> int:
    """How many of so many tries of the same property this run takes."""
    return count if _is_whole else count // 4
