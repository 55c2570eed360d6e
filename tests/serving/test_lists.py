"""What the query of a list says, and what of it is refused."""

import pytest
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.serving.lists import Query, read_query


def query(text: str) -> Query:
    scope = {"type": "http", "query_string": text.encode(), "headers": []}
    return read_query(Request(scope), limit=20, order="asc")


def test_what_is_not_said_is_the_lists_own_default() -> None:
    read = query("")
    assert (read.limit, read.after, read.before, read.order) == (20, None, None, "asc")
    assert query("limit=&after=&before=&order=")[:4] == read[:4]


def test_all_that_a_list_takes_is_read() -> None:
    read = query("limit=100&after=a&before=b&order=desc&status=done")
    assert (read.limit, read.after, read.before, read.order) == (100, "a", "b", "desc")
    assert read.choice("status", ("new", "done"), "new") == "done"
    assert query("").choice("status", ("new", "done"), "new") == "new"


@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "ten", "٣", "9" * 30, " 5"])
def test_a_limit_is_a_number_in_plain_digits_within_bounds(limit: str) -> None:
    with pytest.raises(ApiError, match=r"^limit: found \".*\"\. It takes a number from 1 to 100\.$") as refused:
        query(f"limit={limit}")
    assert (refused.value.status, refused.value.param) == (400, "limit")


def test_a_word_that_is_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(ApiError, match=r'^order: found "up"\. Use one of: asc, desc\.$'):
        query("order=up")
    with pytest.raises(ApiError, match=r'^status: found "x"\. Use one of: new, done\.$'):
        query("status=x").choice("status", ("new", "done"), "new")
