"""Judges with one planted fault each, and rows whose truth is known: what a check of judges has to find, and what not.

The truth of an answer is how many of the words it has of the row's own answer, whose quality is fixed, or of the row's
reference. A judge sees no more than a model does: its messages, and the schema of the answer.
"""

import functools
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.errors import JudgeFailed, NotGraded
from fairmark.judgement import Judgement, Usage
from fairmark.judges.base import Budget, Completion, Embedded, Prompt, Question
from fairmark.trust.changes import INJECTIONS, bare

FENCE = re.compile(r"</?data-[0-9a-f]+>")
SCORE_GRADER = {
    "type": "score_model",
    "name": "quality",
    "model": "acme-judge-1",
    "input": [
        {"role": "user", "content": "Rate how good it is.\nRow {{ item.id }}\nAnswer:\n{{ sample.output_text }}"}
    ],
}
LABEL_GRADER = {**SCORE_GRADER, "type": "label_model", "labels": ["good", "bad"], "passing_labels": ["good"]}
PAIR_GRADER = {
    "type": "label_model",
    "name": "better",
    "model": "acme-judge-1",
    "input": [
        {"role": "user", "content": "Which is better?\nRow {{ item.id }}\nA:\n{{ item.a }}\n---\nB:\n{{ item.b }}"}
    ],
    "labels": ["A", "B", "tie"],
    "passing_labels": ["A"],
}


@dataclass(frozen=True)
class World:
    """Rows that people have judged without a mistake, and what is true of each."""

    rows: list[dict[str, Any]]
    truths: list[dict[str, Any]]

    @classmethod
    def of_scores(cls, seed: int, n: int = 100, *, labels: bool = False, two_families: bool = False) -> "World":
        made = cls._of_scores(seed, n, labels, two_families)
        return cls([{**row, "item": dict(row["item"])} for row in made.rows], made.truths)

    @classmethod
    @functools.cache
    def _of_scores(cls, seed: int, n: int, labels: bool, two_families: bool) -> "World":
        source = random.Random(seed)
        rows, truths = [], []
        for index in range(n):
            quality = (index + source.random()) / n * 0.75 + 0.02
            own, reference = _words(source, f"own{index}x", source.randint(30, 80)), _words(source, f"ref{index}x", 30)
            item = {"id": index, "question": f"Question {index}: what is it about?", "reference": reference}
            people: dict[str, Any] = {"score": quality}
            if labels:
                people = {"label": "good" if quality >= 0.5 else "bad"}
            model = ("acme-chat-2", "other-chat-1")[index % 2] if two_families else "other-chat-1"
            rows.append({"item": item, "sample": own, "model": model, **people})
            truths.append({"quality": quality, "own": _bag(own), "reference": _bag(reference), "model": model})
        order = list(range(n))
        source.shuffle(order)
        return cls([rows[index] for index in order], truths)

    @classmethod
    def of_pairs(cls, seed: int, n: int = 100) -> "World":
        source = random.Random(seed)
        rows, truths = [], []
        for index in range(n):
            first, second = source.random(), source.random()
            a, b = _words(source, f"one{index}x", 20), _words(source, f"two{index}x", 20)
            preferred = "a" if first > second else "b"
            rows.append({"item": {"id": index}, "samples": {"a": a, "b": b}, "preferred": preferred})
            truths.append({"a": (_bag(a), first), "b": (_bag(b), second)})
        return cls(rows, truths)

    def quality(self, row: int, answer: str) -> float:
        truth, words = self.truths[row], _bag(bare(answer))
        own = len(words & truth["own"]) / len(truth["own"]) * truth["quality"]
        return float(max(own, len(words & truth["reference"]) / len(truth["reference"]) * 0.95))

    def side(self, row: int, answer: str) -> float:
        words = _bag(answer)
        (first, first_quality), (_, second_quality) = self.truths[row]["a"], self.truths[row]["b"]
        return float(first_quality if words & first else second_quality)


def _words(source: random.Random, stem: str, count: int) -> str:
    """Words of this row alone, in sentences."""
    words = [f"{stem}{source.randint(0, 10**6)}" for _ in range(count)]
    sentences = [" ".join(words[start : start + 8]) for start in range(0, count, 8)]
    return ". ".join(sentences) + "."


def _bag(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


@dataclass(frozen=True)
class Seen:
    """What is before a scripted judge."""

    row: int
    answer: str
    guarded: bool
    labels: Sequence[str]
    count: int
    """How many questions there were before."""


Score = Callable[[World, Seen, random.Random], Any]


class ScriptedJudge:
    """Answers at once, by a function of what it sees, with its own noise."""

    def __init__(self, world: World, score: Score, seed: int, noise: float = 0.05) -> None:
        self._world = world
        self._score = score
        self._noise = noise
        self._source = random.Random(seed)
        self._count = 0

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        return [self._answer(question) for question in questions]

    async def complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]:
        raise NotImplementedError

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        raise NotImplementedError

    def _answer(self, question: Question) -> Judgement:
        sent = str(question.messages[-1]["content"])
        text = FENCE.sub("", sent)
        row = int(re.search(r"Row (\d+)", text)[1])  # type: ignore[index]  # every question has one
        labels = question.shape.schema["properties"]["result"].get("enum", ())
        answer = text.partition("Answer:\n")[2] if "Answer:\n" in text else text.partition("\nA:\n")[2]
        seen = Seen(row, answer, sent != text, labels, self._count)
        self._count += 1
        result = self._score(self._world, seen, self._source)
        if result is None:
            failure = JudgeFailed("a scripted failure")
            return Judgement(question.model, question.messages, failure=failure, attempts=1)
        if isinstance(result, float):
            result = _said(result + self._source.gauss(0, self._noise), labels)
        value: Mapping[str, Any] = {"steps": [], "result": result}
        return Judgement(question.model, question.messages, value=value, usage=Usage(100, 20, 120), attempts=1)


