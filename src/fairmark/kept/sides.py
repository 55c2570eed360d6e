"""What people compare: runs, and results files of `fairmark eval`, as they name them."""

from collections.abc import Sequence
from pathlib import Path

from fairmark.data.comparison import Side
from fairmark.data.results_side import read_side
from fairmark.kept.found import RunSource, find, side_of


def is_file(name: str) -> bool:
    """A file that is there, or can only be meant as one."""
    return Path(name).is_file() or "/" in name or name.endswith((".jsonl", ".json"))


def read_files(names: Sequence[str]) -> list[Side] | None:
    """In their order; None where a run is among them, which only a place knows."""
    return [read_side(name) for name in names] if all(map(is_file, names)) else None


async def read_sides(place: RunSource, names: Sequence[str]) -> list[Side]:
    """In their order."""
    return [read_side(name) if is_file(name) else await side_of(place, await find(place, name)) for name in names]
