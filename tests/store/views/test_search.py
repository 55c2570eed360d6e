"""A text that a person looks for in the rows of a run."""

import itertools
from typing import Any

import pytest

from fairmark import jsontext
from fairmark.store import (
    Counts,
    NewItem,
    Store,
    View,
)
from tests.store.conftest import started_run
from tests.store.entries import Entry, fill, walk

EMOJI = "\U0001f600"

TEXTS = [
    'he said "no" and left',
    "a\nnew line\tand a tab",
    r"C:\path\new",
    "100% of_it",
    "Grüße aus ÖSTERREICH",
    f"half an emoji \ud83d and Größe {EMOJI} again",
    "a \x00 in it \x1f",
    f"a whole {EMOJI}",
    "日本語のテキスト",
    "x" * 10_000,
    "it's; DROP TABLE items --",
    "nothing to see",
]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('said "no"', [0]),
        ("SAID", [0]),
        ("a\nnew", [1]),
        ("new line\tand", [1]),
        (r"c:\PATH\new", [2]),
        ("\\", [2]),
        ("100%", [3]),
        ("%", [3]),
        ("_", [3]),
        ("f_i", [3]),
        ("1__%", []),
        ("GRÜSSE", []),  # one letter is one letter
        ("grüße", [4]),
        ("GRÜ", [4]),
        ("österreich", [4]),
        ("ö", [4, 5]),
        ("größe", [5]),
        ("\ud83d", [5]),
        ("\ud83d and gr", [5]),
        (EMOJI, [5, 7]),
        (f"Größe {EMOJI} AGAIN", [5]),
        ("\x00", [6]),
        ("\x1f", [6]),
        ("日本", [8]),
        ("x" * 10_000, [9]),
        ("x" * 10_001, []),
        ("ä" * 10_000, []),
        ("\x00" * 10_000, []),
        ("%" * 10_000, []),
        ("it's; drop table items --", [10]),
        ("!", []),
        ("question", []),  # the name of a field, in every row
        ("outputitem", []),
        ("nothing", [11]),
        ("not", [11, 14]),
        ("42", [12]),
        ("-0.5", [12]),
        ("true", []),
        ("deep", [12]),
        ("traceback", [13]),
        ("well argued", [13]),
        ("the answer", [14]),
        ("printed this", [13]),
        ("not reached", [14]),
    ],
)  # fmt: skip
async def test_a_search_finds_what_a_person_reads(store: Store, text: str, rows: list[int]) -> None:
    run = await started_run(store)
    bodies: list[dict[str, Any]] = [{"datasource_item": {"question": each}} for each in TEXTS]
    bodies.append({"datasource_item": {"n": [42, -0.5, True, None], "in": {"it": [{"is": "deep"}]}}})
    judge = {"output": [{"role": "assistant", "content": "well argued"}], "input": [{"content": "nothing asked"}]}
    result = {"name": "nothing-1", "error": "Traceback: …", "warnings": [], "printed": "printed this", "sample": judge}
    bodies.append({"datasource_item": {}, "results": [result], "sample": None})
    sample = {"output": [{"role": "x", "content": "The answer"}], "error": {"code": "e", "message": "not Reached"}}
    bodies.append({"datasource_item": {}, "results": [], "sample": sample})
    new = [NewItem(idx, "pass", jsontext.encode({"id": "outputitem_1", **body})) for idx, body in enumerate(bodies)]
    assert await store.items.add(run, new, Counts(len(new)))
    page = await store.rows.page(run, View(text=text))
    assert [item.idx for item in page.data] == rows
    assert (page.next, page.unfinished) == (None, False)


async def test_a_search_whose_time_is_up_goes_on_where_it_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.store.views.rows.SEARCH_S", -1)
    run = await started_run(store)
    texts = {30: "x", 55: "x"}
    await fill(store, run, [Entry(idx, "pass", (("pass", 1.0),), texts.get(idx, "y")) for idx in range(70)])
    view = View(text="x")
    page = await store.rows.page(run, view, None, 19)
    assert (page.data, page.unfinished, page.next, page.previous) == ([], True, "after_19", None)
    page = await store.rows.page(run, view, page.next, 19)
    assert page.previous == "until_19"
    for limit, backward, sort in itertools.product((2, 7, 300), (False, True), (None, 0)):
        view = View(text="x", sort=sort)
        assert await walk(store, run, view, limit, backward=backward) == [30, 55]


async def test_a_search_looks_at_fewer_rows_at_once_where_many_only_seem_to_match(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.store.views.rows.MOST_CANDIDATES", 5)
    run = await started_run(store)
    # "question" is the name of a field in every row.
    entries = [Entry(idx, "pass", (("pass", 1.0),), "a question" if idx == 150 else "y") for idx in range(200)]
    await fill(store, run, entries)
    assert await walk(store, run, View(text="question"), 3) == [150]
    assert await walk(store, run, View(text="question"), 100) == [150]
