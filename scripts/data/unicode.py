"""unicode.txt: the character lists of the international tokenizer, a list a line.

The first field of a line is the list's name, the others are its characters in order: runs as
"first-last", in hexadecimal. "Number" is the list as published, which holds what is *not* a number.
"""

from collections.abc import Iterator
from pathlib import Path

LISTS = ["Number", "Punctuation", "Symbol"]


def build(sources: Path, out: Path) -> None:
    text = ""
    for name in LISTS:
        characters = (sources / "perluniprops" / f"{name}.txt").read_text(encoding="utf-8").strip()
        text += " ".join([name, *(f"{first:x}-{last:x}" for first, last in runs(characters))]) + "\n"
    (out / "unicode.txt").write_text(text, encoding="ascii", newline="\n")


def runs(characters: str) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbouring code points. A character may be listed twice."""
    points = sorted(set(map(ord, characters)))
    first = last = points[0]
    for point in points[1:]:
        if point > last + 1:
            yield first, last
            first = point
        last = point
    yield first, last
