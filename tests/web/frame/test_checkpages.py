"""Forms that are planned before anything is asked. Files that come along: tests/web/graders/test_checking.py and
tests/web/evals/test_gold.py."""

import re
from typing import Any, NamedTuple

import pytest
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.refusals import invalid
from fairmark.web.frame.checkpages import PlanForm, plan_form, read_form, read_numbers
from fairmark.work import eventloop


class Cost(NamedTuple):
    calls: int

    def wire(self) -> dict[str, Any]:
        return {"calls": self.calls}


def posted(*fields: tuple[str, str | UploadFile]) -> Request:
    return Request({"type": "http", "headers": [], "form": FormData(list(fields))})


def test_a_form_is_its_texts_without_blanks_around_and_all_that_is_ticked() -> None:
    read = read_form(
        posted(("tokens", " 5 "), ("probes", "a"), ("probes", "b"), ("other", "x")), ("tokens", "gold"), "probes"
    )
    assert read == PlanForm({"tokens": "5", "gold": ""}, ["a", "b"])


def test_what_is_planned_is_shown_beside_what_was_filled_in() -> None:
    async def plan(asked: PlanForm[Cost]) -> Cost:
        return Cost(int(asked.filled["tokens"]) * 2)

    planned = eventloop.run(plan_form(posted(), PlanForm({"tokens": "5"}, []), plan))
    assert planned.status == 200
    assert planned.shown() == {"filled": {"tokens": "5"}, "planned": {"calls": 10}, "problem": ""}


def test_what_cannot_be_planned_is_told_and_stays_filled_in() -> None:
    async def refuse(_: PlanForm[Cost]) -> Cost:
        raise invalid("Choose a file.", "file_id")

    refused = eventloop.run(plan_form(posted(), PlanForm({"file_id": "file-1"}, []), refuse))
    assert refused.status == 400
    assert refused.shown() == {"filled": {"file_id": "file-1"}, "planned": None, "problem": "Choose a file."}


def test_numbers_are_read_where_there_are_some() -> None:
    assert read_numbers({"tokens": "5", "dollars": "0.5", "items": ""}, ("tokens", "dollars", "items")) == {
        "tokens": 5,
        "dollars": 0.5,
    }


@pytest.mark.parametrize("text", ["many", "0", "-1", "nan", "inf", "1e15"])
def test_what_is_no_number_above_zero_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(ApiError, match=re.escape(f'tokens: found "{text}". It takes a number above 0.')) as refused:
        read_numbers({"tokens": text}, ("tokens",))
    assert refused.value.param == "tokens"
