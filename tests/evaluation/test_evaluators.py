"""What may stand in `evaluators`: graders in all their shapes, and callables."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import fairmark
from fairmark import evaluation
from fairmark.parse import parse

Rows = list[dict[str, Any]]

DATA: Rows = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def evaluate(function: Callable[..., Any], data: Rows = DATA, **more: Any) -> dict[str, Any]:
    return fairmark.evaluate(data=data, evaluators={"e": function}, **more)


def outputs(result: dict[str, Any], name: str = "outputs.e.output") -> list[Any]:
    return [row[name] for row in result["rows"]]


class Model:
    """A callable that can be dumped, as pydantic models with a `__call__` can; it is no grader."""

    def __call__(self, q: str) -> str:
        return q

    def model_dump(self) -> None:
        raise AssertionError("it must not be called")


def test_a_callable_that_can_be_dumped_is_no_grader() -> None:
    assert outputs(evaluate(Model())) == ["a", "b", "c"]


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


SHAPES: list[Any] = [
    equals("item.a", "x"),
    json.dumps(equals("item.a", "x")),
    parse(equals("item.a", "x")),
    SimpleNamespace(_grader_config=equals("item.a", "x")),
    SimpleNamespace(_grader_config=parse(equals("item.a", "x"))),
    SimpleNamespace(model_dump=lambda **_: equals("item.a", "x")),
    evaluation.AzureOpenAIGrader(model_config=None, grader_config=equals("item.a", "x")),
    evaluation.AzureOpenAIStringCheckGrader(
        model_config={"api_key": "k"}, credential=None, name="n", input="{{item.a}}", operation="eq", reference="x"
    ),
]


@pytest.mark.parametrize("grader", SHAPES, ids=lambda grader: type(grader).__name__)
def test_a_grader_may_have_any_of_its_shapes(grader: Any) -> None:
    assert fairmark.evaluate(data=[{"a": "x"}, {"a": "y"}], evaluators={"g": grader})["metrics"] == {"g.pass_rate": 0.5}
