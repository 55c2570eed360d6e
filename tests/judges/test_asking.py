"""The judge between graders and the network: what it asks, what it knows already, what it may not spend."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import JudgeFailed, JudgeTimedOut, NotGraded
from fairmark.judgement import NO_USAGE, Judgement
from fairmark.judges.asking import AskingJudge
from fairmark.judges.base import Budget
from fairmark.judges.cache import Cache
from fairmark.judges.models import ModelRegistry, Provider
from tests.judges.scripted import PROVIDER, Sender, chat_reply, question, registry, settle

PRICED = registry(m={"price_in": 10.0, "price_out": 100.0})
FOREVER = 30.0


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "judgements.db", "on", 10**9)
    yield cache
    cache.close()


def judgements(answers: list[Judgement | NotGraded]) -> list[Judgement]:
    assert all(isinstance(answer, Judgement) for answer in answers)
    return [answer for answer in answers if isinstance(answer, Judgement)]


def off() -> Cache:
    return Cache(Path(), "off", 0)


# What is known already


def test_a_known_answer_is_not_asked_for_and_costs_nothing(cache: Cache) -> None:
    async def scenario() -> None:
        first = Sender()
        (asked,) = judgements(await AskingJudge(PRICED, first, cache).ask([question(model="m")], None))
        assert (asked.usage.total_tokens, asked.attempts) == (120, 1)
        assert asked.cost == pytest.approx(0.003)
        cache.flush()
        # A sender whose limits are used up: whoever goes there waits forever.
        second = Sender(at_once=1)
        budget = Budget(tokens=0, dollars=0)
        judge = AskingJudge(PRICED, second, cache)
        (known,) = judgements(await asyncio.wait_for(judge.ask([question(model="m")], budget), FOREVER))
        assert second.bodies == []
        assert (known.value, known.output, known.sampled_model) == (asked.value, asked.output, "m-2026")
        assert (known.usage, known.cost, known.attempts, known.latency_s) == (NO_USAGE, 0.0, 0, 0.0)
        assert known.dump()["cached"] is True
        assert (budget.spent_tokens, budget.spent_dollars) == (0, 0.0)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Another question"},
        {"model": "house/n"},
        {"sampling": {"seed": 2}},
        {"repeat": 1},
    ],
)
def test_another_question_is_asked_even_if_it_is_much_like_a_known_one(cache: Cache, other: dict[str, Any]) -> None:
    async def scenario() -> None:
        sender = Sender()
        judge = AskingJudge(registry(), sender, cache)
        await judge.ask([question()], None)
        cache.flush()
        await judge.ask([question(**other), question()], None)
        assert len(sender.bodies) == 2

    asyncio.run(scenario())


def test_what_is_random_in_the_messages_does_not_make_a_question_another(cache: Cache) -> None:
    async def scenario() -> None:
        sender = Sender()
        judge = AskingJudge(registry(), sender, cache)
        identity = [{"role": "user", "content": "the same"}]
        await judge.ask([question("fence 123", identity=identity)], None)
        cache.flush()
        (known,) = judgements(await judge.ask([question("fence 456", identity=identity)], None))
        assert len(sender.bodies) == 1
        assert known.messages == [{"role": "user", "content": "fence 456"}]

    asyncio.run(scenario())


def test_only_good_answers_are_kept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(cache, "keep", kept.append)

    async def scenario() -> None:
        empty: dict[str, Any] = {"choices": []}
        replies = iter([empty, empty, JudgeFailed("500"), JudgeTimedOut("late"), chat_reply(0.25)])

        def answer(body: dict[str, Any]) -> dict[str, Any]:
            reply = next(replies)
            if isinstance(reply, JudgeFailed):
                raise reply
            assert isinstance(reply, dict)
            return reply

        judge = AskingJudge(registry(), Sender(answer), cache)
        failed = []
        for _ in range(3):
            (judgement,) = judgements(await judge.ask([question()], None))
            failed.append(type(judgement.failure).__name__)
            cache.flush()
        assert failed == ["JudgeUnreadable", "JudgeFailed", "JudgeTimedOut"]
        assert kept == []
        (good,) = judgements(await judge.ask([question()], None))
        assert (good.value["result"], len(kept)) == (0.25, 1)

    asyncio.run(scenario())


def test_a_kept_answer_that_does_not_fit_is_asked_for_again(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "find", lambda keys: {key: ["m", "words", {"result": "many"}, None] for key in keys})

    async def scenario() -> None:
        sender = Sender()
        (judgement,) = judgements(await AskingJudge(registry(), sender, cache).ask([question()], None))
        assert (len(sender.bodies), judgement.value["result"]) == (1, 0.5)

    asyncio.run(scenario())


# The same question more than once


def test_equal_questions_under_way_are_asked_once_and_paid_for_once() -> None:
    async def scenario() -> None:
        sender = Sender(at_once=10)
        judge = AskingJudge(PRICED, sender, off())
        budget = Budget()
        tasks = [asyncio.create_task(judge.ask([question(model="m")] * 2, budget)) for _ in range(5)]
        await settle()
        sender.release(100)
        found = await asyncio.wait_for(asyncio.gather(*tasks), FOREVER)
        answers = [answer for some in found for answer in judgements(some)]
        assert len(sender.bodies) == 1
        assert [answer.value["result"] for answer in answers] == [0.5] * 10
        assert sorted(answer.usage.total_tokens for answer in answers) == [0] * 9 + [120]
        assert sorted(answer.cost or 0.0 for answer in answers) == [0.0] * 9 + [pytest.approx(0.003)]
        assert budget.spent_tokens == 120

    asyncio.run(scenario())


def test_a_question_whose_answer_comes_in_at_this_very_moment_is_not_asked_again(cache: Cache) -> None:
    async def scenario() -> None:
        sender = Sender(at_once=10)
        judge = AskingJudge(PRICED, sender, cache)
        first = asyncio.create_task(judge.ask([question(model="m")], None))
        await settle()
        sender.release()  # the answer is there, and whoever waits for it has not been woken yet
        second = asyncio.create_task(asyncio.wait_for(judge.ask([question(model="m")], None), FOREVER))
        (mine,) = judgements(await judge.ask([question(model="m")], None))
        assert mine.usage == NO_USAGE
        for answers in await asyncio.gather(first, second):
            assert judgements(answers)[0].value["result"] == 0.5
        assert len(sender.bodies) == 1

    asyncio.run(asyncio.wait_for(scenario(), FOREVER))


def test_who_is_cancelled_leaves_the_question_to_the_next_who_waits_for_it() -> None:
    async def scenario() -> None:
        sender = Sender(at_once=10)
        judge = AskingJudge(registry(), sender, off())
        first, *others = (asyncio.create_task(judge.ask([question()], None)) for _ in range(4))
        await settle()
        first.cancel()
        await settle()
        assert first.cancelled()
        assert len(sender.bodies) == 2  # the next one, and not all three
        sender.release(100)
        for answers in await asyncio.wait_for(asyncio.gather(*others), FOREVER):
            assert judgements(answers)[0].value["result"] == 0.5
        assert len(sender.bodies) == 2

    asyncio.run(scenario())


def test_who_waits_for_an_equal_question_and_is_cancelled_does_not_end_it() -> None:
    async def scenario() -> None:
        sender = Sender(at_once=10)
        judge = AskingJudge(registry(), sender, off())
        first, second = (asyncio.create_task(judge.ask([question()], None)) for _ in range(2))
        await settle()
        second.cancel()
        await settle()
        sender.release()
        (judgement,) = judgements(await asyncio.wait_for(first, FOREVER))
        assert judgement.value["result"] == 0.5

    asyncio.run(scenario())


def test_a_failure_is_shared_by_those_who_waited_and_not_by_those_who_come_later() -> None:
    async def scenario() -> None:
        def fail(body: dict[str, Any]) -> dict[str, Any]:
            raise JudgeFailed("house: the server answered 500")

        sender = Sender(fail, at_once=100)
        judge = AskingJudge(registry(), sender, off())
        for asked in (1, 2):
            asking = asyncio.create_task(judge.ask([question()] * 50, None))
            await settle()
            sender.release(100)
            answers = judgements(await asyncio.wait_for(asking, FOREVER))
            assert len(sender.bodies) == asked
            assert [str(answer.failure) for answer in answers] == ["house: the server answered 500"] * 50
            assert {answer.dump()["cached"] for answer in answers} == {False}

    asyncio.run(scenario())


# One among many


def test_one_unknown_model_among_several_fails_alone() -> None:
    async def scenario() -> None:
        names = ["house/a", "nobody", "house/b"]
        answers = judgements(
            await AskingJudge(registry(), Sender(), off()).ask([question(model=name) for name in names], None)
        )
        assert [answer.model for answer in answers] == names
        assert [answer.failure is None for answer in answers] == [True, False, True]
        assert str(answers[1].failure).startswith('unknown model "nobody". Configured: house/….')

    asyncio.run(scenario())


def test_a_panel_with_one_bad_model_still_gives_its_verdict_and_says_so() -> None:
    grader = {
        "type": "score_model",
        "model": "house/a",
        "panel": ["nobody", "house/b"],
        "input": [{"role": "user", "content": "Rate it."}],
    }
    result = fairmark.grade(grader, judge=AskingJudge(registry(), Sender(), off()))
    assert (result.status, result.reward) == ("graded", 0.5)
    assert any('unknown model "nobody"' in warning for warning in result.warnings)


def test_answers_stand_in_the_order_of_the_questions() -> None:
    async def scenario() -> None:
        sender = Sender(lambda body: chat_reply(int(body["messages"][-1]["content"]) / 1000), at_once=7)
        asking = asyncio.create_task(
            AskingJudge(registry(), sender, off()).ask([question(str(index)) for index in range(200)], None)
        )
        while not asking.done():
            await settle()
            sender.release(3)
        answers = judgements(await asking)
        assert [answer.value["result"] for answer in answers] == [index / 1000 for index in range(200)]

    asyncio.run(scenario())


# The budget


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(tokens=500), "not asked: the budget of 500 tokens is spent."),
        (Budget(dollars=0.0125), "not asked: the budget of $0.0125 is spent."),
        (Budget(tokens=500, dollars=1000), "not asked: the budget of 500 tokens is spent."),
    ],
)
def test_when_the_budget_is_spent_what_is_under_way_finishes_and_the_rest_is_left_out(budget: Budget, why: str) -> None:
    async def scenario() -> None:
        sender = Sender(at_once=3)
        judge = AskingJudge(PRICED, sender, off())
        asking = asyncio.create_task(judge.ask([question(str(index), model="m") for index in range(100)], budget))
        while not asking.done():
            await settle()
            assert sender.waiting <= 3
            sender.release()
        answers = await asking
        answered = [index for index, answer in enumerate(answers) if isinstance(answer, Judgement)]
        # Five are within the budget; when the fifth came back, two were under way.
        assert answered == [0, 1, 2, 3, 4, 5, 6]
        assert len(sender.bodies) == 7
        assert {str(answer) for answer in answers if isinstance(answer, NotGraded)} == {why}
        assert budget.spent_tokens == 840
        assert budget.spent_dollars == pytest.approx(0.021)

    asyncio.run(scenario())


def test_a_spent_budget_asks_nothing_at_all() -> None:
    async def scenario() -> None:
        sender = Sender()
        answers = await AskingJudge(registry(), sender, off()).ask([question(), question()], Budget(tokens=0))
        assert [type(answer) for answer in answers] == [NotGraded, NotGraded]
        assert sender.bodies == []

    asyncio.run(scenario())


def test_rows_beyond_the_budget_are_skipped_and_neither_passed_nor_failed() -> None:
    grader = {
        "type": "score_model",
        "model": "house/m",
        "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
        "pass_threshold": 0.4,
    }
    rows = [{"sample": str(index)} for index in range(6)]
    judge = AskingJudge(registry(), Sender(), off())
    results = fairmark.grade_many(grader, rows, judge=judge, budget=Budget(tokens=300))
    assert [result.status for result in results] == ["graded"] * 3 + ["skipped"] * 3
    assert [result.passed for result in results] == [True] * 3 + [None] * 3
    assert results[-1].skipped == "not asked: the budget of 300 tokens is spent."
    assert results[-1].model_dump()["error"] is None


def test_tokens_of_an_answer_that_could_not_be_read_are_spent_too() -> None:
    async def scenario() -> None:
        replies = iter([chat_reply('"many"'), chat_reply('"lots"')])
        budget = Budget(tokens=1000)
        (judgement,) = judgements(
            await AskingJudge(registry(), Sender(lambda body: next(replies)), off()).ask([question()], budget)
        )
        assert judgement.failure is not None
        assert (judgement.attempts, judgement.usage.total_tokens, budget.spent_tokens) == (2, 240, 240)

    asyncio.run(scenario())


def test_a_budget_in_dollars_needs_a_price() -> None:
    async def scenario() -> None:
        sender = Sender()
        judge = AskingJudge(registry(free={"price_in": 0.0}), sender, off())
        asked = [question(model="house/m"), question(model="free")]
        unpriced, free = judgements(await judge.ask(asked, Budget(dollars=1)))
        assert str(unpriced.failure) == (
            "house/m: a budget in dollars is set, and this model has no price. Set price_in and price_out for it in "
            "fairmark.toml, or use a budget in tokens."
        )
        assert free.failure is None
        with pytest.raises(JudgeFailed, match="this model has no price"):
            await judge.embed("house/m", ["a"], Budget(dollars=1))
        assert len(sender.bodies) == 1
        (later,) = judgements(await judge.ask([question(model="house/m")], Budget(tokens=1000)))
        assert later.failure is None

    asyncio.run(scenario())


def test_an_embedded_model_needs_no_price() -> None:
    async def scenario() -> None:
        local = ModelRegistry({"local": Provider("local", "", "local"), "house": PROVIDER}, {}, {}, None)
        judge = AskingJudge(local, Sender(), off())
        (judgement,) = judgements(await judge.ask([question(model="local/x")], Budget(dollars=1)))
        assert judgement.failure is None

    asyncio.run(scenario())


@pytest.mark.parametrize("given", [{"tokens": -1}, {"dollars": -0.5}, {"dollars": float("nan")}])
def test_a_budget_below_nothing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it takes a number, 0 or more"):
        Budget(**given)
