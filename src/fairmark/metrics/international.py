"""Cut text beyond ASCII into words, exactly as NLTK 3.9.1's international NIST tokenizer does.

ASCII is cut off from everything else, punctuation from all but numbers, symbols from all. No rule looks
across white space.
"""

import re
from functools import cache
from itertools import chain
from pathlib import Path

from fairmark.metrics.memo import Memo

DATA = Path(__file__).with_name("data") / "unicode.txt"

ASCII_RUN = re.compile(r"[\x00-\x7f]+")

# In this order, the ampersand last: "&amp;lt;" is not unescaped twice.
ENTITIES = {
    "&gt;": ">",
    "&lt;": "<",
    "&apos;": "'",
    "&quot;": '"',
    "&#124;": "|",
    "&#91;": "[",
    "&#93;": "]",
    "&amp;": "&",
}


def split_international(text: str) -> list[str]:
    """The words of a text in any language and script. Scripts without white space give long words."""
    text = text.replace("<skipped>", "")
    if "&" in text:
        for entity, character in ENTITIES.items():
            text = text.replace(entity, character)
    return list(chain.from_iterable(map(PIECES.__getitem__, text.split())))


def _apply_rules(piece: str) -> tuple[str, ...]:
    if piece.isascii():
        if piece.isalnum():
            return (piece,)
    else:
        piece = ASCII_RUN.sub(r" \g<0> ", piece)
    before_mark, after_mark, symbol = patterns()
    # Each takes two characters along: the first of three marks in a row hides the second.
    piece = before_mark.sub(r"\1 \2 ", piece)
    piece = after_mark.sub(r" \1 \2", piece)
    piece = symbol.sub(r" \g<0> ", piece)
    return tuple(piece.split())


PIECES = Memo(_apply_rules, max_texts=4096, max_length=64)


@cache
def patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Punctuation after a character that is no number, punctuation before one, and symbols."""
    lists = {}
    for line in DATA.read_text(encoding="ascii").splitlines():
        name, *runs = line.split(" ")
        ends = [[int(end, 16) for end in run.split("-")] for run in runs]
        lists[name] = "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ends) + "]"
    other, mark = lists["Number"], lists["Punctuation"]  # "Number" lists what is not a number
    return re.compile(f"({other})({mark})"), re.compile(f"({mark})({other})"), re.compile(lists["Symbol"])
