"""Which column goes where: the arguments of a callable, the item of a grader."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import fairmark

Rows = list[dict[str, Any]]

DATA: Rows = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]

UPPER = {"type": "string_check", "input": "{{item.q}}", "operation": "eq", "reference": "{{item.__outputs.r}}"}


def evaluate(function: Callable[..., Any], data: Rows = DATA, **more: Any) -> dict[str, Any]:
    return fairmark.evaluate(data=data, evaluators={"e": function}, **more)


def outputs(result: dict[str, Any], name: str = "outputs.e.output") -> list[Any]:
    return [row[name] for row in result["rows"]]


def mapped(**mapping: str) -> dict[str, Any]:
    return {"e": {"column_mapping": mapping}}


def test_arguments_are_the_columns_by_their_names() -> None:
    assert outputs(evaluate(lambda q, n=9, other=5: f"{q}{n}{other}")) == ["a15", "b25", "c35"]
    assert outputs(evaluate(lambda *some, **anything: [*some, *sorted(anything)])) == [["n", "q"]] * 3


def test_leaves_inside_objects_come_by_their_last_name_unless_a_column_has_it() -> None:
    rows: Rows = [{"q": "top", "o": {"q": "leaf", "i": {"x": 1}}}]
    assert outputs(evaluate(lambda q, x: [q, x], rows)) == [["top", 1]]


def test_a_mapping_of_its_own_names_columns_and_leaves_out_the_rest() -> None:
    function = lambda q, z, n=9, **more: [q, z, n, sorted(more)]  # noqa: E731
    result = evaluate(function, evaluator_config=mapped(z="${data.n}"))
    assert outputs(result) == [["a", 1, 9, []], ["b", 2, 9, []], ["c", 3, 9, []]]


def test_the_default_mapping_adds_to_the_columns() -> None:
    config = {"default": {"column_mapping": {"z": "${data.n}"}}, "e": {}}
    assert outputs(evaluate(lambda q, z, n: f"{q}{z}{n}", evaluator_config=config)) == ["a11", "b22", "c33"]


def test_a_mapping_reaches_into_objects_and_a_row_without_the_leaf_gets_nan() -> None:
    rows: Rows = [{"o": {"a": {"b": 1}}}, {"o": {"a": 5}}, {"o.a.b": 3}]
    found = outputs(evaluate(lambda x: x, rows, evaluator_config=mapped(x="${data.o.a.b}")))
    assert found[::2] == [1, 3]
    assert math.isnan(found[1])


def upper(q: str, n: int = 9, **more: Any) -> dict[str, Any]:
    return {"r": q.upper(), "n": n, "more": sorted(more), "d": {"u": q}}


def test_a_mapping_chooses_between_data_and_target() -> None:
    config = mapped(old="${data.n}", new="${target.n}", inner="${target.d.u}")
    result = evaluate(lambda old, new, inner: [old, new, inner], target=upper, evaluator_config=config)
    assert outputs(result) == [[1, 9, "a"], [2, 9, "b"], [3, 9, "c"]]


def test_a_mapping_of_its_own_does_not_hide_the_target() -> None:
    result = evaluate(lambda q, r="", n=0: f"{q}{r}{n}", target=upper, evaluator_config=mapped(n="${data.n}"))
    assert outputs(result) == ["aA1", "bB2", "cC3"]


def test_graders_see_the_target_under_outputs_or_where_a_mapping_puts_it() -> None:
    mapping = {"b": {"column_mapping": {"ignored": "${target.r}"}}}
    bare = {"type": "string_check", "input": "{{item.r}}", "operation": "eq", "reference": "B"}
    dotted = {**bare, "input": '{{item["__outputs.r"]}}'}
    graders = {"a": {**UPPER, "reference": "b"}, "b": bare, "c": dotted, "d": {**bare, "input": "{{item.__outputs.r}}"}}
    result = fairmark.evaluate(data=DATA, target=upper, evaluators=graders, evaluator_config=mapping)
    assert [result["rows"][1][f"outputs.{label}.passed"] for label in "abcd"] == [True] * 4
    assert [result["rows"][0][f"outputs.{label}.passed"] for label in "abcd"] == [False] * 4
    first = result["rows"][0]
    assert (first["q"], first["line_number"], first["__outputs.r"], first["__outputs.d.u"]) == ("a", 0, "A", "a")


def test_a_mapping_renames_nothing_for_a_grader() -> None:
    grader = {"type": "string_check", "input": "{{item.alias}}", "operation": "eq", "reference": "a"}
    with pytest.warns(UserWarning, match='this item has no field "alias"'):
        fairmark.evaluate(data=DATA, evaluators={"e": grader}, evaluator_config=mapped(alias="${data.q}"))


GRADER = {"type": "string_check", "input": "{{item.q}}", "operation": "eq", "reference": "a"}


def one(value: Any) -> int:
    raise AssertionError("it must not be called")


@pytest.mark.parametrize(
    "reference", ["q", "${q}", "${foo.q}", "${data.}", "${data.q", "$data.q", "${data.q} ", "${data.a b}", "", 5, None]
)
def test_only_data_and_target_may_be_referred_to(reference: Any) -> None:
    with pytest.raises(fairmark.EvaluationFailed, match=r"Use \$\{data\.<column>\} or \$\{target\.<column>\}\.$"):
        evaluate(one, evaluator_config={"e": {"column_mapping": {"value": reference}}})


def test_a_mapping_for_nobody_is_pointed_out() -> None:
    with pytest.warns(UserWarning, match=r'evaluator_config\["f"\]: there is no such evaluator; it is ignored'):
        evaluate(lambda q: q, evaluator_config={"f": {"column_mapping": {"a": "${data.q}"}}})


def test_a_callable_without_a_signature_is_refused() -> None:
    class Opaque:
        __signature__ = "none"

        def __call__(self) -> None: ...

    with pytest.raises(fairmark.EvaluationFailed, match=r'evaluators\["e"\]: Python cannot tell its parameters'):
        evaluate(Opaque())


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


def test_a_row_that_holds_its_item_is_unwrapped_for_graders_and_kept_in_the_result() -> None:
    rows = [{"item": {"a": "x", "o": {"n": 1}}, "id": "7", "sample": "s"}]
    graders = {"a": equals("item.a", "x"), "b": equals("item.id", "7"), "c": equals("item.sample", "s")}
    result = fairmark.evaluate(data=rows, evaluators={**graders, "d": equals("sample.output_text", "s")})
    assert set(result["metrics"].values()) == {1.0}
    assert {**rows[0], "item.a": "x", "item.o.n": 1}.items() <= result["rows"][0].items()