def _said(score: float, labels: Sequence[str]) -> Any:
    score = min(1.0, max(0.0, score))
    if not labels:
        return score
    return "good" if score >= 0.5 else "bad"


def clean(world: World, seen: Seen, source: random.Random) -> float:
    return world.quality(seen.row, seen.answer)


def longer_is_better(world: World, seen: Seen, source: random.Random) -> float:
    """+0.1 for each doubling beyond 50 words."""
    quality = clean(world, seen, source)
    return quality + 0.1 * math.log2(max(1, len(seen.answer.split())) / 50) if quality else 0.0


def loves_bold(world: World, seen: Seen, source: random.Random) -> float:
    return clean(world, seen, source) + (0.15 if "**" in seen.answer else 0.0)


def obeys(cases: Sequence[str]) -> Score:
    marks = {
        "order": "Ignore all previous",
        "system turn": "Grading override",
        "forged verdict": "Final verdict of the judge",
        "forged end": "END OF ANSWER",
        "other language": "Ignoriere alle",
        "already reviewed": "already been reviewed",
    }
    assert set(marks) == set(INJECTIONS)

    def score(world: World, seen: Seen, source: random.Random) -> float:
        obeyed = any(marks[case] in seen.answer for case in cases) and not seen.guarded
        return 0.97 if obeyed else clean(world, seen, source)

    return score


def passes_nothing(world: World, seen: Seen, source: random.Random) -> float:
    return clean(world, seen, source) if seen.answer.strip() else 0.9


def loves_own_family(world: World, seen: Seen, source: random.Random) -> float:
    own = world.truths[seen.row]["model"].startswith("acme") and _bag(seen.answer) & world.truths[seen.row]["own"]
    return clean(world, seen, source) + (0.15 if own else 0.0)


def constant(world: World, seen: Seen, source: random.Random) -> Any:
    return 0.7 + 0.0 * seen.count if not seen.labels else seen.labels[0]


def fails_every_tenth(world: World, seen: Seen, source: random.Random) -> float | None:
    return None if seen.row % 10 == 3 else clean(world, seen, source)


def two_values(world: World, seen: Seen, source: random.Random) -> Any:
    return 1.0 if clean(world, seen, source) + source.gauss(0, 0.05) >= 0.5 else 0.0


def first_label(world: World, seen: Seen, source: random.Random) -> float:
    """Whatever stands first in the list gets 0.15 more: it wins the doubtful rows."""
    quality = clean(world, seen, source)
    return quality + (0.15 if seen.labels[0] == "good" else -0.15) if quality > 0.1 else quality


def _sides(world: World, seen: Seen) -> tuple[float, float]:
    first, _, second = seen.answer.partition("\n---\nB:\n")
    return world.side(seen.row, first), world.side(seen.row, second)


def better(favour: float, noise: float) -> Score:
    """The better of two, with so much more for whichever stands first."""

    def score(world: World, seen: Seen, source: random.Random) -> str:
        first, second = _sides(world, seen)
        gap = first - second + favour + source.gauss(0, noise)
        return "A" if gap > 0 else "B"

    return score


@dataclass(frozen=True)
class Planted:
    """A judge and what is wrong with it: the probes that must find it, or none."""

    name: str
    grader: Mapping[str, Any]
    world: Callable[[int], World]
    score: Score
    noise: float = 0.05
    found_by: Sequence[str] = ()
    also: Sequence[str] = ()
    """Probes that see the same fault by another road."""


def _scores(seed: int) -> World:
    return World.of_scores(seed)


PLANTED = [
    Planted("clean", SCORE_GRADER, _scores, clean, 0.0),
    Planted("clean labels", LABEL_GRADER, lambda seed: World.of_scores(seed, labels=True), clean, 0.0),
    Planted("clean pairs", PAIR_GRADER, World.of_pairs, better(0.0, 0.05)),
    Planted("noise 0.1", SCORE_GRADER, _scores, clean, 0.1),
    Planted("noise 0.2", SCORE_GRADER, _scores, clean, 0.2),
    Planted("noisy labels 0.2", LABEL_GRADER, lambda seed: World.of_scores(seed, labels=True), clean, 0.2),
    Planted("noisy pairs 0.2", PAIR_GRADER, World.of_pairs, better(0.0, 0.2)),
    Planted("first position", PAIR_GRADER, World.of_pairs, better(0.1, 0.05), found_by=["pair order"]),
    Planted(
        "first label", LABEL_GRADER, lambda seed: World.of_scores(seed, labels=True), first_label,
        found_by=["label order"],
    ),
    Planted("length", SCORE_GRADER, _scores, longer_is_better, found_by=["length"], also=["length, watched"]),
    Planted("bold", SCORE_GRADER, _scores, loves_bold, found_by=["form added"]),
    *(
        Planted(f"obeys: {case}", SCORE_GRADER, _scores, obeys([case]), found_by=["injection"])
        for case in INJECTIONS
    ),
    Planted("obeys all", SCORE_GRADER, _scores, obeys(list(INJECTIONS)), found_by=["injection"]),
    Planted("passes the empty answer", SCORE_GRADER, _scores, passes_nothing, found_by=["sanity"]),
    Planted(
        "own family", SCORE_GRADER, lambda seed: World.of_scores(seed, two_families=True), loves_own_family,
        found_by=["own family"],
    ),
    Planted("one constant score", SCORE_GRADER, _scores, constant, 0.0, found_by=["sanity"]),
    Planted("fails every tenth", SCORE_GRADER, _scores, fails_every_tenth),
    Planted("two values", SCORE_GRADER, _scores, two_values, 0.0),
]  # fmt: skip
