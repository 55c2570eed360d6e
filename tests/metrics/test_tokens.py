import argparse
import doctest
import inspect
import re
import textwrap
from types import ModuleType

import pytest
from hypothesis import given, settings

from fairmark.metrics.tokens import tokenize
from tests.metrics.oracles import reference_tokens, texts, thorough
from tests.thoroughness import share


@settings(thorough, max_examples=share(1500))
@given(texts)
def test_the_tokens_are_those_of_the_reference(text: str) -> None:
    expected = reference_tokens(text)
    assert list(tokenize(text)) == expected
    assert list(tokenize(text)) == expected  # now from memory


def test_each_text_chooses_its_own_rules() -> None:
    assert tokenize("Mr. X") == ("Mr.", "X")
    assert tokenize("Mr. é") == ("Mr", ".", "é")


@pytest.mark.parametrize("text", ["", " ", "\n\t\x1c", "\u2028", "\u3000"])
def test_blank_text_has_no_tokens(text: str) -> None:
    assert tokenize(text) == ()


@pytest.mark.parametrize("module", [argparse, doctest, re, textwrap])
def test_real_prose_gives_the_tokens_of_the_reference(module: ModuleType) -> None:
    for text in [module.__doc__ or "", inspect.getsource(module)]:
        assert list(tokenize(text)) == reference_tokens(text)
