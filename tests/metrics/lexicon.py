"""The reference library's WordNet, and the words the tests draw from it."""

import sys
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

TREE = Path(sys.prefix) / "nltk_data"


@cache
def wordnet() -> Any:
    """The reference's reader. It keeps files open, so each process has to load its own."""
    if not (TREE / "corpora/wordnet/lexnames").is_file():
        raise FileNotFoundError(f"{TREE} lacks the reference's data. Get it: python -m scripts.data oracle")
    from nltk.corpus import wordnet as reader
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with pytest.MonkeyPatch.context() as patch:
        # Most of its time it would read where synsets stand in other versions, which other languages need.
        patch.setattr(WordNetCorpusReader, "map_wn", lambda reader: None)
        reader.ensure_loaded()
    return reader


def reference_synonyms(word: str) -> set[str]:
    """What the reference's meteor takes as synonyms of `word`."""
    names = chain.from_iterable(synset.lemma_names() for synset in wordnet().synsets(word))
    return {name for name in names if "_" not in name} | {word}


@cache
def lemmas() -> list[str]:
    """All entries of WordNet's index, in lower case, those of several words joined by underscores."""
    return sorted(wordnet().all_lemma_names())


@cache
def irregular_forms() -> list[str]:
    return sorted({form for forms in wordnet()._exception_map.values() for form in forms})
