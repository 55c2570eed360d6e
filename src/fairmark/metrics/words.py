"""Cut an ASCII sentence into words, exactly as NLTK 3.9.1 does with its improved Treebank rules.

The rules look at a whole sentence, but white space stops nearly all of them. So the sentence is cut at white
space first, and what becomes of a piece is remembered; where a rule does look further, the whole sentence
goes through the rules.
"""

import re
from itertools import chain

from fairmark.metrics.memo import Memo

BACKTICKS = re.compile(r"``?")
OPENING_QUOTE = re.compile(r"""(?<=[ (\[{<])(?:"|'')""")
# An apostrophe before a lone letter, unless the two are an ending such as 's or 'd.
APOSTROPHE_LETTER = re.compile(r"'(?![mtsdn])(?=\w\b)", re.IGNORECASE)
# Takes the next character along, so that the second of two commas is not looked at.
COMMA_OR_COLON = re.compile(r"([:,])(\D|\Z)")
DOTS = re.compile(r"\.{2,}")
MARK = re.compile(r"[;@#$%&?!]")
# An apostrophe at the end of a word, and here a bracket or a dash does not end one.
LAST_APOSTROPHE = re.compile(r"(?<=[^'])' ")
BRACKET_OR_DASH = re.compile(r"--|[*\]\[(){}<>]")
CLOSING_QUOTE = re.compile(r"""''|\"""")
ENDING = re.compile(r"(?<=[^' ])'[sSmMdD]?(?= )")
LONG_ENDING = re.compile(r"(?<=[^' ])(?:'(?:ll|LL|re|RE|ve|VE)|n't|N'T)(?= )")
CONTRACTION = re.compile(
    r"\b(?:(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n))\b|(wan)(na)(?=\s))",
    re.IGNORECASE,
)
TIS = re.compile(r" ('t)(is)\b", re.IGNORECASE)
TWAS = re.compile(r" ('t)(was)\b", re.IGNORECASE)

CONTRACTIONS = {"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"}

# What may stand between the last period of a sentence and its end.
CLOSERS = " ])}>\"'"

# Only before these it makes a difference whether a sentence starts or a space is there.
STARTERS = "\"'"

# White space that is not a space makes a difference here and only here.
ODD_SPACE = re.compile(r"""[^\S ](?:"|'')|'[^\S ]""")


def split_words(sentence: str) -> list[str]:
    """The words of one sentence, given without white space at its end. Double quotes come out as
    `` or ''."""
    pieces = sentence.split()
    if not pieces:
        return []
    last = pieces.pop()
    if (pieces and not last.strip(CLOSERS)) or not (sentence.isprintable() or not ODD_SPACE.search(sentence)):
        return apply_rules(sentence, ends=True)
    if sentence[0] not in STARTERS:
        return [*chain.from_iterable(map(INNER.__getitem__, pieces)), *LAST[last]]
    if not pieces:
        return apply_rules(sentence, ends=True)
    return [*FIRST[pieces[0]], *chain.from_iterable(map(INNER.__getitem__, pieces[1:])), *LAST[last]]


def _inner(piece: str) -> tuple[str, ...]:
    if piece.isalnum() and piece.lower() not in CONTRACTIONS:
        return (piece,)
    word, mark = piece[:-1], piece[-1]
    if mark in ".,:;?!" and word.isalnum() and word.lower() not in CONTRACTIONS:
        return (piece,) if mark == "." else (word, mark)
    return tuple(apply_rules(f" {piece} ", ends=False))


def _last(piece: str) -> tuple[str, ...]:
    word, mark = piece[:-1], piece[-1]
    if mark in ".,:;?!" and word.isalnum() and word.lower() not in CONTRACTIONS:
        return word, mark
    return tuple(apply_rules(f" {piece}", ends=True))


def _first(piece: str) -> tuple[str, ...]:
    return tuple(apply_rules(f"{piece} ", ends=False))


# What becomes of a piece in the middle of a sentence, at its end and at its start.
INNER = Memo(_inner, max_texts=16_384, max_length=32)
LAST = Memo(_last, max_texts=4096, max_length=32)
FIRST = Memo(_first, max_texts=1024, max_length=32)


def apply_rules(text: str, *, ends: bool) -> list[str]:
    """The words of `text`, by all the rules in their order. `ends` says that a sentence ends where the text
    ends, so that a period there is not part of a word."""
    if text.startswith('"'):
        text = " `` " + text[1:]
    if "`" in text:
        text = BACKTICKS.sub(r" \g<0> ", text)
    text = OPENING_QUOTE.sub(" `` ", text)
    if "'" in text:
        text = APOSTROPHE_LETTER.sub("' ", text)
    if ends:
        text = _split_last_period(text)
    text = COMMA_OR_COLON.sub(r" \1 \2", text)
    text = DOTS.sub(r" \g<0> ", text)
    text = MARK.sub(r" \g<0> ", text)
    text = LAST_APOSTROPHE.sub(" ' ", text)
    text = BRACKET_OR_DASH.sub(r" \g<0> ", text)
    text = CLOSING_QUOTE.sub(" '' ", text)
    text = f" {' '.join(text.split())} "
    if "'" in text:
        text = ENDING.sub(r" \g<0>", text)
        text = LONG_ENDING.sub(r" \g<0>", text)
    text = CONTRACTION.sub(_pad_groups, text)
    if "'" in text:
        text = TIS.sub(r" \1 \2 ", text)
        text = TWAS.sub(r" \1 \2 ", text)
    return text.split()


def _split_last_period(text: str) -> str:
    body = text.rstrip(CLOSERS)
    if len(body) > 1 and body[-1] == "." and body[-2] != ".":
        return f"{body[:-1]} . {text[len(body) :]} "
    return text


def _pad_groups(match: re.Match[str]) -> str:
    first, second = filter(None, match.groups())
    return f" {first} {second} "
