"""The far end: graders once by their hash, budgets by shares, nothing kept that could be lost."""

from typing import Any

import pytest

from fairmark.cluster.orders import Answer, Order, Share, digest, pack_order, read_answer
from fairmark.cluster.outpost import GRADERS_KEPT, SHARE_SPENT, ShareBudget, version
from fairmark.endpoints import chosen as endpoints
from fairmark.errors import NotGraded
from fairmark.judgement import Usage
from fairmark.parse import parse
from fairmark.work.frames import pack_row, results_of
from fairmark.work.pool import cores
from tests.cluster.near import EXACT, outpost

ROWS = [{"item": {"r": "a"}, "sample": "a"}, {"item": {"r": "a"}, "sample": "b"}, {"item": {}, "sample": "b"}]


def order(grader: dict[str, Any] | None, rows: list[Any] = ROWS, **more: Any) -> bytes:
    known = digest(parse(grader) if grader else EXACT)
    assert known is not None
    return pack_order(Order(known[0], grader, [pack_row(row) for row in rows], **more))


def test_rows_are_graded_as_they_would_be_here() -> None:
    answer = read_answer(outpost().grade(order(EXACT.echo())))
    results = results_of(EXACT, answer.results or [])
    assert [result.reward for result in results] == [1.0, 0.0, 0.0]
    assert [result.status for result in results] == ["graded", "graded", "error"]
    assert results[2].errors["invalid_variable_error"] is True


def test_a_grader_is_sent_once_and_asked_for_where_it_is_not_known() -> None:
    post = outpost()
    assert read_answer(post.grade(order(None))) == Answer()
    post.grade(order(EXACT.echo()))
    assert len(read_answer(post.grade(order(None))).results or []) == 3


def test_only_so_many_graders_are_kept() -> None:
    post = outpost()
    post.grade(order(EXACT.echo()))
    for number in range(GRADERS_KEPT):
        post.grade(order({**EXACT.echo(), "name": str(number)}, []))
    assert read_answer(post.grade(order(None))) == Answer()


def test_a_grader_of_a_kind_that_is_not_installed_there_is_refused_in_words() -> None:
    wrong = pack_order(Order(b"hash", {"type": "sentiment"}, []))
    assert 'unknown type "sentiment"' in (read_answer(outpost().grade(wrong)).refused or "")


def test_a_process_of_a_cluster_takes_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairmark.cluster.outpost import Outpost
    from fairmark.run import grade_chunk
    from fairmark.work import pool

    monkeypatch.setattr(pool, "_cores", None)
    Outpost(grade_chunk, {})
    assert cores() == 1


def test_graders_of_others_ask_no_address_of_their_own_choosing_there_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_public", True)
    outpost()
    assert not endpoints.lists_only()
    outpost(only_listed=True)
    assert endpoints.lists_only()


def test_it_says_who_it_is_and_whether_it_can_run_code() -> None:
    hello = outpost().hello()
    assert (hello["version"], hello["no_sandbox"]) == (version(), None)
    assert hello["host"]
    assert outpost().sign() is True


@pytest.mark.parametrize(("share", "spent", "left_over"), [
    (Share(10.0, None), Usage(0, 0, 9), True),
    (Share(10.0, None), Usage(0, 0, 10), False),
    (Share(0.0, None), Usage(), False),
    (Share(None, 0.5), Usage(0, 0, 1_000_000), False),
    (Share(None, None), Usage(0, 0, 1_000_000), True),
])  # fmt: skip
def test_a_share_is_spent_like_a_budget(share: Share, spent: Usage, left_over: bool) -> None:
    budget = ShareBudget(share)
    budget.spend(spent, 0.5)
    if left_over:
        budget.check()
    else:
        with pytest.raises(NotGraded, match=SHARE_SPENT):
            budget.check()
