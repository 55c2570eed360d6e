"""Cut ASCII text into sentences, exactly as NLTK 3.9.1 does with its English Punkt model.

A period, question mark or exclamation mark *may* end a sentence. What decides is the word it stands in
and, for abbreviations, initials and numbers, also the word that follows.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from fairmark.metrics.memo import Memo

DATA = Path(__file__).with_name("data") / "punkt.txt"

NON_WORD = r"""[)";}\]*:@'({\[?!]"""

# A run of end marks whose last mark may end a sentence: white space and more text follow (then the group
# holds the white space), or a character that cannot be inside a word.
END = re.compile(rf"[.?!](?<![.?!][.?!])[.?!]*(?={NON_WORD}|(\s+)\S)")

# Words for Punkt, not for scoring: a period stays with its word, other punctuation stands alone.
SEVERAL = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
WORD_END = rf"(?:\s|$|{NON_WORD}|{SEVERAL}|,(?=\s|$|{NON_WORD}|{SEVERAL}))"
WORD = re.compile(rf"""{SEVERAL}|[^\s("`{{\[:;&#*@)}}\],-](?:(?!{WORD_END})\S)*|\S""")

NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
NUMBER_TYPE = "##number##"

# Closing quotes and brackets at the start of a sentence belong to the one before.
CLOSING = "\"')]}"
CLOSING_RUN = re.compile(r"""["')\]}]+(?:\s+|(?=--)|$)""", re.MULTILINE)

SPACE = re.compile(r"\s")

# White space that separates the words around end marks. Not all that \s matches, and it shows.
LINE_SPACE = re.compile(r"[\t\n\r\x0b\x0c]")

# Contexts in which Punkt has seen a type: bits of PunktModel.seen.
INSIDE_UPPER = 4
ANY_UPPER = 2 | 4 | 8
FIRST_LOWER = 16
ANY_LOWER = 16 | 32 | 64


def sentences(text: str) -> list[str]:
    """The sentences of `text`, without the white space between them. Text before the first one's first
    letter, white space too, belongs to it."""
    parts = []
    start = 0
    abbreviations = model().abbreviations
    for word, place, following in _marks(text):
        if text[place] == ".":
            stem = text[word:place]
            # A common word ends its sentence whatever follows.
            if not (len(stem) > 1 and stem.isalpha() and stem.lower() not in abbreviations):
                after = _stop_of_word(text, following) if following >= 0 else place + 2
                if not DECISIONS[text[word:after]]:
                    continue
        stop = place + 1
        next_start = stop if following < 0 else following
        if text[next_start] in CLOSING:
            closing = CLOSING_RUN.match(text, next_start)
            if closing:
                stop = next_start + len(closing[0].rstrip())
                next_start = closing.end()
        parts.append(text[start:stop])
        start = next_start
    rest = text[start:].rstrip()
    if rest:
        parts.append(rest)
    return parts


def _marks(text: str) -> Iterator[tuple[int, int, int]]:
    """The marks to decide on: of several without white space between them, the last one.

    For each: where its word begins, where it is, and where the next word begins, or -1 if something else
    than white space follows.
    """
    flat = text if text.isprintable() else LINE_SPACE.sub(" ", text)
    word, place, following = 0, -1, -1
    for match in END.finditer(text):
        first = match.start()
        # A space that is the very first character does not separate.
        space = flat.rfind(" ", max(place, 1), first)
        # A mark without a word counts on its own, even right before other marks.
        if place >= 0 and (space >= 0 or word == place):
            yield word, place, following
        if space >= 0:
            word = space + 1
        place = match.end() - 1
        following = match.end(1)
        if word == first < place and text[first + 1] != ".":
            yield word, first, -1
    if place >= 0:
        yield word, place, following


def _stop_of_word(text: str, start: int) -> int:
    space = SPACE.search(text, start)
    return space.start() if space else len(text)


def _has_end(context: str) -> bool:
    """Whether one of the words in `context`, other than the last, ends a sentence."""
    words = [word for line in context.split("\n") for word in WORD.findall(line)]
    return any(_ends(word, following) for word, following in pairwise(words))


DECISIONS = Memo(_has_end, max_texts=4096, max_length=64)


def _ends(word: str, following: str) -> bool:
    if word in {".", "?", "!"}:
        return True
    if word[-1] != ".":
        return False
    known = model()
    kind = _type(word)
    if len(kind) > 1:
        kind = kind.removesuffix(".")
    next_kind = _type(following)
    if _sure_end(following) and len(next_kind) > 1:
        next_kind = next_kind.removesuffix(".")
    initial = len(word) == 2 and (word[0].isalpha() or word[0] == "_")
    if (kind, next_kind) in known.collocations:
        return False
    ellipsis = not word.strip(".")
    if not initial and (ellipsis or _abbreviation(word)):
        upper = following[0].isupper()
        return _starts_sentence(following, next_kind) is True or (upper and next_kind in known.starters)
    ends = _sure_end(word)
    if initial or kind == NUMBER_TYPE:
        starts = _starts_sentence(following, next_kind)
        if starts is False:
            return False
        if starts is None and initial and following[0].isupper():
            return ends and bool(known.seen.get(next_kind, 0) & ANY_LOWER)
    return ends


def _type(word: str) -> str:
    return NUMBER_TYPE if NUMBER.fullmatch(word) else word.lower()


def _abbreviation(word: str) -> bool:
    """Whether a word with a period at its end is a known abbreviation, or a compound that ends in one."""
    if word.endswith(".."):
        return False
    stem = word[:-1].lower()
    return stem in model().abbreviations or stem.rpartition("-")[2] in model().abbreviations


def _sure_end(word: str) -> bool:
    """Whether `word` ends a sentence as far as one can tell without the next word."""
    if word in {".", "?", "!"}:
        return True
    return word[-1] == "." and not word.endswith("..") and not _abbreviation(word)


def _starts_sentence(word: str, kind: str) -> bool | None:
    """Whether `word` begins a sentence, judged by how its type was seen written. None: cannot tell."""
    if word in {";", ":", ",", ".", "!", "?"}:
        return False
    seen = model().seen.get(kind, 0)
    if word[0].isupper() and seen & ANY_LOWER and not seen & INSIDE_UPPER:
        return True
    if word[0].islower() and (seen & ANY_UPPER or not seen & FIRST_LOWER):
        return False
    return None


class PunktModel(NamedTuple):
    abbreviations: frozenset[str]
    collocations: frozenset[tuple[str, ...]]
    starters: frozenset[str]
    seen: dict[str, int]


@cache
def model() -> PunktModel:
    facts = {}
    seen: dict[str, int] = {}
    for line in DATA.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        kind, *words = line.split("\t")
        if kind.startswith("seen "):
            seen.update(dict.fromkeys(words, int(kind[5:])))
        else:
            facts[kind] = words
    return PunktModel(
        abbreviations=frozenset(facts["abbreviations"]),
        collocations=frozenset(tuple(pair.split(" ")) for pair in facts["collocations"]),
        starters=frozenset(facts["starters"]),
        seen=seen,
    )
