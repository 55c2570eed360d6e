"""Lays the sources out as the data tree of the reference library, which the tests compare against."""

import filecmp
import shutil
from pathlib import Path

# The reference library looks here without being told.
TREE = Path(".venv") / "nltk_data"

PLACES = {
    "punkt_tab/english": "tokenizers/punkt_tab/english",
    "perluniprops": "misc/perluniprops",
    "wordnet": "corpora/wordnet",
}

# WordNet's lexicographer files by syntactic category, in the order of their numbers.
# Debian does not ship this list as a file.
LEXICOGRAPHER_FILES = [
    ("adj", "all pert"),
    ("adv", "all"),
    ("noun", "Tops act animal artifact attribute body cognition communication event feeling food group"),
    ("noun", "location motive object person phenomenon plant possession process quantity relation shape"),
    ("noun", "state substance time"),
    ("verb", "body change cognition communication competition consumption contact creation emotion motion"),
    ("verb", "perception possession social stative weather"),
    ("adj", "ppl"),
]
CATEGORY_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def lay_out(sources: Path, tree: Path) -> None:
    """Make `tree` hold every source at the place where the reference library looks for it."""
    for source, place in PLACES.items():
        folder = tree / place
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted((sources / source).iterdir()):
            copy = folder / file.name
            if not copy.is_file() or not filecmp.cmp(file, copy, shallow=False):
                shutil.copyfile(file, copy)
    (tree / "corpora/wordnet/lexnames").write_text(lexnames(), encoding="ascii")


def lexnames() -> str:
    files = [(category, name) for category, names in LEXICOGRAPHER_FILES for name in names.split()]
    return "".join(
        f"{number:02}\t{category}.{name}\t{CATEGORY_NUMBERS[category]}\n"
        for number, (category, name) in enumerate(files)
    )
