"""WordNet's database -> the table of synonyms that meteor looks words up in."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

# The letter of a part of speech in the table. Its capital marks an irregular form.
PARTS_OF_SPEECH = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

# How an adjective may stand in a sentence is noted behind its name: "afloat(p)".
MARKER = re.compile(r"\(\w+\)$")


def build(sources: Path, out: Path) -> None:
    """Write wordnet.zz: one line a word, sorted, its fields parted by tabs, zlib-compressed.

        saw     nadage byword proverb =     v=      Vsee

    The first field is the word in lower case, as WordNet's index has it. A field that starts with a
    small letter holds the names in all its synsets of that part of speech, `=` standing for the word
    itself. One that starts with a capital holds the words of which this is an irregular form; they
    replace what the regular endings would give, even if there are none.

    Names of several words are left out, and so are words left with no name at all.
    """
    folder = sources / "wordnet"
    fields: dict[str, list[str]] = {}
    for part, letter in PARTS_OF_SPEECH.items():
        names = dict(names_by_word(folder, part))
        for word, found in names.items():
            fields.setdefault(word, []).append(letter + " ".join("=" if name == word else name for name in found))
        for form, bases in irregular_forms(folder / f"{part}.exc").items():
            fields.setdefault(form, []).append(letter.upper() + " ".join(base for base in bases if base in names))
    lines = ("\t".join([word, *fields[word]]) for word in sorted(fields))
    # A line break before the first word too: every word is found between a line break and a tab.
    table = "\n" + "".join(line + "\n" for line in lines)
    (out / "wordnet.zz").write_bytes(zlib.compress(table.encode("ascii"), level=9))


def names_by_word(folder: Path, part: str) -> Iterator[tuple[str, list[str]]]:
    """Each word of the index with the sorted names in its synsets, for words that have any."""
    synsets = dict(synset_names(folder / f"data.{part}"))
    for line in entries(folder / f"index.{part}"):
        # word, part of speech, number of synsets, number of pointers, ..., offsets of the synsets
        columns = line.split()
        offsets = columns[-int(columns[2]) :]
        names = sorted({name for offset in offsets for name in synsets[offset]})
        if names:
            yield columns[0], names


def synset_names(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Each synset's offset and its names of one word."""
    for line in entries(data):
        # offset, lexicographer file, type, number of names in hexadecimal, name, id, name, id, ...
        offset, _, _, count, *columns = line.split()
        names = [MARKER.sub("", name) for name in columns[: 2 * int(count, 16) : 2]]
        yield offset, [name for name in names if "_" not in name]


def irregular_forms(exceptions: Path) -> dict[str, list[str]]:
    """Each irregular form with the words it is a form of. A form listed twice has those of its last line."""
    lines = (line.split() for line in entries(exceptions))
    return {form: bases for form, *bases in lines}


def entries(file: Path) -> Iterator[str]:
    """The lines after the licence, which is indented."""
    with file.open(encoding="ascii") as lines:
        yield from (line for line in lines if not line.startswith(" "))
