"""Whether a grader is fit to be a reward, on rows with answers, before a run is paid for.

What it gives, whether it tells answers to one prompt apart, what fails, what a step takes and costs, whether it says
the same twice, and how easily it is gamed: by nothing at all, by length, by a copied reference, by keywords.
"""

import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidData
from fairmark.judges.base import Budget, Judge
from fairmark.judges.repeating import Repeating
from fairmark.readiness import models
from fairmark.result import Result
from fairmark.row import Sample, UnmadeSample, read_sample
from fairmark.run import context, grade_many
from fairmark.spec import GraderSpec
from fairmark.text.template import Variable
from fairmark.trainers.needs import complete, needed
from fairmark.trainers.reward import BATCH_DEADLINE_S
from fairmark.trainers.rivals import FIELD, grouped, most_rivals, refuse_one_by_one, with_rivals
from fairmark.trainers.sampled import Answers
from fairmark.trainers.signal import Signal
from fairmark.trainers.telling import reasons_of
from fairmark.trainers.warming import open_sandbox

Row = Mapping[str, Any]

MASKED = "left out"
COUNTED = "counted as 0"
TRAINERS = {
    "trl": MASKED, "verl": MASKED, "verifiers": MASKED, "nemo": MASKED, "slime": MASKED, "areal": MASKED, "art": MASKED,
    "fireworks": MASKED, "openrlhf": COUNTED, "swift": COUNTED, "skyrl": COUNTED, "rllm": COUNTED,
    "llama-factory": COUNTED, "aws": COUNTED,
}  # fmt: skip
"""What each trainer makes of a row that could not be graded."""
HAND_GROUPS = ("trl", "swift", "slime", "verifiers")
"""Who hands over the answers to a prompt together."""
MOST_FAILED = {MASKED: 0.05, COUNTED: 0.01}
MOST_FLAT = 0.5
MOST_DIFFERENT = 0.0
PROBED_ROWS = 64
NO_ANSWER = "there is no answer: the row has no sample."
MARGIN = 0.05
"""So much of the range a trick may gain before it is told."""
REFERENCES = (
    "reference_answer", "reference", "answer", "ground_truth", "expected", "expected_output", "expected_answer",
    "solution", "target", "label",
)  # fmt: skip
"""Where items have the right answer; the likeliest first."""


@dataclass(frozen=True)
class RewardFinding:
    """One question about a reward. `ok` is None where it could not be answered."""

    question: str
    ok: bool | None
    words: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        return {"question": self.question, "ok": self.ok, "words": self.words, **self.figures}


def check_reward(
    spec: GraderSpec,
    rows: Sequence[Row],
    trainer: str | None = None,
    batch: int = 256,
    reference: str | None = None,
    judge: Judge | None = None,
) -> list[RewardFinding]:
    """What there is to say of the grader as a reward. Each row is graded twice, and some of them four times more.

    The second time judges are asked anew: what comes from the cache is the same, at once and for nothing, and would say
    neither whether they agree with themselves nor what a step takes and costs.
    """
    there = ", ".join(map(str, rows[0].get("item") or {})) or "nothing"
    if not any(map(_is_answered, rows)):
        raise InvalidData(
            "no row has a sample. A reward is checked on answers: rows have them under `sample`, or --sample names a "
            f"model that is asked for some. The item of the first row has: {there}."
        )
    if reference is not None and all(reference_of(row, reference) is None for row in rows):
        found = f"no item has a text or a number in {jsontext.quote(reference)}"
        raise InvalidData(f"--reference: {found}. The item of the first row has: {there}.")
    if trainer is not None and trainer not in HAND_GROUPS:
        refuse_one_by_one(spec)
    open_sandbox(spec)
    needs = needed(spec)
    asked = compared(spec, [_as_trained(row, needs) for row in rows])
    results = grade_many(spec, asked, deadline_s=BATCH_DEADLINE_S, judge=judge)
    anew = _asked_anew(judge) if any(models(spec)) else None
    start = perf_counter()
    again = grade_many(spec, asked, judge=anew, deadline_s=BATCH_DEADLINE_S)
    seconds = perf_counter() - start
    rewards = [result.reward_or(None) for result in results]
    return [
        *doubts(spec),
        distribution([reward for reward in rewards if reward is not None]),
        groups(rows, rewards),
        failures(results, trainer),
        step(again, seconds, batch),
        sameness(rewards, [result.reward_or(None) for result in again]),
        *gaming(spec, asked, results, reference, judge),
    ]


def _is_answered(row: Row) -> bool:
    sample = _sample(row)
    return sample is None or bool(sample.text or sample.members.get("output_tools"))


