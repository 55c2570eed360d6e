"""The near end: every row once, whatever becomes of the processes that grade; nobody waits for those who are lost."""

import asyncio
from typing import Any

import pytest

import fairmark
from fairmark.cluster import dispatch as dispatches
from fairmark.cluster.dispatch import FIRST_ROWS, LOSSES, LOST, MOST_ROWS, Lost
from fairmark.cluster.orders import Answer, Order
from fairmark.cluster.outpost import SHARE_SPENT
from fairmark.errors import ClusterLost, ClusterUnusable
from fairmark.judges.base import Budget
from fairmark.parse import parse
from fairmark.row import make_row
from fairmark.sandbox.patience import Patience
from fairmark.work.frames import plain_results
from tests.cluster.near import EXACT, NearPost, dispatch, grade, lose, on_a_loop, rewards, rows, until

JUDGE = parse({
    "type": "score_model", "name": "fair", "model": "m", "range": [0, 1],
    "input": [{"role": "user", "content": "{{sample.output_text}}"}],
})  # fmt: skip
PYTHON = parse({"type": "python", "source": "def grade(sample, item):\n    return 1.0\n"})


def sizes(post: NearPost) -> list[int]:
    return [len(order.rows) for order in post.orders]


@on_a_loop
async def test_results_come_in_the_order_of_the_rows_and_are_those_of_this_machine() -> None:
    given = rows(500)
    here = [result.reward for result in fairmark.grade_many(EXACT, [row.data for row in given])]
    async with dispatch(NearPost(), NearPost()) as made:
        assert rewards(await grade(made, given)) == here


@on_a_loop
async def test_chunks_begin_small_and_grow_and_the_grader_goes_once() -> None:
    post = NearPost()
    async with dispatch(post) as made:
        await grade(made, rows(20 * FIRST_ROWS))
    assert sizes(post)[0] == FIRST_ROWS
    assert max(sizes(post)) > 2 * FIRST_ROWS
    assert max(sizes(post)) <= MOST_ROWS
    assert sum(sizes(post)) == 20 * FIRST_ROWS
    assert [order.grader is not None for order in post.orders].count(True) <= 2  # two chunks go before it has answered


@on_a_loop
async def test_no_chunk_is_longer_than_a_megabyte_unless_one_row_is() -> None:
    post = NearPost()
    given = [make_row({"r": "x" * length}, "y") for length in [400_000, 400_000, 400_000, 1_100_000, 10]]
    async with dispatch(post) as made:
        await grade(made, given)
    assert sizes(post) == [2, 1, 1, 1]


@on_a_loop
async def test_two_chunks_are_under_way_at_a_process_and_no_more() -> None:
    post = NearPost()
    post.held.clear()
    async with dispatch(post) as made:
        first = asyncio.create_task(grade(made, rows(1000), "a"))
        await until(lambda: post.at_once == 2)
        post.held.set()
        await first
    assert post.most_at_once == 2


@on_a_loop
async def test_an_owner_who_has_nothing_under_way_need_not_wait_for_one_who_has_much() -> None:
    post = NearPost()
    post.held.clear()
    async with dispatch(post) as made:
        much = asyncio.create_task(grade(made, rows(2000), "busy"))
        await until(lambda: post.at_once >= 2)
        little = asyncio.create_task(grade(made, rows(1), "other"))
        post.held.set()
        await little
        assert not much.done()
        await much


@on_a_loop
async def test_a_lost_chunk_goes_to_any_other_and_not_to_the_one_that_lost_it() -> None:
    dying, healthy = NearPost(lose), NearPost()
    async with dispatch(dying, healthy) as made:
        await until(lambda: dying.hellos and healthy.hellos)
        dying.answers_hello.clear()  # it never comes back
        assert rewards(await grade(made, rows(300))) == [1.0, 1.0, 0.0] * 100
    assert len(dying.orders) <= 3
    assert sum(sizes(healthy)) == 300


