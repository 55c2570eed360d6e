"""Metadata in a form: pairs of a key and a value, in fields of the same two names, as many as there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from fairmark.evals.eval_calls import read_metadata
from fairmark.refusals import invalid
from fairmark.web.frame.visit import form

KEY, VALUE = "metadata_key", "metadata_value"

Pairs = list[tuple[str, str]]


def entered(request: Request) -> Pairs:
    """What was typed, without pairs that were left empty."""
    fields = form(request)
    keys, values = ([value for value in fields.getlist(name) if isinstance(value, str)] for name in (KEY, VALUE))
    return [(key.strip(), value) for key, value in zip(keys, values, strict=False) if key.strip() or value]


def read(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The metadata, as the API takes it. Raises ApiError."""
    metadata: dict[str, str] = {}
    for key, value in pairs:
        if not key:
            raise invalid(f"The value “{value[:60]}” needs a key.", "metadata")
        if key in metadata:
            raise invalid(f"The key “{key[:64]}” is there twice.", "metadata")
        metadata[key] = value
    return read_metadata({"metadata": metadata}) or {}


def shown(metadata: Mapping[str, Any]) -> Pairs:
    return [(key, str(value)) for key, value in metadata.items()]
