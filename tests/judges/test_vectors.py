"""Embeddings: what is asked for, how it is read, and what is never accepted."""

import asyncio
import base64
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import JudgeFailed, NotGraded, Rejected
from fairmark.judges import vectors as module
from fairmark.judges.asking import AskingJudge
from fairmark.judges.base import Budget, Embedded
from fairmark.judges.cache import Cache, key_of
from tests.judges.scripted import Sender, registry, settle

MODELS = registry(e={"price_in": 1.0})


def numbers(text: str) -> list[float]:
    return [float(len(text)), float(ord(text[0])), 0.5]


def packed(values: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def embedding_reply(body: dict[str, Any], form: Callable[[list[float]], Any] = packed) -> dict[str, Any]:
    data = [{"index": index, "embedding": form(numbers(text))} for index, text in enumerate(body["input"])]
    return {"model": "e-2026", "data": data, "usage": {"prompt_tokens": len(data), "total_tokens": len(data)}}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "judgements.db", "on", 10**9)
    yield cache
    cache.close()


def embed(
    sender: Sender, texts: Sequence[str], cache: Cache | None = None, budget: Budget | None = None, model: str = "e"
) -> Embedded:
    judge = AskingJudge(MODELS, sender, cache or Cache(Path(), "off", 0))
    return asyncio.run(judge.embed(model, texts, budget))


@pytest.mark.parametrize("form", [packed, list])
def test_vectors_are_read_as_base64_and_as_numbers(form: Callable[[list[float]], Any]) -> None:
    sender = Sender(lambda body: embedding_reply(body, form))
    embedded = embed(sender, ["a", "bc"])
    assert [list(vector) for vector in embedded.vectors] == [[1.0, 97.0, 0.5], [2.0, 98.0, 0.5]]
    assert (embedded.sampled_model, embedded.usage.total_tokens, embedded.requests) == ("e-2026", 2, 1)
    assert embedded.cost == pytest.approx(2e-6)
    assert sender.bodies == [{"model": "e", "input": ["a", "bc"], "encoding_format": "base64"}]


def test_vectors_belong_to_the_text_that_their_index_names() -> None:
    def shuffled(body: dict[str, Any]) -> dict[str, Any]:
        reply = embedding_reply(body)
        return {**reply, "data": reply["data"][::-1]}

    assert [vector[0] for vector in embed(Sender(shuffled), ["a", "bc", "def"]).vectors] == [1.0, 2.0, 3.0]


def test_without_an_index_they_belong_to_the_texts_in_their_order() -> None:
    def bare(body: dict[str, Any]) -> dict[str, Any]:
        return {"data": [{"embedding": numbers(text)} for text in body["input"]]}

    embedded = embed(Sender(bare), ["a", "bc"])
    assert [vector[0] for vector in embedded.vectors] == [1.0, 2.0]
    assert embedded.sampled_model == "e"


def test_many_texts_go_in_batches_and_each_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 4)
    monkeypatch.setattr(module, "CHARACTERS_AT_ONCE", 20)
    sender = Sender(embedding_reply)
    texts = ["a", "b", "a", "c", "d", "e", "x" * 15, "y" * 15, "z" * 50, "a"]
    embedded = embed(sender, texts)
    assert [list(vector) for vector in embedded.vectors] == [numbers(text) for text in texts]
    assert [body["input"] for body in sender.bodies] == [
        ["a", "b", "c", "d"],
        ["e", "x" * 15],
        ["y" * 15],
        ["z" * 50],
    ]
    assert (embedded.usage.total_tokens, embedded.requests) == (8, 4)


def test_no_texts_are_no_request() -> None:
    sender = Sender(embedding_reply)
    assert embed(sender, []).vectors == []
    assert sender.bodies == []


def test_known_vectors_are_not_asked_for_and_only_the_others_are_paid(cache: Cache) -> None:
    embed(Sender(embedding_reply), ["a", "bc"], cache)
    cache.flush()
    sender = Sender(embedding_reply)
    embedded = embed(sender, ["new", "a", "bc"], cache)
    assert [list(vector) for vector in embedded.vectors] == [numbers(text) for text in ("new", "a", "bc")]
    assert [body["input"] for body in sender.bodies] == [["new"]]
    assert (embedded.usage.total_tokens, embedded.requests) == (1, 1)
    cache.flush()
    known = embed(Sender(embedding_reply), ["bc", "new"], cache, Budget(tokens=0))
    assert (known.usage.total_tokens, known.cost, known.requests) == (0, 0.0, 0)


def test_vectors_of_another_model_are_not_known(cache: Cache) -> None:
    embed(Sender(embedding_reply), ["a"], cache)
    cache.flush()
    sender = Sender(embedding_reply)
    embed(sender, ["a"], cache, model="house/other")
    assert [body["model"] for body in sender.bodies] == ["other"]


