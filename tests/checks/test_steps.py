"""Runs as steps: an output item by one of its results."""

from typing import Any

import pytest

from fairmark import jsontext
from fairmark.checks.steps import criterion_named, graded_row, step_names
from fairmark.errors import ApiError
from fairmark.store import Store
from tests.store.conftest import new_run


def item(result: dict[str, Any] | None, output: Any = "Paris") -> bytes:
    return jsontext.encode(
        {
            "datasource_item": {"q": 1},
            "sample": {"output": [{"role": "assistant", "content": output}]},
            "results": [{"name": "other", "score": 0.1}, *([] if result is None else [{"name": "c-1", **result}])],
        }
    )


def test_a_sample_that_is_only_words_is_its_words_so_that_labels_fit() -> None:
    row = graded_row(item({"score": 0.5, "passed": True, "sub_rewards": {"a": 1}}), ("c-1", "c"))
    assert (row.item, row.sample, row.reward, row.passed, row.components) == ({"q": 1}, "Paris", 0.5, True, {"a": 1})
    called = [{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}]
    body = jsontext.encode({"datasource_item": {}, "sample": {"output": called}, "results": []})
    assert isinstance(graded_row(body, ("c-1",)).sample, dict)


@pytest.mark.parametrize(
    "result", [None, {"score": 0.0, "status": "error"}, {"score": 0.0, "status": "skipped"}, {"score": None}]
)
def test_what_could_not_be_graded_is_no_zero(result: dict[str, Any] | None) -> None:
    assert graded_row(item(result), ("c-1",)).reward is None


def test_judges_of_different_opinions_are_split() -> None:
    said = [{"output": '{"steps": [], "result": 1}'}, {"output": '{"result": 0}'}, {"output": "no JSON"}]
    assert graded_row(item({"score": 0.5, "judgements": said}), ("c-1",)).split
    assert not graded_row(item({"score": 0.5, "judgements": said[:1] * 2}), ("c-1",)).split


def test_a_criterion_is_found_by_id_and_by_name() -> None:
    criteria = [{"id": "a-1", "name": "a"}, {"id": "b-1", "name": "b"}]
    assert criterion_named(criteria, "b-1") == criterion_named(criteria, "b") == criteria[1]
    assert criterion_named(criteria[:1], None) == criteria[0]
    for named in (None, "c"):
        with pytest.raises(ApiError, match="a, b"):
            criterion_named(criteria, named)


async def test_steps_of_one_name_are_told_apart(store: Store) -> None:
    one, other = await new_run(store), await new_run(store)
    names = step_names([one, other])
    assert names == [f"a run ({one.id[-6:]})", f"a run ({other.id[-6:]})"]
    assert step_names([one]) == ["a run"]
