"""function graders: the thread they see, what is accepted, and their limits."""

import json
from typing import Any

import pytest

import fairmark


def function(body: str, **more: Any) -> dict[str, Any]:
    source = "async def grade(thread: StringThread) -> float:\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )
    return {"type": "function", "source": source, **more}


async def keyword_share(thread: Any) -> float:
    wanted = json.loads(thread.metadata["keywords"])
    return sum(word in thread.completion() for word in wanted) / len(wanted)


def test_the_thread_is_made_from_item_and_sample() -> None:
    show = function("print([tuple(t) for t in thread.get_turns()], thread.completion(), thread.metadata)\nreturn 1")
    item = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "metadata": {"k": 1}}
    assert (
        fairmark.grade(show, "a", item).printed == "[('system', 's'), ('user', 'u'), ('assistant', 'a')] a {'k': 1}\n"
    )
    assert fairmark.grade(show, "a", {"question": "q?", "x": 2}).printed == (
        "[('user', 'q?'), ('assistant', 'a')] a {'question': 'q?', 'x': 2}\n"
    )


def test_the_whole_documented_thread_works_inside() -> None:
    body = """
from adaptive_harmony import StringThread, StringTurn
t = StringThread([("user", "a")], {"m": 1}).system("s").assistant("b")
assert t.completion() == "b" and t.last_content() == "b"
assert [tuple(x) for x in t.messages()] == [("user", "a"), ("system", "s")]
assert t.user("c").completion() is None and len(t.user("c").messages()) == 4
assert t.get_turns()[0].role == "user" and isinstance(t.get_turns()[0], StringTurn)
assert StringThread.from_json(t.to_json()).to_json() == t.to_json()
assert StringThread().metadata == {} and StringThread().completion() is None
assert StringThread.with_metadata([("tool", "")], {"k": 2}).metadata["k"] == 2
assert t.uuid() is None and t.tool("x").last_content() == "x"
return 1.0
"""
    result = fairmark.grade(function(body))
    assert (result.reward, result.error) == (1.0, None)


def test_a_python_function_can_be_the_grader_and_brings_its_imports_along() -> None:
    grader = {"type": "function", "source": keyword_share}
    assert fairmark.grade(grader, "one two", {"metadata": {"keywords": '["one", "three"]'}}).reward == 0.5


def test_asyncio_works_inside() -> None:
    body = "import asyncio\na, b = await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))\nreturn a + b"
    assert fairmark.grade(function(body)).reward == 3.0


def test_packages_are_not_there_and_metadata_is_fresh_for_every_row() -> None:
    assert "No module named 'numpy'" in str(fairmark.grade(function("import numpy\nreturn 1")).error)
    grow = function("thread.metadata['list'].append(1)\nreturn len(thread.metadata['list'])")
    rows = [{"item": {"metadata": {"list": []}}, "sample": "x"}] * 3
    assert [r.reward for r in fairmark.grade_many(grow, rows)] == [1.0, 1.0, 1.0]


def test_a_failure_is_of_its_row_alone() -> None:
    grader = function("if thread.completion() == 'bad': raise KeyError('no')\nreturn 0.5")
    results = fairmark.grade_many(grader, [{"sample": "good"}, {"sample": "bad"}, {"sample": "good"}])
    assert [r.reward for r in results] == [0.5, 0.0, 0.5]
    assert results[1].errors["python_grader_runtime_error"] is True
    assert str(results[1].error).endswith("KeyError: 'no'")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def grade(thread): return 1", "structure: no top-level async def grade (line 1 has a sync def)."),
        ("async def score(thread): return 1", "structure: no top-level async def grade."),
        ("if 1:\n    async def grade(thread): return 1", "structure: no top-level async def grade."),
        (
            "async def grade(t): return 1\ndef grade(t): return 1",
            "structure: no top-level async def grade (line 2 has a sync def).",
        ),
        ("async def grade(a, b): return 1", "signature: line 1: grade takes a, b; it must take exactly one parameter."),
        ("async def grade(): return 1", "signature: line 1: grade takes nothing; it must take exactly one parameter."),
        ("async def grade(*a): return 1", "signature: line 1: grade takes *a; it must take exactly one parameter."),
        (
            "async def grade(a, **k): return 1",
            "signature: line 1: grade takes a, **k; it must take exactly one parameter.",
        ),
        ("async def grade(*, a): return 1", "signature: line 1: grade takes *, a; it must take exactly one parameter."),
        ("x = (", "syntax: line 1: '(' was never closed."),
        ("#" + "é" * 40_000, "size: the source has 80001 bytes; at most 65536 are allowed."),
    ],
)
def test_the_static_checks_are_made_in_order_at_validation(source: str, message: str) -> None:
    (problem,) = fairmark.validate({"type": "function", "source": source}).errors
    assert str(problem) == f"$.source: {message}"


def test_missing_annotations_are_warnings() -> None:
    warnings = fairmark.validate({"type": "function", "source": "async def grade(t): return 1"}).warnings
    assert warnings == [
        "$.source: parameter t is not annotated as StringThread.",
        "$.source: the return value is not annotated as float.",
    ]
    assert fairmark.validate(function("return 1")).warnings == []