def _as_trained(row: Row, needs: Sequence[Variable]) -> Row:
    """The row as adapters make it: what lacks an answer, or what it is compared with, cannot be graded, and must not
    look like a bad answer."""
    sample = _sample(row)
    if sample is not None and sample.is_absent:
        return {**row, "sample": UnmadeSample(NO_ANSWER)}
    return complete(dict(row), needs) if isinstance(row.get("item"), dict) else row


def _sample(row: Row) -> Sample | None:
    """None of what cannot be read: whoever grades it says why."""
    try:
        return read_sample(row.get("sample"))
    except GradingFailed:
        return None


def _asked_anew(judge: Judge | None) -> Judge:
    """The judge, or the configured one, whose answers do not come from the cache, however often this is asked for."""
    return Repeating(judge or context(budget=Budget()).judge, random.SystemRandom().randrange(1, 1_000_000))


def compared(spec: GraderSpec, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows; where the grader compares the answers to a prompt, each with those that it meets."""
    most = most_rivals(spec)
    return with_rivals(rows, grouped(row.get("item") for row in rows), most) if most else rows


def answered(answers: Answers, model: str) -> RewardFinding:
    """How the answers came about, where a model was asked for them."""
    share = answers.failed.total() / answers.asked
    words = f"{len(answers.rows)} by {model}"
    words += f" for {answers.dollars:.3g} dollars" if answers.dollars is not None else ""
    if answers.failed:
        words += f"; {answers.failed.total()} of {answers.asked} did not come. {answers.failed.most_common(1)[0][0]}"
    figures = {"asked": answers.asked, "share": share, "reasons": dict(answers.failed), "dollars": answers.dollars}
    return RewardFinding("answers", share <= MOST_FAILED[MASKED], words, figures)


def doubts(spec: GraderSpec) -> list[RewardFinding]:
    """What may not be meant as it is written, told where there is any. A misspelt field is not; a part that only logs
    may well be."""
    warnings = list(spec.all_warnings)
    ok = False if spec.misspelt else None
    return [RewardFinding("grader", ok, " ".join(warnings), {"warnings": warnings})] if warnings else []


def distribution(rewards: Sequence[float]) -> RewardFinding:
    if not rewards:
        return RewardFinding("rewards", False, "no row was graded")
    low, high = min(rewards), max(rewards)
    quarters = statistics.quantiles(rewards, n=4, method="inclusive") if len(rewards) > 1 else [low] * 3
    figures = {
        "mean": statistics.fmean(rewards), "min": low, "quartiles": quarters, "max": high,
        "distinct": len(set(rewards)), "at_min": rewards.count(low) / len(rewards),
        "at_max": rewards.count(high) / len(rewards),
    }  # fmt: skip
    between = ", ".join(f"{value:.3g}" for value in quarters)
    words = f"mean {figures['mean']:.3g}, from {low:.3g} over {between} to {high:.3g}; {figures['distinct']} different"
    return RewardFinding("rewards", low != high, words if low != high else f"every row got {low:.3g}", figures)


def groups(rows: Sequence[Row], rewards: Sequence[float | None]) -> RewardFinding:
    """Rows with the same item are answers to one prompt."""
    by_item: dict[bytes, list[float | None]] = {}
    for row, reward in zip(rows, rewards, strict=True):
        by_item.setdefault(jsontext.encode(row.get("item")), []).append(reward)
    signal = Signal("")
    for group in by_item.values():
        signal.add(group)
    if not signal.groups:
        return RewardFinding(
            "signal", None, "no item has several answers: bring some, to see whether they are told apart"
        )
    words = f"in {signal.flat} of {signal.groups} groups all answers got the same reward ({signal.flat_share:.0%})"
    return RewardFinding(
        "signal", signal.flat_share <= MOST_FLAT, words, {"groups": signal.groups, "flat": signal.flat}
    )


def failures(results: Sequence[Result], trainer: str | None) -> RewardFinding:
    becomes = TRAINERS[trainer] if trainer is not None else COUNTED
    reasons = reasons_of(results)
    share = reasons.total() / len(results)
    words = f"{reasons.total()} of {len(results)} rows were not graded ({share:.1%})"
    if reasons:
        by = f"{trainer}: " if trainer is not None else "at worst "
        words += f"; {by}{becomes}. {reasons.most_common(1)[0][0]}"
    return RewardFinding("failures", share <= MOST_FAILED[becomes], words, {"share": share, "reasons": dict(reasons)})


def step(results: Sequence[Result], seconds: float, batch: int) -> RewardFinding:
    """For a step of so many rows, at the pace of these."""
    a_step = seconds / len(results) * batch
    costs = [result.cost for result in results if result.cost is not None]
    dollars = sum(costs) / len(results) * batch if costs else None
    words = f"{a_step:.3g} s for {batch} rows" + (f", {dollars:.3g} dollars" if dollars is not None else "")
    ok = a_step <= BATCH_DEADLINE_S
    more = "" if ok else f", more than the {BATCH_DEADLINE_S:g} s that a call may take"
    return RewardFinding("step", ok, words + more, {"seconds": a_step, "dollars": dollars, "batch": batch})


def sameness(first: Sequence[float | None], second: Sequence[float | None]) -> RewardFinding:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not both:
        return RewardFinding("sameness", None, "no row was graded twice")
    different = sum(a != b for a, b in both)
    most = max(abs(a - b) for a, b in both)
    words = f"{different} of {len(both)} rows got another reward the second time"
    words += f", by up to {most:.3g}" if different else ""
    return RewardFinding(
        "sameness", different <= MOST_DIFFERENT * len(both), words, {"different": different, "most": most}
    )


def gaming(
    spec: GraderSpec,
    rows: Sequence[Row],
    results: Sequence[Result],
    reference: str | None = None,
    judge: Judge | None = None,
) -> list[RewardFinding]:
    """What tricks get on average, against the real answers to the same items."""
    chosen = [(row, result.reward) for row, result in zip(rows, results, strict=True) if result.ok][:PROBED_ROWS]
    if not chosen:
        return []
    rewards = [reward for _, reward in chosen]
    margin = MARGIN * ((max(rewards) - min(rewards)) or 1.0)
    told = []
    for name, trick in tricks(reference).items():
        tried = [(row, reward, sample) for row, reward in chosen if (sample := trick(row)) is not None]
        if not tried:
            told.append(
                RewardFinding(
                    f"gaming: {name}", None, "no item has a reference under a known name: --reference names it"
                )
            )
            continue
        real = statistics.fmean(reward for _, reward, _ in tried)
        faked = [{"item": row.get("item"), "sample": sample} for row, _, sample in tried]
        graded = grade_many(spec, faked, deadline_s=BATCH_DEADLINE_S, judge=judge)
        reasons = reasons_of(graded)
        if reasons.total() > MOST_FAILED[MASKED] * len(graded):
            # Left out, or a 0 like any other: in neither case is it told apart from a bad answer.
            words = f"{reasons.total()} of {len(graded)} were not graded. {reasons.most_common(1)[0][0]}"
            told.append(RewardFinding(f"gaming: {name}", False, words, {"failed": reasons.total()}))
            continue
        mean = statistics.fmean(result.reward for result in graded if result.ok)
        if name == "copied reference":
            # The right answer, word by word: it must not be worth less than what models say.
            ok, against = mean >= real - margin, "at least"
        elif name == "long":
            ok, against = mean <= real + margin, "at most"
        else:
            ok, against = mean < real - margin or mean <= min(rewards) < max(rewards), "less than"
        if min(rewards) == max(rewards) == mean:
            told.append(RewardFinding(f"gaming: {name}", None, f"{mean:.3g}, as all answers: it tells none apart"))
            continue
        words = f"{mean:.3g} on average; the answers got {real:.3g}, and it should be {against} that"
        words += f"; {reasons.total()} were not graded" if reasons else ""
        figures = {"mean": mean, "answers": real, "failed": reasons.total()}
        told.append(RewardFinding(f"gaming: {name}", ok, words, figures))
    return told


def tricks(reference: str | None = None) -> dict[str, Any]:
    """Answers that are none, by name; None where a row does not tell enough to make one."""
    return {
        "empty": lambda row: "",
        "long": lambda row: " ".join([read_sample(row.get("sample")).text] * 10),
        "keywords": _keywords,
        "copied reference": lambda row: reference_of(row, reference),
    }


def _keywords(row: Row) -> str:
    """The words of the item, all of them, in no order."""
    item = {name: value for name, value in (row.get("item") or {}).items() if name != FIELD}
    words = list(dict.fromkeys(re.findall(r"\w{3,}", " ".join(_texts(item)))))
    random.Random(0).shuffle(words)
    return " ".join(words * 3)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for part in inner for text in _texts(part)]


def reference_of(row: Row, name: str | None) -> str | None:
    item = row.get("item")
    if not isinstance(item, Mapping):
        return None
    for field_name in (name,) if name is not None else REFERENCES:
        value = item.get(field_name)
        if isinstance(value, (str, int, float)):
            return str(value)
    return None
