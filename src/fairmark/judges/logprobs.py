"""How sure a judge was: the chances of the verdicts it could have given, out of the probabilities of its tokens.

Servers differ in what they list. llama.cpp's numbers are those before its grammar strikes tokens out, so that permitted
verdicts may be missing and the rest says nothing: what is listed has to cover half of the probability, or nothing is
said.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairmark.judgement import Listed, Weighed

MOST_LISTED = 20
LEAST_COVERAGE = 0.5
_VALUE = re.compile(r'(?<!\\)"(?:result|score|label)"\s*:\s*"?')
_AROUND = " \t\r\n\"':"
_BEHIND = " \t\r\n\"'},]"


class Unclear(Exception):
    """Why nothing is said."""


def listed_at_result(output: str, choice: Mapping[str, Any]) -> Listed | None:
    """What a completion's choice lists where its verdict begins; None where it lists nothing, or of another text."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list):
        return None
    texts = [token.get("token") if isinstance(token, Mapping) else None for token in content]
    # Servers take fences off the text and leave them among the tokens, and characters may lie across tokens.
    written = "".join(text for text in texts if isinstance(text, str))
    said, listed = list(_VALUE.finditer(output)), list(_VALUE.finditer(written))
    if not said or not listed or not _begin_alike(output[said[-1].end() :], written[listed[-1].end() :]):
        return None
    wanted, at = listed[-1].end(), 0
    for token, text in zip(content, texts, strict=True):
        at += len(text) if isinstance(text, str) else 0
        if at > wanted and isinstance(text, str):
            return _listed(token, text)
    return None


def _begin_alike(first: str, second: str) -> bool:
    """Up to where the verdict ends."""
    return re.split(r'["\s,}]', first, maxsplit=1)[0] == re.split(r'["\s,}]', second, maxsplit=1)[0]


def _listed(token: Mapping[str, Any], text: str) -> Listed | None:
    tokens: dict[str, float] = {}
    others = token.get("top_logprobs")
    for other in others if isinstance(others, list) else []:
        name, value = (other.get("token"), other.get("logprob")) if isinstance(other, Mapping) else (None, None)
        if isinstance(name, str) and isinstance(value, (int, float)) and value <= 0:
            tokens[name] = float(value)
    return Listed(text, tokens) if tokens else None


def weigh(listed: Listed | None, worth: Mapping[str, float]) -> Weighed:
    """The expectation of what the permitted verdicts are worth, by their texts. Raises Unclear."""
    if listed is None:
        raise Unclear("the judge's server lists no probabilities")
    if listed.chosen not in listed.tokens:
        raise Unclear("the verdict that was given is not among the tokens that are listed")
    chances: dict[str, float] = {}
    for token, logprob in listed.tokens.items():
        begins = token.lstrip(_AROUND).rstrip(_BEHIND)
        fits = [text for text in worth if begins and text.startswith(begins)]
        if len(fits) > 1:
            raise Unclear(f"the token {token!r} may begin {' or '.join(fits)}")
        if fits:
            chances[fits[0]] = chances.get(fits[0], 0.0) + math.exp(logprob)
    coverage = math.fsum(chances.values())
    if coverage < LEAST_COVERAGE:
        raise Unclear(f"the permitted verdicts that are listed have {coverage:.0%} of the probability")
    shares = {text: chance / coverage for text, chance in chances.items()}
    expected = math.fsum(share * worth[text] for text, share in shares.items())
    variance = math.fsum(share * (worth[text] - expected) ** 2 for text, share in shares.items())
    return Weighed(expected, math.sqrt(variance), min(1.0, coverage))


def one_token_each(texts: Sequence[str]) -> str | None:
    """The first text that another begins with, so that their first tokens may be one; None where there is none."""
    for text in texts:
        if any(other != text and other.startswith(text) for other in texts):
            return text
    return None