@on_a_loop
async def test_who_lost_a_chunk_has_to_answer_before_it_gets_another() -> None:
    lost: list[Order] = []

    def once(order: Order) -> None:
        if not lost:
            lost.append(order)
            raise Lost("it was killed")

    post = NearPost(once)
    async with dispatch(post) as made:
        assert rewards(await grade(made, rows(100))) == ([1.0, 1.0, 0.0] * 34)[:100]
        assert post.hellos == 2
        assert made.losses >= 1
    again = post.orders[[len(order.rows) for order in post.orders].index(len(lost[0].rows)) :]
    assert any(order.grader is not None for order in again)  # a new process knows no grader


@on_a_loop
async def test_the_row_that_kills_whoever_grades_it_ends_as_an_error_and_all_others_are_graded() -> None:
    def poisoned(order: Order) -> None:
        if any(row["item"]["r"] == "77" for row in order.rows):
            raise Lost("it ran out of memory")

    async with dispatch(NearPost(poisoned), NearPost(poisoned)) as made:
        results = await grade(made, rows(200))
    failed = [(index, result) for index, result in enumerate(results) if result is None or result.status == "error"]
    assert [index for index, _ in failed] == [77]
    assert failed[0][1] is not None
    assert failed[0][1].error == LOST
    assert failed[0][1].errors["other_error"] is True


@on_a_loop
async def test_a_single_row_is_lost_three_times_before_it_is_given_up() -> None:
    post = NearPost(lose)
    async with dispatch(post) as made:
        (result,) = await grade(made, rows(1))
    assert result is not None
    assert result.error == LOST
    assert len(post.orders) == LOSSES


@on_a_loop
async def test_a_process_that_neither_answers_nor_gives_a_sign_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatches, "SIGN_EVERY_S", 0.01)
    monkeypatch.setattr(dispatches, "SIGN_WITHIN_S", 0.01)
    stopped, healthy = NearPost(), NearPost()
    stopped.held.clear()
    stopped.gives_signs = False
    async with dispatch(stopped, healthy) as made:
        await until(lambda: stopped.hellos)
        stopped.answers_hello.clear()
        assert rewards(await grade(made, rows(100))) == ([1.0, 1.0, 0.0] * 34)[:100]
    assert stopped.ended >= 1


@on_a_loop
async def test_a_process_that_takes_long_and_gives_signs_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatches, "SIGN_EVERY_S", 0.001)
    post = NearPost()
    post.held.clear()
    async with dispatch(post) as made:
        grading = asyncio.create_task(grade(made, rows(1)))
        await asyncio.wait([grading], timeout=0.1)
        assert not grading.done()
        post.held.set()
        assert rewards(await grading) == [1.0]
    assert post.ended == 0


@on_a_loop
async def test_without_anybody_who_answers_the_call_ends_with_an_error_that_says_why() -> None:
    post = NearPost(lose)
    async with dispatch(post, timeout_s=0.2) as made:
        await until(lambda: post.hellos)
        post.answers_hello.clear()
        with pytest.raises(ClusterLost, match=r"no process of the cluster answered for 0\.2 s.*it was killed"):
            await grade(made, rows(10))


@on_a_loop
async def test_time_without_anybody_ends_when_somebody_answers() -> None:
    post = NearPost()
    post.answers_hello.clear()
    async with dispatch(post, timeout_s=30) as made:
        grading = asyncio.create_task(grade(made, rows(10)))
        await until(lambda: made._giving_up is not None)
        post.answers_hello.set()
        await grading
        assert made._giving_up is None


@on_a_loop
async def test_another_version_there_is_an_error_that_names_both() -> None:
    async with dispatch(NearPost(version="0.0.9")) as made:
        with pytest.raises(ClusterUnusable, match=r"near has Fairmark 0\.0\.9, and here is 0\.1\.0"):
            await grade(made, rows(1))


@on_a_loop
async def test_processes_that_cannot_begin_are_an_error_at_once() -> None:
    class Hopeless(NearPost):
        async def hello(self) -> Any:
            raise Lost("No module named 'fairmark'", hopeless=True)

    async with dispatch(Hopeless(), timeout_s=600) as made:
        with pytest.raises(ClusterUnusable, match="no process can be begun on the cluster: No module named"):
            await grade(made, rows(1))


