"""The words that bleu, gleu and meteor count."""

from itertools import chain

from fairmark.metrics.international import split_international
from fairmark.metrics.punkt import sentences
from fairmark.metrics.texts import TextMemo
from fairmark.metrics.words import split_words


def tokenize(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of `text`, case kept. Blank text has none.

    ASCII text is cut into sentences, then words; all other text by the international rules, which for
    example cut "café" in two. Two texts of a pair may go different ways.
    """
    return TOKENS[text]


def _split(text: str) -> tuple[str, ...]:
    if text.isascii():
        return tuple(chain.from_iterable(map(split_words, sentences(text))))
    return tuple(split_international(text))


# Several metrics may want the same text.
TOKENS = TextMemo(_split, max_texts=1024, max_total=524_288)
