"""Embeddings: texts in batches to any OpenAI-compatible endpoint, each text once, vectors kept on disk."""

import asyncio
import base64
import binascii
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.errors import JudgeFailed
from fairmark.judgement import NO_USAGE
from fairmark.judges.base import Budget, Embedded
from fairmark.judges.cache import Cache, key_of
from fairmark.judges.chat import Sender
from fairmark.judges.client import Tab
from fairmark.judges.models import Model

TEXTS_AT_ONCE = 256
CHARACTERS_AT_ONCE = 400_000
"""Providers bound the tokens of a request; this many characters are well below any such bound."""


class Vectors:
    """Never another model than the one that is named: vectors of different models cannot be compared."""

    def __init__(self, sender: Sender, cache: Cache) -> None:
        self._sender = sender
        self._cache = cache

    async def embed(self, model: Model, texts: Sequence[str], budget: Budget | None, owner: str = "") -> Embedded:
        """The vectors of the texts. Raises JudgeFailed, or NotGraded where the budget is spent."""
        keys = [key_of("embedding", model.key, text) for text in texts]
        known = self._cache.find(list(dict.fromkeys(keys)))
        vectors: dict[bytes, array[float]] = {}
        for key, kept in known.items():
            if isinstance(kept, bytes) and kept and len(kept) % 4 == 0:
                vectors[key] = array("f", kept)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        batches = [self._batch(model, some, budget, owner) for some in _batches(missing)]
        # All of them come to their end: what one batch has brought is kept and counted, whatever becomes of another.
        answers = await asyncio.gather(*batches, return_exceptions=True)
        usage, requests, name = NO_USAGE, 0, model.real_name
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            batch, told, tab = answer
            vectors |= batch
            name, usage, requests = told or name, usage.plus(tab.usage), requests + tab.attempts
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise JudgeFailed(
                f"{model.name}: the vectors are not all of one length. If the server has another model under this name "
                "now, ask for all of them again: FAIRMARK_JUDGE_CACHE=refresh."
            )
        return Embedded([vectors[key] for key in keys], name, usage, model.cost(usage), requests)

    async def _batch(
        self, model: Model, texts: dict[bytes, str], budget: Budget | None, owner: str
    ) -> "tuple[dict[bytes, array[float]], str | None, Tab]":
        tab = Tab(None if budget is None else budget.check, owner)
        tab.begin()
        body = {"model": model.real_name, "input": list(texts.values()), "encoding_format": "base64"}
        reply = await self._sender.post(model, "embeddings", body, tab)
        tab.spend(reply)
        if budget is not None:
            budget.spend(tab.usage, model.cost(tab.usage))
        data = reply.get("data")
        if not isinstance(data, list) or len(data) != len(texts):
            instead = f"{len(data)} vectors" if isinstance(data, list) else jsontext.describe(data)
            raise JudgeFailed(f"{model.name}: asked for {len(texts)} vectors, the server answered with {instead}.")
        vectors: dict[int, array[float]] = {}
        for position, entry in enumerate(data):
            index = entry.get("index", position) if isinstance(entry, dict) else None
            if not isinstance(index, int) or not 0 <= index < len(texts) or index in vectors:
                raise JudgeFailed(f"{model.name}: the server's answer does not say which text a vector belongs to.")
            vectors[index] = _vector(model, entry.get("embedding"))
        if len({len(vector) for vector in vectors.values()}) != 1:
            raise JudgeFailed(f"{model.name}: the server's vectors are not all of one length.")
        embedded = {key: vectors[index] for index, key in enumerate(texts)}
        self._cache.keep({key: vector.tobytes() for key, vector in embedded.items()})
        name = reply.get("model")
        return embedded, name if isinstance(name, str) else None, tab


def _vector(model: Model, value: Any) -> "array[float]":
    """As numbers, or as base64 of 32-bit floats where the server took our wish for that."""
    vector: array[float] = array("f")
    try:
        if isinstance(value, str):
            vector.frombytes(base64.b64decode(value, validate=True))
        else:
            vector.extend(value)
    except (TypeError, ValueError, OverflowError, binascii.Error):
        vector = array("f")
    if not vector or any(number != number or abs(number) == float("inf") for number in vector):  # NaN
        raise JudgeFailed(f"{model.name}: the server's answer holds a vector that is none: {jsontext.describe(value)}.")
    return vector


def _batches(texts: dict[bytes, str]) -> Iterator[dict[bytes, str]]:
    batch: dict[bytes, str] = {}
    characters = 0
    for key, text in texts.items():
        if batch and (len(batch) >= TEXTS_AT_ONCE or characters + len(text) > CHARACTERS_AT_ONCE):
            yield batch
            batch, characters = {}, 0
        batch[key] = text
        characters += len(text)
    if batch:
        yield batch
