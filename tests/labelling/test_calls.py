"""A label as it is sent."""

from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.labelling.calls import key_name, label_wire, put_label
from fairmark.store import Store, ids
from tests.labelling.labelled import graded


async def test_a_label_is_put_by_row_and_by_item_and_shown(store: Store) -> None:
    _, run = await graded(store, 3)
    by_row, _ = await put_label(store, "default", {"run_id": run.id, "row": 1, "label": "pass"}, "kim")
    by_item, put = await put_label(
        store,
        "default",
        {"run_id": run.id, "item_id": ids.of_item(run.id, 1), "label": "fail", "rater": " lee "},
        "kim",
    )
    assert by_row is not None
    assert by_item is not None
    shown = label_wire(by_item)
    assert (shown["rater"], shown["row"], shown["label"], shown["criterion"] is not None) == ("lee", 1, "fail", True)
    assert put.became == "kept"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"row": 0, "label": "pass", "run_id": None}, 400, "run_id: missing"),
        ({"row": 0, "label": "pass", "run_id": "evalrun_x"}, 404, "No run found"),
        ({"row": 0, "label": "pass", "rum_id": "x"}, 400, "Did you mean run_id?"),
        ({"label": "pass"}, 400, "give its item_id"),
        ({"row": 0, "item_id": "x", "label": "pass"}, 400, "give its item_id"),
        ({"row": 99, "label": "pass"}, 404, "No row found"),
        ({"row": -1, "label": "pass"}, 400, "from 0"),
        ({"item_id": "outputitem_x", "label": "pass"}, 404, "No output item found"),
        ({"row": 0, "label": "pass", "rater": " "}, 400, "rater: missing"),
        ({"row": 0, "label": "pass", "rater": "x" * 201}, 400, "at most 200"),
        ({"row": 0, "label": "pass", "note": "x" * 10_001}, 400, "at most 10000"),
        ({"row": 0, "label": "pass", "chance": 0}, 400, "chance: found 0"),
        ({"row": 0, "label": "pass", "id": "x"}, 400, "It takes label_"),
        ({"row": 0, "label": "pass", "side": "c"}, 400, "Use one of: a, b"),
        ({"row": 0, "label": "pass", "other_run_id": "x"}, 400, "it goes with preferred"),
        ({"row": 0, "preferred": "a", "other_run_id": "SAME"}, 400, "another run of the same eval"),
    ],
)
async def test_what_is_wrong_is_refused_in_words(store: Store, body: dict[str, Any], status: int, words: str) -> None:
    _, run = await graded(store, 1)
    sent = {"run_id": run.id, **body}
    if sent.get("other_run_id") == "SAME":
        sent["other_run_id"] = run.id
    with pytest.raises(ApiError) as error:
        await put_label(store, "default", sent, "" if words == "rater: missing" else "kim")
    assert (error.value.status, words in error.value.message) == (status, True), error.value.message


async def test_another_projects_run_is_not_there(store: Store) -> None:
    _, run = await graded(store, 1)
    with pytest.raises(ApiError) as error:
        await put_label(store, "other", {"run_id": run.id, "row": 0, "label": "pass"}, "kim")
    assert error.value.status == 404


async def test_a_key_gives_its_name(store: Store) -> None:
    key = await store.keys.create("default", "Kim")
    found = await store.keys.find(key)
    assert found is not None
    assert await key_name(store, "default", found.id) == "Kim"
    assert await key_name(store, "default", None) == ""
