"""Synonyms from Princeton's WordNet 3.0, out of the table packaged beside the code."""

import zlib
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fairmark.metrics.memo import Memo

TABLE = Path(__file__).with_name("data") / "wordnet.zz"

# A word is searched for among about so many characters of the table.
BLOCK_LENGTH = 1024

# Endings of inflected words, by part of speech: what is taken off, and what is put in its place.
ENDINGS = {
    "n": [
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ],
    "v": [
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ],
    "a": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
}
# The same by last letter: most words have none of them.
RULES = {
    last: [
        (part, ending, replacement)
        for part, endings in ENDINGS.items()
        for ending, replacement in endings
        if ending.endswith(last)
    ]
    for last in "sndgrt"
}


def synonyms(word: str) -> frozenset[str]:
    """`word` itself, and every single-word name in the synsets of each word it may be a form of.

    The lookup ignores case; the names keep theirs ("Paris"). All parts of speech answer: "saw" gives names
    for a saying and for seeing.
    """
    table = load()
    form = word.lower()
    names = {word}
    irregular = set()
    for field in table.fields(form):
        part = field[0].lower()
        if part == field[0]:
            names.update(form if name == "=" else name for name in field[1:].split(" "))
        else:
            irregular.add(part)
            for base in field[1:].split():
                names.update(table.names(base, part))
    for part, ending, replacement in RULES.get(form[-1:], ()):
        # A part of speech that knows the form as irregular does not try the regular endings.
        if form.endswith(ending) and part not in irregular:
            names.update(table.names(form[: -len(ending)] + replacement, part))
    return frozenset(names)


SYNONYMS = Memo(synonyms, max_texts=16_384, max_length=64)


class Table(NamedTuple):
    text: str
    """Lines of fields, as scripts/data/wordnet.py describes them. Never parsed as a whole."""
    words: list[str]
    """The first word of every block of lines."""
    starts: list[int]
    """The line break before each block, and the one after the last."""

    def fields(self, word: str) -> list[str]:
        """What the table says about `word`: nothing if it is not there."""
        block = bisect_right(self.words, word)
        if not block:
            return []
        start = self.text.find(f"\n{word}\t", self.starts[block - 1], self.starts[block])
        if start < 0:
            return []
        first, *fields = self.text[start + 1 : self.text.index("\n", start + 1)].split("\t")
        # A word with a tab in it can be found in the text without being in the table.
        return fields if first == word else []

    def names(self, word: str, part: str) -> list[str]:
        """The single-word names in the synsets of `word` as that part of speech."""
        for field in self.fields(word):
            if field[0] == part:
                return [word if name == "=" else name for name in field[1:].split(" ")]
        return []


@cache
def load() -> Table:
    """The table, held in memory: an open file's position would be shared by forked workers."""
    text = zlib.decompress(TABLE.read_bytes()).decode("ascii")
    end = len(text) - 1
    words, starts = [], []
    start = 0
    while 0 <= start < end:
        starts.append(start)
        words.append(text[start + 1 : text.index("\t", start)])
        start = text.find("\n", start + BLOCK_LENGTH)
    return Table(text, words, [*starts, end])
