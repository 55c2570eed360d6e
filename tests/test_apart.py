"""Which rows leave an event loop that others need: told by size, whatever the kind."""

import asyncio
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from fairmark import apart
from fairmark.parse import parse
from fairmark.row import Row, make_row
from fairmark.run import grade_rows, shared_context
from fairmark.spec import GraderSpec
from tests import kinds

LONG = "word " * 4_000
_numbers = count()


def similar(**more: Any) -> dict[str, Any]:
    return {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": "gleu",
        "pass_threshold": 0.5,
        **more,
    }


def check(text: str = "{{sample.output_text}}") -> dict[str, Any]:
    return {"type": "string_check", "input": text, "reference": "{{item.reference}}", "operation": "eq"}


def many(number_of: int) -> dict[str, Any]:
    children = {f"part{number}": similar(name=f"part{number}") for number in range(number_of)}
    return {"type": "multi", "graders": children, "calculate_output": " + ".join(children)}


def turns(grader: dict[str, Any], *rows: Row) -> list[tuple[int, bool]]:
    return [(len(turn), heavy) for turn, heavy in apart.in_turns(parse(grader), rows)]


def row(sample: Any = "short", **item: Any) -> Row:
    return make_row({"reference": "short", **item}, sample)


@pytest.mark.parametrize(
    ("grader", "long_row", "heavy"),
    [
        (similar(), row("short"), False),
        (similar(), row(LONG), True),
        (similar(), row(reference=LONG), True),
        (similar(), row(nested={"far": [{"below": LONG}]}), True),
        (similar(), row({"choices": [{"message": {"role": "assistant", "content": LONG}}]}), True),
        (check(), row(LONG), False),  # comparing is quick
        (check(), row(LONG * 20), True),
        (check("{{item.text}}" * 100), row(text="x" * 10_000), True),  # a long text made of a short row
        (check(LONG * 20), row(), True),
        (many(2), row("x" * 4_000), False),
        (many(40), row("x" * 4_000), True),
    ],
)
def test_a_row_is_heavy_by_how_much_the_grader_has_to_go_through(grader: Any, long_row: Row, heavy: bool) -> None:
    assert turns(grader, long_row) == [(1, heavy)]


def test_turns_are_short_and_keep_the_order() -> None:
    assert turns(similar(), *[row("x" * 3_000)] * 12) == [(5, False), (5, False), (2, False)]
    assert turns(similar(), row(), row(LONG), row(LONG), row(), row()) == [(1, False), (2, True), (2, False)]
    assert turns(similar()) == []
    assert turns(similar(), *[row(LONG)] * (apart.ROWS_ELSEWHERE + 1)) == [(apart.ROWS_ELSEWHERE, True), (1, True)]


@pytest.fixture
def _kinds() -> Iterator[None]:
    with kinds.installed():
        yield


@pytest.mark.usefixtures("_kinds")
def test_a_kind_that_is_slower_than_thought_is_found_out() -> None:
    spec = parse({"type": "breaking", "name": "slower"})
    rows = [row("x" * 100) for _ in range(50)]
    assert [heavy for _, heavy in apart.in_turns(spec, rows)] == [False]
    apart.note_turn(spec, rows, 10 * apart.LONG_TURN_S)
    shorter = [len(turn) for turn, _ in apart.in_turns(spec, rows)]
    assert max(shorter) <= 12
    apart.note_turn(spec, rows[:1], 2 * apart.LONG_TURN_S)
    assert [heavy for _, heavy in apart.in_turns(spec, rows[:1])] == [True]


def test_what_a_kind_reads_when_it_is_first_used_makes_its_rows_neither_heavy_nor_worth_sending() -> None:
    spec = parse(similar(evaluation_metric="meteor"))
    rows = [row("x" * 100)]
    apart.note_turn(spec, rows, 1.1 * apart.LONG_TURN_S)
    assert [heavy for _, heavy in apart.in_turns(spec, rows)] == [False]
    assert not apart.is_worth_sending(spec, rows)
    apart.note_turn(spec, rows, 1.1 * apart.LONG_TURN_S)
    assert [heavy for _, heavy in apart.in_turns(spec, rows)] == [True]


def test_others_have_their_turn_while_rows_are_computed() -> None:
    spec = parse(similar(evaluation_metric="meteor"))
    rows = [row("a few words and some more " * 40, reference="other words than those " * 40) for _ in range(300)]

    async def turns_of_others_meanwhile() -> int:
        grading = asyncio.ensure_future(grade_rows(spec, rows, shared_context()))
        turns_of_others = 0
        while not grading.done():
            await asyncio.sleep(0)
            turns_of_others += 1
        assert [result.status for result in await grading] == ["graded"] * 300
        return turns_of_others

    assert asyncio.run(turns_of_others_meanwhile()) > 30


@pytest.mark.parametrize("grader", [similar(), many(3), check("{{item.reference}}" * 20)])
def test_heavy_rows_come_back_in_their_place_as_if_graded_here(grader: dict[str, Any]) -> None:
    spec = parse(grader)
    rows = [
        row(),
        row("other"),
        row(LONG, reference=LONG),
        row(LONG * 9, reference=LONG),
        make_row({}, LONG * 9),
        row(),
    ]
    alone = [graded for each in rows for graded in asyncio.run(grade_rows(spec, [_copy(each)], _plain()))]
    beside = asyncio.run(grade_rows(spec, rows, shared_context(owner="owner")))
    assert [_shown(result) for result in beside] == [_shown(result) for result in alone]


