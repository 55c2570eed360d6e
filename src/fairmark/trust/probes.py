"""What each probe asks again, and why it cannot where it cannot. What comes of it is measured in `measures`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fairmark.trust import changes
from fairmark.trust.asking import Ask
from fairmark.trust.sheet import FEW_ROWS, Sheet

REPEATS = (1, 2)
CUTS = (2 / 3, 1 / 3, 1 / 10)
CUT_CASES = ("two thirds", "one third", "one tenth")
_CUT_WORDS = 10
"""A reference that is shorter has no tenth."""


class NotApplicable(Exception):
    """Why a probe has nothing to ask."""


class Probe(NamedTuple):
    name: str
    finds: str
    asks: Callable[[Sheet], Iterator[Ask]]
    """Raises NotApplicable."""
    least_rows: int = 30
    remedy: str = ""
    is_free: bool = False
    """Whether it looks at answers that are there anyhow."""


def _base(sheet: Sheet) -> Iterator[Ask]:
    probed = set(sheet.probed)
    for row, labelled in enumerate(sheet.rows):
        if labelled.ratings or row in probed:
            yield sheet.ask("base", "", row)


def _repeat(sheet: Sheet) -> Iterator[Ask]:
    for repeat in REPEATS:
        for row in sheet.probed:
            yield sheet.ask("repeat", f"answer {repeat + 1}", row, repeat=repeat)


def _label_order(sheet: Sheet) -> Iterator[Ask]:
    if len(sheet.subject.labels) < 2:
        raise NotApplicable("the grader has no labels")
    if "labels" not in type(sheet.subject.spec).model_fields:
        raise NotApplicable("the order of the grader's labels is fixed")
    for row in sheet.probed:
        yield sheet.ask("label order", "reversed", row, variant="labels reversed")


def _pair_order(sheet: Sheet) -> Iterator[Ask]:
    if sheet.subject.pair_labels is None:
        raise NotApplicable("the grader does not compare two answers")
    for row in sheet.probed:
        item, _ = sheet.parts(row)
        exchanged = sheet.places.exchanged(item)
        if exchanged is not None:
            yield sheet.ask("pair order", "exchanged", row, item=exchanged)


def _needs_answers(sheet: Sheet) -> None:
    if sheet.subject.mode == "preference":
        raise NotApplicable("the grader compares two answers")
    if not any(sheet.texts[row] for row in sheet.probed):
        raise NotApplicable("the rows have no answer; --answer says where in the item it stands")


def _length(sheet: Sheet) -> Iterator[Ask]:
    _needs_answers(sheet)
    for row in sheet.probed:
        text = sheet.texts[row]
        if text:
            yield sheet.with_answer("length", "padded", row, changes.padded(text))


def _form_added(sheet: Sheet) -> Iterator[Ask]:
    yield from _form(sheet, "form added", changes.dressed)


def _form_removed(sheet: Sheet) -> Iterator[Ask]:
    asks = list(_form(sheet, "form removed", changes.bare))
    if not asks:
        raise NotApplicable("no answer has any markup")
    yield from asks


def _form(sheet: Sheet, probe: str, change: Callable[[str], str]) -> Iterator[Ask]:
    _needs_answers(sheet)
    for row in sheet.probed:
        text = sheet.texts[row]
        if text and change(text).split() != text.split():
            yield sheet.with_answer(probe, "", row, change(text))


def _injection(sheet: Sheet) -> Iterator[Ask]:
    _needs_answers(sheet)
    low = [row for row in sheet.low_rows() if sheet.texts[row]][:FEW_ROWS]
    for place, row in enumerate(low):
        position = changes.POSITIONS[place % len(changes.POSITIONS)]
        for case, text in changes.INJECTIONS.items():
            answer = changes.injected(
                sheet.texts[row] or "", text.replace("{verdict}", sheet.subject.best_verdict), position
            )
            yield sheet.with_answer("injection", case, row, answer)
            if sheet.subject.has_guard is False:
                yield sheet.with_answer("injection", f"{case}, guarded", row, answer, "guarded")
        # A noisy judge lifts bad answers by chance: how often, its plain repeats tell.
        for repeat in REPEATS:
            yield sheet.ask("injection", "repeat", row, repeat=repeat)


def _sanity(sheet: Sheet) -> Iterator[Ask]:
    _needs_answers(sheet)
    for row in sheet.spread(sheet.probed, FEW_ROWS):
        texts = {
            "empty": "",
            "noise": changes.NOISE,
            "refusal": changes.REFUSAL,
            "the question": sheet.places.question_of(sheet.rows[row].item),
            "another reference": changes.another(sheet.references, row) if sheet.references[row] else None,
            "the criteria": sheet.subject.criteria or None,
        }
        for case, text in texts.items():
            if text is not None:
                yield sheet.with_answer("sanity", case, row, text)


def _reference(sheet: Sheet) -> Iterator[Ask]:
    _needs_answers(sheet)
    with_one = [row for row in sheet.probed if sheet.references[row]]
    if not with_one:
        raise NotApplicable("the rows have no reference where one is looked for, such as item.reference")
    for row in sheet.spread(with_one, FEW_ROWS):
        yield sheet.with_answer("reference", "", row, sheet.references[row] or "")


def _cut(sheet: Sheet) -> Iterator[Ask]:
    _needs_answers(sheet)
    long = [row for row in sheet.probed if len((sheet.references[row] or "").split()) >= _CUT_WORDS]
    if not long:
        raise NotApplicable(f"the rows have no reference of {_CUT_WORDS} words or more")
    for row in sheet.spread(long, max(30, sheet.most_rows // 2)):
        for case, share in zip(CUT_CASES, CUTS, strict=True):
            yield sheet.with_answer("cut", case, row, changes.cut(sheet.references[row] or "", share))


def _nothing(sheet: Sheet) -> Iterator[Ask]:
    yield from ()


PROBES = {
    probe.name: probe
    for probe in (
        Probe("base", "agreement with people", _base, 0),
        Probe(
            "sanity", "blindness", _sanity, FEW_ROWS,
            "Say in the prompt what must fail: empty answers, refusals, the question repeated.",
        ),
        Probe(
            "injection", "obeying the text under judgement", _injection, FEW_ROWS,
            'Set "guard": true on the grader, and take a stronger judge.',
        ),
        Probe(
            "repeat", "noise", _repeat, 30,
            'Set temperature 0, or "n": 3 with "combine": "median".',
        ),
        Probe(
            "label order", "a preference for the place in the list", _label_order, 30,
            "Put what people choose least first, or ask for a score.",
        ),
        Probe(
            "pair order", "a preference for the first or the second answer", _pair_order, 30,
            "Ask in both orders and count what differs as a tie.",
        ),
        Probe(
            "length", "verbosity", _length, 30,
            "Say in the prompt that length is no merit, and give examples.",
        ),
        Probe("reference", "over-strictness", _reference, FEW_ROWS, "Make the rubric clearer: it fails the reference."),
        Probe("form added", "love of markup", _form_added, 30, "Say that form is no merit, or strip it before."),
        Probe("form removed", "love of markup", _form_removed, 30, "Say that form is no merit, or strip it before."),
        Probe("cut", "scores that rise as answers shrink", _cut, 30, "Ask for a finer scale and describe its steps."),
        Probe(
            "own family", "self-preference", _nothing, 30,
            "Take a judge of another family than the models under test.", is_free=True,
        ),
        Probe(
            "length, watched", "verbosity", _nothing, 30,
            "Say in the prompt that length is no merit, and give examples.", is_free=True,
        ),
    )
}  # fmt: skip
"""In the order of what they are worth: where there is not enough budget, the last are dropped first."""
