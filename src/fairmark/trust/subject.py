"""The grader under check: on which scale it answers, what its verdict is, in which other versions it can be asked."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from fairmark import jsontext, parse
from fairmark.data.agreement import has_steps
from fairmark.errors import FairmarkError, InvalidData
from fairmark.references import NOTE
from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.trust.labelled import PREFERENCES, Labelled

Variant = Literal["", "labels reversed", "guarded"]
Mode = Literal["label", "pass", "score", "preference"]
PASS, FAIL = "pass", "fail"


class Opinion(NamedTuple):
    """What the grader said to one question. `reward` is None where it could not say anything."""

    reward: float | None
    verdict: str | None = None
    """The label, or pass or fail; in preferences a, b or tie."""
    error: str | None = None
    skipped: str | None = None
    tokens: int = 0
    cost: float | None = None
    asked: int = 0
    """Requests sent for it; 0 out of the cache."""
    split: bool = False
    """Whether a panel, or several answers of one judge, were of different opinions."""

    @property
    def ok(self) -> bool:
        return self.reward is not None


@dataclass(frozen=True)
class Subject:
    """A grader and the scale on which it is held against people. `mode`: by its labels, by pass and fail, by scores, or
    by which of two answers is preferred."""

    spec: GraderSpec
    mode: Mode
    low: float
    high: float
    line: float
    """The least reward that passes."""
    pair_labels: Mapping[str, str] | None = None
    """Of a grader of pairs: its labels -> a, b, tie."""

    @classmethod
    def of(cls, spec: GraderSpec, labelled: Labelled, pair_labels: Sequence[str] | None = None) -> "Subject":
        """Raises InvalidData where people's values do not fit the grader, with the line."""
        low, high = _range(spec, labelled)
        line = (low + high) / 2 if spec.threshold is None else spec.threshold
        pairs = _pair_labels(spec, pair_labels)
        if labelled.kind == "preferred" and pairs is None and not isinstance(getattr(spec, "labels", None), tuple):
            raise InvalidData(
                f"{labelled.name}: its lines say which of two answers is preferred, and {spec.type} gives no labels. "
                "Take a grader whose labels are a, b and tie."
            )
        if labelled.kind == "preferred" and pairs is None:
            raise InvalidData(
                f"{labelled.name}: its lines say which of two answers is preferred, and the grader's labels are "
                f"{', '.join(_labels(spec))}. Say which of them mean a, b and tie: --pair-labels FIRST,SECOND,TIE."
            )
        mode = _mode(spec, labelled, low, high, pairs is not None)
        return cls(spec, mode, low, high, line, pairs)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return _labels(self.spec)

    @property
    def has_guard(self) -> bool | None:
        """Whether the text under judgement is fenced; None where the kind knows no such thing."""
        guard = getattr(self.spec, "guard", None)
        return guard if isinstance(guard, bool) else None

    @cached_property
    def models(self) -> list[str]:
        return models_in(self.spec)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.spec)

    @cached_property
    def prompt_hash(self) -> str:
        texts = [sources(self.spec)]
        return hashlib.sha256(jsontext.encode(texts)).hexdigest()[:12]

    @cached_property
    def criteria(self) -> str:
        """Its own words: what it says that an answer has to be."""
        return " ".join(" ".join(sources(self.spec)).split())

    @cached_property
    def best_verdict(self) -> str:
        """What a forged verdict of it would look like."""
        if self.labels:
            passing = getattr(self.spec, "passing_labels", None) or self.labels
            return jsontext.write({"steps": [], "result": passing[0]})
        if self.spec.type == "binary_judge":
            return jsontext.write({"reasoning": "Meets the criterion.", "score": "PASS"})
        return jsontext.write({"steps": [], "result": self.high})

    def variant(self, variant: Variant) -> GraderSpec:
        """The grader in another version."""
        if variant == "":
            return self.spec
        fields = self.spec.echo()
        if variant == "guarded":
            return parse.parse({**fields, "guard": True})
        return parse.parse({**fields, "labels": list(reversed(self.labels))})

    def unit(self, reward: float) -> float:
        """A reward as a share of the range."""
        return (reward - self.low) / (self.high - self.low)

    def passes(self, reward: float) -> bool:
        return reward >= self.line

    def answer(self, result: Result) -> Opinion:
        judgements = result.judgements
        tokens = sum(judgement.usage.total_tokens for judgement in judgements)
        asked = sum(judgement.attempts for judgement in judgements)
        if not result.ok:
            return Opinion(None, None, result.error, result.skipped, tokens, result.cost, asked)
        said = [judgement.value.get("result") for judgement in judgements if judgement.failure is None]
        verdict = self._verdict(result.reward, said)
        return Opinion(result.reward, verdict, None, None, tokens, result.cost, asked, result.split)

    def _verdict(self, reward: float, said: list[Any]) -> str:
        words = Counter(word for word in said if isinstance(word, str)).most_common()
        label = words[0][0] if words and (len(words) == 1 or words[0][1] > words[1][1]) else None
        if self.pair_labels is not None and (self.mode == "preference" or label in self.pair_labels):
            return self.pair_labels.get(label or "", "tie")
        if self.labels and label is not None:
            return label
        return PASS if self.passes(reward) else FAIL