@on_a_loop
async def test_code_goes_to_machines_that_can_run_it_and_all_else_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    without, with_sandbox = NearPost(no_sandbox="bwrap: not found"), NearPost()
    async with dispatch(without, with_sandbox) as made:
        await until(lambda: without.hellos and with_sandbox.hellos)
        assert rewards(await grade(made, rows(40), spec=PYTHON)) == [1.0] * 40
        assert without.orders == []
        await asyncio.gather(*(grade(made, rows(200)) for _ in range(4)))
        assert without.orders
    assert "near takes no python graders: bwrap: not found" in caplog.text


@on_a_loop
async def test_rows_that_cannot_be_sent_are_left_to_the_caller_and_their_neighbours_are_not() -> None:
    given = [make_row({"r": "\ud83d"}, "a"), make_row({"r": "a"}, "a"), make_row({"r": 10**30}, "a")]
    async with dispatch(NearPost()) as made:
        results = await grade(made, given)
    assert [result is None for result in results] == [True, False, True]


@on_a_loop
async def test_a_kind_that_is_not_known_there_is_left_to_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    class Refusing(NearPost):
        async def grade(self, order: bytes) -> bytes | Answer:
            await super().grade(order)
            return Answer(refused='unknown type "sentiment"')

    post = Refusing()
    async with dispatch(post) as made:
        assert await grade(made, rows(100)) == [None] * 100
        sent = len(post.orders)
        assert await grade(made, rows(10)) == [None] * 10
        assert len(post.orders) == sent
    assert 'is graded here and not on the cluster: unknown type "sentiment"' in caplog.text


@on_a_loop
async def test_what_nobody_waits_for_any_more_is_not_sent() -> None:
    post = NearPost()
    post.held.clear()
    async with dispatch(post) as made:
        given_up = asyncio.create_task(grade(made, rows(1000), "a"))
        await until(lambda: post.at_once)
        sent = len(post.orders)
        given_up.cancel()
        await asyncio.wait([given_up])
        post.held.set()
        await grade(made, rows(10), "b")
        assert sum(sizes(post)[sent:]) == 10


@on_a_loop
async def test_the_deadline_of_a_call_goes_with_its_rows() -> None:
    post = NearPost()
    async with dispatch(post) as made:
        await grade(made, rows(1), patience=Patience(asyncio.get_running_loop().time() + 50))
        await grade(made, rows(1))
    assert 0 < (post.orders[0].left_s or 0) <= 50
    assert post.orders[-1].left_s is None


class Asked(NearPost):
    """Asks no model: each row costs ten tokens of its chunk's share, and is left out where that is spent."""

    def __init__(self) -> None:
        super().__init__()
        self.graded = 0

    async def grade(self, order: bytes) -> bytes | Answer:
        from fairmark.cluster.orders import read_order
        from fairmark.result import Grade, Result

        read = read_order(order)
        self.orders.append(read)
        await asyncio.sleep(0)
        spent, results = 0, []
        for _ in read.rows:
            may = read.share is None or read.share.tokens is None or spent < read.share.tokens
            spent += 10 * may
            self.graded += may
            results.append(Result(JUDGE, Grade(1.0) if may else Grade(0.0, skipped=f"fair: {SHARE_SPENT}"), 0.0))
        return Answer(plain_results(results), None, spent, 0.0)


@on_a_loop
async def test_a_budget_is_spent_to_its_end_by_shares_and_what_is_beyond_is_skipped() -> None:
    posts, budget = [Asked(), Asked()], Budget(tokens=1000)
    async with dispatch(*posts) as made:
        results = await grade(made, rows(300), spec=JUDGE, budget=budget)
    graded = [result for result in results if result is not None and result.status == "graded"]
    skipped = [result for result in results if result is not None and result.status == "skipped"]
    assert len(graded) + len(skipped) == 300
    assert 100 <= len(graded) <= 100 + 2 * 3  # at most one question too many for each chunk under way
    assert budget.spent_tokens == 10 * len(graded)
    assert {result.skipped for result in skipped} == {"fair: not asked: the budget of 1,000 tokens is spent."}
    assert all(order.share is not None for post in posts for order in post.orders)


@on_a_loop
async def test_models_are_asked_about_few_rows_at_a_time() -> None:
    post = Asked()
    async with dispatch(post) as made:
        await grade(made, rows(200), spec=JUDGE)
    assert sizes(post)[0] == 1
    assert max(sizes(post)) == 16
    assert {order.share for order in post.orders} == {None}
