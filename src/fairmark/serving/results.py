"""Results as JSON bytes. The most frequent ones are a text that is ready but for three values."""

from collections.abc import Iterable
from typing import Any

import msgspec

from fairmark import jsontext
from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec

_NOTHING_ELSE = Grade(0.0)[1:]
_GAP = b"\0"
"""Stands where a value will be; no JSON text holds it."""


def wire_form(result: Result) -> dict[str, Any]:
    """What a client gets: the result, and its reward once more under the name that some guides use."""
    return {**result.model_dump(), "score": result.grade.reward}


class Encoder:
    """The results of one grader as JSON."""

    def __init__(self, spec: GraderSpec) -> None:
        self._threshold = spec.threshold
        self._parts: tuple[str, ...] | None = None
        gap = msgspec.Raw(_GAP)
        form = wire_form(Result(spec, Grade(0.0), 0.0))
        form.update(reward=gap, passed=gap, score=gap)
        form["metadata"]["execution_time"] = gap
        try:
            self._parts = tuple(msgspec.json.encode(form).decode().split(_GAP.decode()))
        except UnicodeEncodeError:  # half an emoji in the grader's name: every result goes the long way
            pass

    def encode(self, result: Result) -> bytes:
        reward = result.grade.reward
        parts = self._parts
        if (
            parts is None
            or result.row_warnings
            or result.grade[1:] != _NOTHING_ELSE
            or type(reward) is not float
            or not -1e300 < reward < 1e300
        ):
            return jsontext.encode(wire_form(result))
        threshold = self._threshold
        passed = "null" if threshold is None else "true" if reward >= threshold else "false"
        before, seconds, between, again, after = parts
        text = f"{before}{reward!r}{seconds}{result.execution_time!r}{between}{passed}{again}{reward!r}{after}"
        return text.encode()

    def encode_all(self, results: Iterable[Result]) -> list[bytes]:
        return [self.encode(result) for result in results]