def test_a_heavy_row_is_killed_at_the_limit_that_code_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_PYTHON_TIMEOUT_S", "0.5")
    from fairmark.settings import settings

    settings.cache_clear()
    try:
        spec = parse(similar(evaluation_metric="fuzzy_match"))
        endless = row("ab" * 5_000_000, reference="ba" * 5_000_000)
        began = time.monotonic()
        (result,) = asyncio.run(grade_rows(spec, [endless], shared_context()))
    finally:
        settings.cache_clear()
    assert result.error == "the row was not graded within 0.5 s."
    assert (result.status, result.errors["unresponsive_reward_error"]) == ("error", True)
    assert time.monotonic() - began < 60  # not the hours that it would take


def test_a_heavy_row_that_no_process_can_be_sent_says_so() -> None:
    (result,) = asyncio.run(grade_rows(parse(similar()), [row(LONG + "\ud83d")], shared_context()))
    assert result.error == "a long row must not hold broken Unicode or a number beyond 64 bits."


@pytest.mark.usefixtures("_kinds")
def test_a_kind_that_only_this_process_can_import_is_named() -> None:
    spec = parse({"type": "breaking", "name": "r"})
    (result,) = asyncio.run(grade_rows(spec, [row(LONG)], shared_context()))
    assert result.error == (
        "long rows are graded in a process of their own, and there is no kind 'breaking' in it. "
        "Install the package that it comes from."
    )


@pytest.fixture
def spec() -> GraderSpec:
    """One of whose pace nothing is known yet: equal JSON is parsed once, so that its name has to be new."""
    return parse(similar(evaluation_metric="meteor", name=f"pace {next(_numbers)}"))


def test_short_rows_are_worth_sending_once_their_grader_takes_longer_than_the_way(spec: GraderSpec) -> None:
    rows = [row("x" * 100) for _ in range(64)]
    assert not apart.is_worth_sending(spec, rows)  # nothing is known
    apart.note_pace(spec, rows, 64 * 1e-5)
    assert not apart.is_worth_sending(spec, rows)
    assert not apart.goes_elsewhere(spec)
    for _ in range(8):
        apart.note_pace(spec, rows, 64 * 5e-4)
    assert apart.is_worth_sending(spec, rows)
    assert apart.goes_elsewhere(spec)
    assert not apart.is_worth_sending(spec, rows[:1])  # one alone is done sooner than sent
    for _ in range(8):
        apart.note_pace(spec, rows, 64 * 1e-5)  # as workers tell it, where the first rows were slow by accident
    assert not apart.is_worth_sending(spec, rows)


def test_parcels_are_short_keep_the_order_and_leave_heavy_rows_to_themselves(spec: GraderSpec) -> None:
    rows = [row("x" * 100) for _ in range(64)]
    apart.note_pace(spec, rows, 64 * 2e-3)
    sizes = [(len(parcel), heavy) for parcel, heavy in apart.in_parcels(spec, [*rows, row(LONG), row(LONG), *rows[:3]])]
    assert sizes[:3] == [(25, False), (25, False), (14, False)]
    assert [size for size, heavy in sizes if heavy] in ([2], [1, 1])
    assert sizes[-1] == (3, False)


def test_short_rows_sent_elsewhere_come_back_as_if_graded_here(spec: GraderSpec) -> None:
    rows = [row(f"some words {number}", reference="some words 7 and others") for number in range(100)]
    rows += [row("half \ud83d"), make_row({}, "no reference"), row(LONG), row("last")]
    alone = asyncio.run(grade_rows(spec, list(map(_copy, rows)), _plain()))
    apart.note_pace(spec, rows[:1], 1.0)  # every one is worth it
    beside = asyncio.run(grade_rows(spec, rows, shared_context(owner="owner")))
    assert [_shown(result) for result in beside[:100]] == [_shown(result) for result in alone[:100]]
    assert [result.error for result in beside[100:]] == [result.error for result in alone[100:]]
    assert apart.goes_elsewhere(spec)


@pytest.mark.usefixtures("_kinds")
def test_short_rows_of_a_kind_that_only_this_process_can_import_are_graded_here() -> None:
    spec = parse({"type": "breaking", "name": "not elsewhere"})
    rows = [row("x") for _ in range(3)]
    apart.note_pace(spec, rows, 1.0)
    assert apart.is_worth_sending(spec, rows)
    alone = asyncio.run(grade_rows(spec, list(map(_copy, rows)), _plain()))
    for _ in range(2):
        beside = asyncio.run(grade_rows(spec, rows, shared_context()))
        assert [_shown(result) for result in beside] == [_shown(result) for result in alone]
        assert not apart.is_worth_sending(spec, rows)


def _plain() -> Any:
    from fairmark.run import CONTEXT

    return CONTEXT


def _copy(given: Row) -> Row:
    return Row(given.item, given.sample)


def _shown(result: Any) -> Any:
    shown = result.model_dump()
    shown["metadata"]["execution_time"] = None
    return shown
