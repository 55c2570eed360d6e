"""Rows by fields, rewards and outcomes together: which, in which order, and what cannot be asked."""

import math
from typing import Any

import pytest

from fairmark import jsontext
from fairmark.errors import InvalidView
from fairmark.store import NewItem, Run, Store, View
from fairmark.store.evals.facets import fields_of
from fairmark.store.views import choosing
from fairmark.store.views.choosing import ANY, Choice, FieldFilter, ScoreRange, choose, number_of
from tests.store.fielded import ROWS, columns_of, filled


async def chosen(
    store: Store,
    run: Run,
    *fields: FieldFilter,
    score: ScoreRange | None = None,
    split: int | None = None,
    **view: Any,
) -> list[int]:
    return list(choose(await store.columns.of(run), Choice(View(**view), fields, score, split)))


def judged(idx: int, status: str, *splits: int, known: bool) -> NewItem:
    results = [{"spread": {"split": at in splits}} if at else {"spread": None} for at in range(3)]
    body = jsontext.encode({"datasource_item": {"n": idx}, "results": results})
    fields, noted = (fields_of({"n": idx}), splits) if known else (None, ())
    return NewItem(idx, status, body, fields=fields, splits=noted)


@pytest.mark.on_both
@pytest.mark.parametrize("known", [True, False])
async def test_rows_are_chosen_by_whether_judges_split_with_all_else(store: Store, known: bool) -> None:
    first = [judged(0, "pass", known=known), judged(1, "fail", known=known)]
    then = [judged(2, "pass", 1, known=known), judged(3, "fail", 1, 2, known=known), judged(4, "pass", 2, known=known)]
    run = await filled(store, [first, then, [judged(5, "pass", known=known)]])
    assert await chosen(store, run, split=ANY) == [2, 3, 4]
    assert await chosen(store, run, split=1) == [2, 3]
    assert await chosen(store, run, split=2, descending=True) == [4, 3]
    assert await chosen(store, run, split=0) == []
    assert await chosen(store, run, split=ANY, status="pass") == [2, 4]
    assert await chosen(store, run, FieldFilter("n", "gt", "3"), split=ANY) == [4]
    assert await chosen(store, run) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("known", [True, False])
async def test_rows_are_chosen_by_fields_rewards_and_outcomes(store: Store, known: bool) -> None:
    rows = ROWS if known else [NewItem(row.idx, row.status, row.body, row.scores) for row in ROWS]
    run = await filled(store, [rows[:2], rows[2:]])
    field = FieldFilter
    assert await chosen(store, run) == [0, 1, 2, 3, 4]
    assert await chosen(store, run, field("language", "is", "de")) == [0]
    assert await chosen(store, run, field("language", "not", "de")) == [1, 2, 3]
    assert await chosen(store, run, field("language", "has", "d")) == [0, 2]
    assert await chosen(store, run, field("turns", "gt", "1")) == [1, 2]  # a text that is a number is one
    assert await chosen(store, run, field("turns", "le", "2")) == [0, 2]
    assert await chosen(store, run, field("turns", "missing")) == [3, 4]
    assert await chosen(store, run, field("metadata.hard", "is", "true")) == [0]
    assert await chosen(store, run, field("text", "there")) == [1]
    assert await chosen(store, run, field("language", "is", "fr"), status="fail") == [1]
    assert await chosen(store, run, score=ScoreRange(0, 0.1, 0.3)) == [1, 2]
    assert await chosen(store, run, score=ScoreRange(0, -math.inf, 0.2)) == [2]
    assert await chosen(store, run, criterion=0, outcome="fail", descending=True) == [2, 1]
    assert await chosen(store, run, sort=0) == [2, 1, 0, 4, 3]
    assert await chosen(store, run, sort=0, descending=True) == [0, 1, 2, 4, 3]
    assert await chosen(store, run, score=ScoreRange(7, 0, 1)) == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (FieldFilter("nothing", "is", "x"), 'No row of this run has a field "nothing"'),
        (FieldFilter("text", "has", "x"), "text holds long texts"),
        (FieldFilter("turns", "gt", "many"), "It takes a number"),
        (FieldFilter("turns", "le", "nan"), 'turns: found "nan". It takes a number'),
    ],
)
async def test_what_cannot_be_asked_is_told(store: Store, asked: FieldFilter, told: str) -> None:
    run = await filled(store, [ROWS])
    with pytest.raises(InvalidView, match=told):
        await chosen(store, run, asked)


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), ("1e3", 1000.0), (" 2 ", 2.0), ("x", None), ("", None), (True, None), (None, None), ([], None)],
)
def test_a_text_that_is_a_number_is_one(value: Any, number: float | None) -> None:
    assert number_of(value) == number


def test_a_text_that_says_that_it_is_no_number_is_none() -> None:
    assert number_of("nan") is None


def test_a_long_text_is_there_and_is_none_of_the_short_ones() -> None:
    columns = columns_of([("pass", {"t": "x" * 100}), ("pass", {"t": "short"}), ("fail", {})])

    def rows(operation: choosing.Operation, value: str = "") -> list[int]:
        return list(choose(columns, Choice(View(), (FieldFilter("t", operation, value),))))

    assert rows("there") == [0, 1]
    assert rows("missing") == [2]
    assert rows("not", "short") == [0]


def test_what_was_chosen_is_remembered_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = columns_of([("pass", {"n": n}) for n in range(9)])
    choices = [Choice(View(), (FieldFilter("n", "is", str(n)),)) for n in range(9)]
    assert choose(columns, choices[0]) is choose(columns, choices[0])
    monkeypatch.setattr(choosing, "MOST_REMEMBERED", 3)
    assert [list(choose(columns, choice)) for choice in choices] == [[n] for n in range(9)]
    assert len(columns.remembered) <= 4
