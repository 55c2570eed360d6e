"""Ids as people type them: the first digits of a run's."""

SHORTEST = 4
_PREFIX = "evalrun_"
_SHOWN = 8


def short_id(run_id: str) -> str:
    """As much of an id as tells it from others; one that was made elsewhere whole."""
    digits = run_id.removeprefix(_PREFIX)
    return digits[:_SHOWN] if digits != run_id else run_id


def is_meant(text: str, run_id: str) -> bool:
    """Whether somebody who typed this can mean the run."""
    digits = run_id.removeprefix(_PREFIX)
    return text == run_id or (len(text) >= SHORTEST and (digits.startswith(text) or run_id.startswith(text)))
