"""What a log says of rows that were not graded."""

import pytest

import fairmark
from fairmark.trainers import telling
from fairmark.trainers.telling import OneByOne, reasons_of

EXACT = {"type": "string_check", "name": "exact", "operation": "eq", "input": "{{ item.a }}", "reference": "x"}
GOOD, BAD = fairmark.grade(EXACT, "", {"a": "x"}), fairmark.grade(EXACT, "", {})


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(":")[2].partition(" and are")[0].strip() for record in caplog.records]


def test_reasons_are_counted() -> None:
    (reason,) = reasons_of([GOOD, BAD, BAD])
    assert reasons_of([GOOD, BAD, BAD])[reason] == 2
    assert reason.startswith("{{ item.a }}: this item has no field")


def test_the_first_failure_is_told_at_once_and_the_others_with_all_rows_since(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = OneByOne("exact", "masked")
    assert [rows.passes(GOOD), rows.passes(GOOD), rows.passes(BAD)] == [True, True, False]
    rows.note([BAD])
    assert told(caplog) == ["1 of 3 rows were not graded"]
    for _ in range(4):
        rows.note([BAD])
    assert not rows.passes(GOOD)  # there is something to tell
    monkeypatch.setattr(telling, "TELL_EVERY_S", 0.0)
    rows.note([GOOD])
    assert told(caplog)[1:] == ["4 of 5 rows were not graded"]
    assert rows.passes(GOOD)
