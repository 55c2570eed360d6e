"""A row as a thread."""

from typing import Any

import pytest

from fairmark.row import make_row
from fairmark.text.thread import Thread, thread_of


@pytest.mark.parametrize(
    ("item", "sample", "turns", "metadata"),
    [
        ({"prompt": "p", "question": "q"}, "a", [("user", "p"), ("assistant", "a")], {"prompt": "p", "question": "q"}),
        ({"input": "i"}, "a", [("user", "i"), ("assistant", "a")], {"input": "i"}),
        ({"messages": [{"role": "user", "content": "m"}]}, "a", [("user", "m"), ("assistant", "a")], {}),
        ({"turns": [["document", "d"], ["user", "u"]], "metadata": {"k": 1}}, "a",
         [("document", "d"), ("user", "u"), ("assistant", "a")], {"k": 1}),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "parts"}]}]}, None,
         [("user", "parts")], {}),
        ({"messages": [{"role": "tool", "content": None}, {"role": "user", "content": 5}, "odd"]}, None,
         [("tool", ""), ("user", "5")], {}),
        ({"prompt": 5}, "", [("assistant", "")], {"prompt": 5}),
        ({}, None, [], {}),
    ],
)  # fmt: skip
def test_turns_and_metadata_come_from_the_item_and_the_completion_from_the_sample(
    item: dict[str, Any], sample: Any, turns: list[tuple[str, str]], metadata: dict[str, Any]
) -> None:
    assert thread_of(make_row(item, sample)) == (turns, metadata)


@pytest.mark.parametrize(
    ("roles", "completion", "history", "last_user"),
    [
        ("user assistant", "1", "user", 0),
        ("system user tool assistant", "3", "system user tool", 1),
        ("user assistant user", None, "user assistant user", 2),
        ("assistant", "0", "", None),
        ("", None, "", None),
    ],
)
def test_the_completion_is_the_last_turn_if_the_assistant_spoke_it_and_the_history_the_rest(
    roles: str, completion: str | None, history: str, last_user: int | None
) -> None:
    thread = Thread([(role, str(index)) for index, role in enumerate(roles.split())], {})
    assert thread.completion == completion
    assert [role for role, _ in thread.history] == history.split()
    assert thread.last_user == last_user
    assert thread.question == (None if last_user is None else str(last_user))
