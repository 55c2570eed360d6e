"""Grading for somebody who waits: a grader is read once, and rows come back in their order."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fairmark.errors import ApiError
from fairmark.registry.lookup import Registry
from fairmark.serving.grading import QUICK_ROWS, KnownGrader, Rewards, known_grader, validation
from fairmark.serving.metrics import Metrics

CHECK = {"type": "string_check", "input": "{{sample.output_text}}", "reference": "{{item.a}}", "operation": "eq"}


async def nothing(project: str, wanted: Any) -> dict[Any, Any]:
    """What a store without graders finds."""
    return {}


def state() -> Any:
    return SimpleNamespace(registry=Registry(nothing), metrics=Metrics())


def read(grader: Any) -> KnownGrader:
    return asyncio.run(known_grader(state(), "default", msgspec.Raw(json.dumps(grader).encode())))


def rewards(rows: list[Any], grader: Any = CHECK) -> tuple[Rewards, Any]:
    shared = state()
    return Rewards(
        shared, "default", read(grader), [msgspec.Raw(json.dumps(row).encode()) for row in rows], None
    ), shared


def test_the_same_json_is_read_once() -> None:
    assert read(CHECK) is read(CHECK)
    assert read(CHECK) is not read({**CHECK, "name": "other"})


@pytest.mark.parametrize(
    ("grader", "status", "param"),
    [
        ({**CHECK, "operation": "is"}, 400, "grader.operation"),
        ({"type": "custom"}, 409, "grader"),
        ({"type": "registered", "key": "nobody-has-it"}, 400, "grader.key"),
    ],
)
def test_what_cannot_grade_is_refused_with_its_place(grader: Any, status: int, param: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(grader)
    assert (refused.value.status, refused.value.param) == (status, param)


def test_rows_come_back_in_order_and_are_counted() -> None:
    asked, shared = rewards([{"item": {"a": str(n)}, "sample": str(n - n % 2)} for n in range(200)])

    async def collect() -> list[bytes]:
        return [line async for lines in asked.chunks() for line in lines]

    answers = [json.loads(line) for line in asyncio.run(collect())]
    assert [answer["reward"] for answer in answers] == [float(n % 2 == 0) for n in range(200)]
    assert shared.metrics.rows.values["string_check", "graded"] == 200


def test_a_row_that_is_none_fails_alone() -> None:
    asked, _ = rewards([{"item": {"a": "x"}, "sample": "x"}, 5, {"item": {"a": "x"}, "sample": "x"}])

    async def collect() -> list[str]:
        return [result.status async for results in asked.results() for result in results]

    assert asyncio.run(collect()) == ["graded", "error", "graded"]


@pytest.mark.parametrize(
    ("rows", "long"),
    [([{"item": {"a": "x"}}], False), ([{"item": {"a": "x" * 5000}}], True), ([{}] * (QUICK_ROWS + 1), True)],
)
def test_what_is_long_or_much_may_take_long(rows: list[Any], long: bool) -> None:
    assert rewards(rows)[0].may_take_long is long


def test_a_grader_is_looked_at_without_being_run() -> None:
    assert asyncio.run(validation(state(), "default", json.dumps(CHECK))).valid
    wrong = asyncio.run(validation(state(), "default", '{"type": "registered", "key": "nobody-has-it"}'))
    assert (wrong.valid, len(wrong.errors)) == (False, 1)