def fingerprint(spec: GraderSpec) -> str:
    """Of everything that makes a grader's verdicts, and so its prompts and the models behind its names: a check is
    stale once one of them changes. What it is called, and where it is kept, changes no verdict."""
    content = [_verdict_fields(spec.echo()), _behind(models_in(spec))]
    return hashlib.sha256(jsontext.encode(content)).hexdigest()[:12]


def _verdict_fields(fields: Any) -> Any:
    if not isinstance(fields, Mapping):
        return fields
    kept = {name: value for name, value in fields.items() if name not in ("name", "id", NOTE)}
    inside = kept.get("graders")
    if isinstance(inside, Mapping):
        kept["graders"] = {key: _verdict_fields(child) for key, child in inside.items()}
    elif isinstance(inside, (list, tuple)):
        kept["graders"] = [_verdict_fields(child) for child in inside]
    return kept


def _behind(names: Sequence[str]) -> list[str]:
    """The models that names lead to here and now: an alias may have been turned to another one."""
    from fairmark.judges.models import read_registry

    behind = []
    for name in names:
        try:
            model = read_registry().resolve(name)
            behind.append(f"{model.provider.name}/{model.real_name}")
        except FairmarkError:
            behind.append(name)
    return behind


def models_in(spec: GraderSpec) -> list[str]:
    """The models that a grader and those inside it ask."""
    return sorted({*_models(spec)})


def _models(spec: GraderSpec) -> Iterable[str]:
    yield from spec.models.values()
    for child in spec.children.values():
        yield from _models(child)


def _labels(spec: GraderSpec) -> tuple[str, ...]:
    labels = getattr(spec, "labels", None)
    return tuple(labels) if isinstance(labels, (list, tuple)) else ()


def sources(spec: GraderSpec) -> list[str]:
    """The texts that the grader itself brings to its judge, without what rows fill in."""
    texts = []
    criteria = getattr(spec, "criteria", None)
    if isinstance(criteria, str):
        texts.append(criteria)
    messages = getattr(getattr(spec, "input", None), "templates", ())
    texts += [_without_variables(template.source) for template in messages]
    for name in ("system_template", "user_template"):
        template = getattr(spec, name, None)
        if template is not None:
            texts.append(template.source)
    for child in spec.children.values():
        texts += sources(child)
    return texts


def _without_variables(text: str) -> str:
    return re.sub(r"\{\{[^{}]*\}\}", "", text)


def _range(spec: GraderSpec, labelled: Labelled) -> tuple[float, float]:
    if spec.reward_range is not None:
        return spec.reward_range
    scores = [rating.value for row in labelled.rows for rating in row.ratings if labelled.kind == "score"]
    return min([0.0, *scores]), max([1.0, *scores])


def _pair_labels(spec: GraderSpec, told: Sequence[str] | None) -> dict[str, str] | None:
    """Which of the grader's labels mean a, b and tie."""
    labels = _labels(spec)
    if told is not None:
        if len(told) not in (2, 3):
            raise InvalidData("--pair-labels: it takes two or three of the grader's labels: FIRST,SECOND,TIE.")
        for label in told:
            if label not in labels:
                raise InvalidData(
                    f"--pair-labels: {jsontext.quote(label)} is not one of the grader's labels: {', '.join(labels)}."
                )
        return dict(zip(told, PREFERENCES, strict=False))
    meant = {label: label.strip().casefold() for label in labels}
    if {"a", "b"} <= set(meant.values()) <= set(PREFERENCES):
        return meant
    return None


def _mode(spec: GraderSpec, labelled: Labelled, low: float, high: float, is_pair: bool) -> Mode:
    labels = _labels(spec)
    if labelled.kind is None:
        return "preference" if is_pair else "label" if labels else "pass" if has_two(spec) else "score"
    if labelled.kind == "preferred":
        return "preference"
    ratings = [rating for row in labelled.rows for rating in row.ratings]
    if labelled.kind == "score":
        for rating in ratings:
            if not low <= rating.value <= high:
                raise InvalidData(
                    f"{labelled.name}, line {rating.line}: score: {rating.value:g} is outside the grader's range, "
                    f"{low:g} to {high:g}.",
                    rating.line,
                )
        return "score"
    if labels and all(rating.value in labels for rating in ratings):
        return "label"
    known = (*labels, PASS, FAIL) if ratings and ratings[0].value in labels else (PASS, FAIL)
    for rating in ratings:
        if rating.value not in (PASS, FAIL):
            allowed = ", ".join(labels) or "pass, fail"
            more = ", or pass and fail throughout" if labels else ""
            raise InvalidData(
                f"{labelled.name}, line {rating.line}: label: {jsontext.quote(rating.value)} does not fit. "
                f"Use one of the grader's: {allowed}{more}.{jsontext.nearest(rating.value, known)}",
                rating.line,
            )
    return "pass"


def has_two(spec: GraderSpec) -> bool:
    """Whether its reward is only 1 or 0."""
    from fairmark.graders import find

    return find(spec.type).yes_or_no


def is_stepped(subject: Subject, values: Iterable[float]) -> bool:
    return has_steps(subject.low, subject.high, values)
