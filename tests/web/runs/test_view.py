"""Which rows are shown, as an address says it: there and back, and what no run has is refused."""

from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.web.runs.view import LONGEST_SEARCH, RowChoice, read, write_where


def chosen(query: str) -> RowChoice:
    return read(Request({"type": "http", "headers": [], "query_string": query.encode()}))


def test_an_address_is_read_and_written_again() -> None:
    query = "status=fail&criterion=2-fail&q=%20Par%26is%20&sort=-1&at=after_120&n=50"
    choice = chosen(f"{query}&where=is.a=b&where=missing.c&score=1__2")
    assert choice == RowChoice("fail", "2-fail", "Par&is", "-1", "after_120", "", ("is.a=b", "missing.c"), "1__2", "50")
    again = choice.address("/evals/e/runs/r")
    assert chosen(urlsplit(again).query) == choice
    assert chosen("").address("/x") == "/x"


def test_another_choice_begins_at_the_first_page() -> None:
    choice = chosen("status=fail&at=after_120")
    assert choice.address("/x", status="pass") == "/x?status=pass"
    assert choice.address("/x", at="last") == "/x?status=fail&at=last"


def test_only_what_hides_rows_is_a_filter() -> None:
    assert not chosen("sort=-row&at=after_1").is_filtered
    for query in ("status=fail", "criterion=1-fail", "q=x", "reason=5"):
        assert chosen(query).is_filtered


def test_criteria_are_numbered_from_one_in_the_address_and_from_zero_in_the_store() -> None:
    view = chosen("criterion=2-fail&sort=-1").view(criteria=2)
    assert (view.criterion, view.outcome, view.sort, view.descending) == (1, "fail", 0, True)
    rows = chosen("sort=-row").view(criteria=2)
    assert (rows.sort, rows.descending) == (None, True)
    assert chosen("reason=-5").view(1).reason == -5


def test_a_search_has_an_end() -> None:
    assert len(chosen("q=" + "x" * 1000).q) == LONGEST_SEARCH


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("criterion=3-fail", 'criterion: there is no criterion "3". Use a number from 1 to 2.'),
        ("criterion=0-fail", 'criterion: there is no criterion "0". Use a number from 1 to 2.'),
        ("sort=x", 'sort: there is no criterion "x". Use a number from 1 to 2.'),
        ("reason=1e5", 'reason: found "1e5". It takes a whole number.'),
        ("reason=9999999999999999999", 'reason: found "9999999999999999999". It takes a whole number.'),
        ("status=odd", None),
        ("criterion=1-odd", None),
    ],
)
def test_what_is_no_choice_is_refused(query: str, message: str | None) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(query).view(criteria=2)
    assert refused.value.status == 400
    assert message in (None, str(refused.value))


@pytest.mark.parametrize(
    ("field", "operation", "value"),
    [("language", "is", "de"), ("a=b%c d", "has", "x=y"), ("metadata.n", "gt", "3"), ("é", "missing", "")],
)
def test_what_is_asked_of_a_field_survives_an_address(field: str, operation: str, value: str) -> None:
    choice = RowChoice(where=(write_where(field, operation, value),))
    again = chosen(urlsplit(choice.address("/x")).query)
    (asked,) = again.choice(criteria=1).fields
    assert (asked.field, asked.operation, asked.value) == (field, operation, value)


def test_what_a_form_asks_for_joins_what_the_address_says() -> None:
    choice = chosen("where=is.a=1&field=b&op=gt&value=%202%20&of=2&low=0.5&high=")
    assert choice.where == ("is.a=1", "gt.b=2")
    score = choice.choice(criteria=2).score
    assert score is not None
    assert (score.criterion, score.low, score.high) == (1, 0.5, float("inf"))


@pytest.mark.parametrize(
    "query",
    [
        "where=like.a=b",
        "where=a",
        "score=1_x_2",
        "score=3_0_1",
        "score=1_nan_2",
        "score=1",
        "where=is.a=1&reason=5",
        "&".join(f"where=is.a={n}" for n in range(7)),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(query).choice(criteria=2)
    assert refused.value.status == 400


def test_columns_are_part_of_the_address_and_no_filter() -> None:
    query = "show=sample&show=item.a%26b&show=sample&show="
    request = Request({"type": "http", "query_string": query.encode(), "headers": []})
    choice = read(request)
    assert choice.show == ("sample", "item.a&b")
    assert not choice.is_filtered
    assert choice.address("/r", sort="1") == "/r?sort=1&show=sample&show=item.a%26b"