@pytest.mark.parametrize("kept", [b"", b"\x00\x01\x02", "text", [0.5], None])
def test_a_kept_vector_that_is_none_is_asked_for_again(cache: Cache, kept: Any) -> None:
    cache.keep({key_of("embedding", MODELS.resolve("e").key, "a"): kept})
    cache.flush()
    sender = Sender(embedding_reply)
    assert list(embed(sender, ["a"], cache).vectors[0]) == numbers("a")
    assert len(sender.bodies) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "e: asked for 2 vectors, the server answered with null."),
        ([{"embedding": [1.0]}], "e: asked for 2 vectors, the server answered with 1 vectors."),
        ([{"embedding": [1.0]}] * 3, "e: asked for 2 vectors, the server answered with 3 vectors."),
        (
            [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}],
            "e: the server's vectors are not all of one length.",
        ),
        (
            [{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}],
            "e: the server's answer does not say which text a vector belongs to.",
        ),
        (
            [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
            "e: the server's answer does not say which text a vector belongs to.",
        ),
        ([[1.0], [1.0]], "e: the server's answer does not say which text a vector belongs to."),
        (
            [{"embedding": [1.0, math.nan]}, {"embedding": [1.0, 2.0]}],
            "e: the server's answer holds a vector that is none: a list of 2.",
        ),
        (
            [{"embedding": packed([math.inf])}, {"embedding": packed([1.0])}],
            'e: the server\'s answer holds a vector that is none: a string ("AACAfw==").',
        ),
        (
            [{"embedding": [1e300]}, {"embedding": [1.0]}],
            "e: the server's answer holds a vector that is none: a list of 1.",
        ),
        (
            [{"embedding": []}, {"embedding": []}],
            "e: the server's answer holds a vector that is none: a list of 0.",
        ),
        (
            [{"embedding": "no base64!"}, {"embedding": [1.0]}],
            'e: the server\'s answer holds a vector that is none: a string ("no base64!").',
        ),
        (
            [{"embedding": "AAAA"}, {"embedding": [1.0]}],
            'e: the server\'s answer holds a vector that is none: a string ("AAAA").',
        ),
        (
            [{"embedding": None}, {"embedding": [1.0]}],
            "e: the server's answer holds a vector that is none: null.",
        ),
        (
            [{"embedding": ["1", "2"]}, {"embedding": [1.0]}],
            "e: the server's answer holds a vector that is none: a list of 2.",
        ),
    ],
)
def test_an_answer_that_is_not_a_vector_for_each_text_is_refused_and_not_kept(
    cache: Cache, data: Any, message: str
) -> None:
    with pytest.raises(JudgeFailed) as error:
        embed(Sender(lambda body: {"data": data}), ["a", "bc"], cache)
    assert str(error.value) == message
    cache.flush()
    sender = Sender(embedding_reply)
    embed(sender, ["a", "bc"], cache)
    assert len(sender.bodies) == 1


def test_vectors_of_different_lengths_are_never_compared_not_even_known_with_new_ones(cache: Cache) -> None:
    embed(Sender(embedding_reply), ["a"], cache)
    cache.flush()
    with pytest.raises(JudgeFailed) as error:
        embed(Sender(lambda body: {"data": [{"embedding": [1.0, 2.0]}]}), ["a", "b"], cache)
    assert str(error.value) == (
        "e: the vectors are not all of one length. If the server has another model under this name now, ask for all "
        "of them again: FAIRMARK_JUDGE_CACHE=refresh."
    )


@pytest.mark.parametrize("failure", [JudgeFailed("e: dead"), Rejected("e: the server answered 404: none", 404, {})])
def test_no_other_model_is_asked_when_the_one_that_is_named_fails(failure: JudgeFailed) -> None:
    def fail(body: dict[str, Any]) -> dict[str, Any]:
        raise failure

    sender = Sender(fail)
    with pytest.raises(JudgeFailed) as error:
        embed(sender, ["a"])
    assert error.value is failure
    assert [body["model"] for body in sender.bodies] == ["e"]
    with pytest.raises(JudgeFailed, match='unknown model "nobody"'):
        embed(sender, ["a"], model="nobody")


def test_what_one_batch_brought_is_kept_and_counted_though_another_failed(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 1)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if body["input"] == ["b"]:
            raise JudgeFailed("e: the server answered 500")
        return embedding_reply(body)

    async def scenario() -> None:
        sender = Sender(answer, at_once=10)
        asking = asyncio.create_task(AskingJudge(MODELS, sender, cache).embed("e", ["b", "a", "c"], budget))
        await settle()
        sender.release(1)  # the one that fails, while the others are under way
        await settle()
        sender.release(2)
        with pytest.raises(JudgeFailed, match="answered 500"):
            await asking
        assert (budget.spent_tokens, budget.spent_dollars) == (2, 2e-6)

    budget = Budget()
    asyncio.run(scenario())
    cache.flush()
    sender = Sender(embedding_reply)
    embed(sender, ["a", "b", "c"], cache)
    assert [body["input"] for body in sender.bodies] == [["b"]]


def test_a_spent_budget_stops_before_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 2)
    sender = Sender(embedding_reply)
    budget = Budget(tokens=4)
    with pytest.raises(NotGraded, match="the budget of 4 tokens is spent"):
        embed(sender, [f"text {index}" for index in range(10)], budget=budget)
    assert (len(sender.bodies), budget.spent_tokens) == (2, 4)


def test_cosine_grades_by_the_vectors_and_shows_what_they_cost() -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        turned = {"right": [1.0, 0.0], "up": [0.0, 1.0], "between": [1.0, 1.0]}
        data = [{"embedding": turned[text]} for text in body["input"]]
        return {"data": data, "usage": {"prompt_tokens": 7, "total_tokens": 7}}

    grader = {
        "type": "text_similarity",
        "evaluation_metric": "cosine",
        "embedding_model": "e",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.answer }}",
    }
    rows = [{"item": {"answer": "right"}, "sample": sample} for sample in ("right", "up", "between")]
    sender = Sender(answer)
    results = fairmark.grade_many(grader, rows, judge=AskingJudge(MODELS, sender, Cache(Path(), "off", 0)))
    assert [result.reward for result in results] == [1.0, 0.0, pytest.approx(math.sqrt(0.5))]
    assert sum(result.cost or 0.0 for result in results) == pytest.approx(7e-6 * len(sender.bodies))
    (skipped,) = fairmark.grade_many(
        grader, rows[:1], judge=AskingJudge(MODELS, sender, Cache(Path(), "off", 0)), budget=Budget(tokens=0)
    )
    assert skipped.status == "skipped"
