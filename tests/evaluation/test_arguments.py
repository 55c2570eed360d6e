"""evaluate: what is refused before anything runs, and what is accepted and left alone."""

from pathlib import Path
from typing import Any

import pytest

import fairmark

DATA = [{"q": "a", "n": 1}]

GRADER = {"type": "string_check", "input": "{{item.q}}", "operation": "eq", "reference": "a"}


def evaluate(**arguments: Any) -> dict[str, Any]:
    return fairmark.evaluate(**{"data": DATA, "evaluators": {"e": GRADER}, **arguments})


def one(value: Any) -> int:
    raise AssertionError("it must not be called")


def mapped(reference: Any) -> dict[str, Any]:
    return {"e": {"column_mapping": {"value": reference}}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"data": None}, "data: expected a path, a list of objects or a data frame, found null."),
    ({"data": {"q": "a"}}, "data: expected a path, a list of objects or a data frame, found an object."),
    ({"data": []}, "data: there are no rows in it."),
    ({"data": [{"q": 1}, 5]}, "data: element 2: row: expected an object, found a number (5)."),
    ({"data": [{1: 2}]}, "data: element 1: a column's name is a string, found a number (1)."),
    ({"data": "none.jsonl"}, "data: none.jsonl: no such file or directory."),
    ({"data": "-"}, "data: ./-: no such file or directory."),
    ({"data": "bad.jsonl"}, "data: bad.jsonl: line 2: not JSON: expecting value at column 1."),
    ({"data": "empty.csv"}, "data: empty.csv: there are no rows in it."),
    ({"evaluators": {}}, "evaluators: expected a dict of labels with graders or callables, found an empty one."),
    ({"evaluators": [GRADER]}, "evaluators: expected a dict of labels with graders or callables, found a list of 1."),
    ({"evaluators": {5: GRADER}}, 'evaluators["5"]: a label is a string, found a number (5).'),
    ({"evaluators": {"e": 5}}, 'evaluators["e"]: expected a grader or a callable, found a number (5).'),
    (
        {"evaluators": {"e": {**GRADER, "operation": "is"}}},
        'evaluators["e"]: $.operation: unknown operation "is". Use one of: eq, ne, like, ilike.',
    ),
    (
        {"evaluators": {"e": {"type": "python", "source": 5}}},
        'evaluators["e"]: $.source: found a number (5). It takes a string.',
    ),
    (
        {"evaluators": {"e": one, "f": one}},
        'evaluators: there is no column for value of "e"; value of "f". The data has: q, n.',
    ),
    ({"evaluation_name": " "}, 'evaluation_name: expected a text that is not blank, found a string (" ").'),
    ({"evaluation_name": 5}, "evaluation_name: expected a text that is not blank, found a number (5)."),
    ({"target": 5}, "target: expected a callable, found a number (5)."),
    ({"target": one}, "target: there is no column for value. The data has: q, n."),
    (
        {"target": len, "data": [{"__outputs.a": 1}]},
        "data: where there is a target, no column may begin with __outputs.",
    ),
    ({"output_path": 5}, "output_path: expected a path, found a number (5)."),
    ({"output_path": "none/r.json"}, "output_path: there is no directory none. It has to be there before."),
    ({"evaluator_config": [1]}, "evaluator_config: expected an object, found a list of 1."),
    ({"evaluator_config": {"e": 1}}, 'evaluator_config["e"]: expected an object, found a number (1).'),
    (
        {"evaluator_config": {"e": {"column_mapping": "x"}}},
        'evaluator_config["e"].column_mapping: expected an object, found a string ("x").',
    ),
    (
        {"evaluator_config": mapped("${data.none}")},
        'evaluator_config["e"].column_mapping.value: ${data.none}: there is no such column. The data has: q, n.',
    ),
    (
        {"evaluator_config": mapped("${target.r}")},
        'evaluator_config["e"].column_mapping.value: ${target.r}: there is no target.',
    ),
    (
        {"evaluator_config": mapped("${target.r}"), "target": lambda q: {"s": q}},
        'evaluator_config["e"].column_mapping.value: ${target.r}: there is no such column. '
        "The data has: q, n, line_number. The target gives: s.",
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"q": 1}\nx\n')
    (tmp_path / "empty.csv").write_text("")


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[message[:60] for _, message in REFUSED])
def test_a_wrong_argument_is_told_before_anything_runs(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fairmark.EvaluationFailed) as caught:
        evaluate(**arguments)
    assert str(caught.value) == message


def test_what_belongs_to_azure_is_accepted_and_does_nothing() -> None:
    result = evaluate(
        evaluation_name="mine",
        azure_ai_project="https://example.invalid/api/projects/p",
        tags={"a": "b"},
        user_agent="me/1",
        item_schema={},
        data_source={},
        whatever=1,
    )
    assert result["studio_url"] is None
    assert result["metrics"] == {"e.pass_rate": 1.0}


@pytest.mark.parametrize(
    ("name", "near"),
    [("evaluation_config", "evaluator_config"), ("evaluator", "evaluators"), ("outputs_path", "output_path")],
)
def test_an_argument_that_is_nearly_one_of_ours_is_pointed_out(name: str, near: str) -> None:
    with pytest.warns(UserWarning, match=rf"no argument {name}; it is ignored\. Did you mean {near}\?"):
        evaluate(**{name: {}})
