"""Frames between processes: what goes in at one end comes out at the other, and half a frame is no frame."""

import io
from typing import Any

import msgspec
import pytest

import fairmark
from fairmark.errors import GradingFailed, JudgeTimedOut, Rejected
from fairmark.judgement import Judgement, Listed, Usage, Weighed
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.row import UnreadItem
from fairmark.work.frames import CANNOT_BE_SENT, pack_order, pack_results, pack_row, read_results, receive, send, unpack

CHECK = parse({"type": "string_check", "input": "{{item.a}}", "reference": "b", "operation": "eq"})


def through_a_pipe(framed: bytes) -> bytes:
    pipe = io.BytesIO()
    send(pipe, framed)
    pipe.seek(0)
    return receive(pipe)


def test_an_order_is_the_graders_json_and_the_rows() -> None:
    rows: list[Any] = [{"item": {"a": "ä"}, "sample": None}, "no row"]
    assert msgspec.msgpack.decode(through_a_pipe(pack_order(CHECK, rows))) == [CHECK.echo(), rows]
    assert msgspec.msgpack.decode(through_a_pipe(pack_order(None, rows))) == [None, rows]


def test_an_item_that_nobody_has_read_goes_as_the_json_that_it_is() -> None:
    text = b'{"a" : [1, "\\ud83d", 100000000000000000000000000000000]}'  # which msgpack could not carry
    _, (row,) = unpack(through_a_pipe(pack_order(CHECK, [{"item": UnreadItem(text), "sample": "x"}])))
    assert (row["item"].text, row["sample"]) == (text, "x")
    assert unpack(pack_row({"item": UnreadItem(text)}))["item"].text == text
    with pytest.raises(ValueError, match="unknown type 9"):
        unpack(msgspec.msgpack.encode(msgspec.msgpack.Ext(9, b"")))


@pytest.mark.parametrize("value", ["\ud83d", 10**30])
def test_a_row_that_cannot_go_to_another_process_is_told_apart(value: Any) -> None:
    with pytest.raises(CANNOT_BE_SENT):
        pack_order(CHECK, [{"item": {"a": value}}])


def test_a_result_comes_back_as_it_was() -> None:
    grades = [
        Grade(0.25, {"a": 1.0, "b": -0.5}, printed="said"),
        Grade(0.0, error="it broke", flags={"other_error": True}),
        Grade(0.0, skipped="left out", spread={"stdev": 0.5}),
    ]
    results = [Result(CHECK, grade, 0.5 + index, ("noticed",) * index) for index, grade in enumerate(grades)]
    again = read_results(CHECK, through_a_pipe(pack_results(results)))
    assert [result.model_dump() for result in again] == [result.model_dump() for result in results]
    assert [result.row_warnings for result in again] == [(), ("noticed",), ("noticed", "noticed")]


def test_what_judges_said_comes_back_as_it_was() -> None:
    asked = Judgement(
        "m", [{"role": "user", "content": "?"}], {"seed": 1}, "m-1", '{"result": 1}', {"result": 1.0, "steps": []},
        "stop", Usage(1, 2, 3, 1), 0.25, 1.5, 2, "noticed", None, Listed("1", {"1": -0.5}), Weighed(0.5, 0.1, 0.9),
    )  # fmt: skip
    late = Judgement("m", [], failure=JudgeTimedOut("m: no answer within 60 s."))
    rejected = Judgement("m", [], failure=Rejected("m: no.", 400, {"code": "bad"}))
    odd = Judgement("m", [], failure=type("Odd", (GradingFailed,), {})("odd"))
    result = Result(CHECK, Grade(0.5, judgements=(asked, late, rejected, odd)), 1.0)
    (again,) = read_results(CHECK, through_a_pipe(pack_results([result])))
    assert again.model_dump() == result.model_dump()
    assert again.judgements[0] == asked
    failures = [judgement.failure for judgement in again.judgements[1:]]
    assert [type(failure) for failure in failures] == [JudgeTimedOut, Rejected, GradingFailed]
    assert failures[0] is not None
    assert failures[0].flags() == JudgeTimedOut("m: no answer within 60 s.").flags()


def test_what_a_real_grade_says_survives_the_way() -> None:
    results = fairmark.grade_many(CHECK, [{"item": {"a": "b"}}, {"item": {}}])
    again = read_results(CHECK, through_a_pipe(pack_results(results)))
    assert [(result.reward, result.error) for result in again] == [(result.reward, result.error) for result in results]


def test_many_frames_stand_behind_one_another() -> None:
    pipe = io.BytesIO(pack_order(CHECK, [1]) + pack_order(None, [2]))
    assert [msgspec.msgpack.decode(receive(pipe))[1] for _ in range(2)] == [[1], [2]]


@pytest.mark.parametrize("length", [0, 3, 8, 11])
def test_a_frame_that_ends_early_is_the_end(length: int) -> None:
    with pytest.raises(EOFError):
        receive(io.BytesIO(pack_order(CHECK, [{"item": {}}])[:length]))


def test_without_a_pipe_there_is_nobody() -> None:
    with pytest.raises(EOFError):
        send(None, b"")
    with pytest.raises(EOFError):
        receive(None)
