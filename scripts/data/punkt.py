"""punkt.txt: what Punkt learnt about English sentences, one kind of fact a line.

The first field of a line is the kind, the others are the words, separated by tabs:

    abbreviations   types that carry a period without ending a sentence; the period itself left out
    collocations    "first second", where a period between the two ends no sentence
    starters        types that often begin a sentence
    seen N          types seen in the contexts whose bits make up N; see fairmark/metrics/punkt.py
"""

from collections import defaultdict
from pathlib import Path


def build(sources: Path, out: Path) -> None:
    folder = sources / "punkt_tab" / "english"
    facts = {
        "abbreviations": lines(folder / "abbrev_types.txt"),
        "collocations": [line.replace("\t", " ") for line in lines(folder / "collocations.tab")],
        "starters": lines(folder / "sent_starters.txt"),
    }
    seen = defaultdict(list)
    for line in lines(folder / "ortho_context.tab"):
        word, contexts = line.split("\t")
        seen[int(contexts)].append(word)
    facts |= {f"seen {contexts}": words for contexts, words in sorted(seen.items())}
    text = "".join("\t".join([kind, *sorted(words)]) + "\n" for kind, words in facts.items())
    (out / "punkt.txt").write_text(text, encoding="utf-8", newline="\n")


def lines(file: Path) -> list[str]:
    # Only newlines end a line, and spaces count: one of the abbreviations is ". . ".
    return file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
