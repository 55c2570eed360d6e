"""promptfoo's config: prompts, providers, tests. An eval with criteria, a file of rows, and runs ready to be started.

An eval's criteria hold for all of its rows, and promptfoo's tests have assertions each of their own. So tests with the
same kinds of assertions make one eval, and what their assertions compare with stands in the rows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.files import drafts, nunjucks
from fairmark.moving.files.assertions import Expected, Leaf, leaf
from fairmark.moving.files.notes import FileReport, Kind, NotConverted
from fairmark.moving.files.promptfoo_tests import Assertion, PromptfooTest, spell_out
from fairmark.moving.files.writing import Maker
from fairmark.moving.files.yamltext import decode

FORMAT = "promptfoo config"
MOST_GROUPS = 1000
_INLINE_CHARS = 20_000
"""What is longer stands in the rows, and not in the grader."""
NO_GRADERS = "no assertion of it can be converted into a grader that runs."
NO_MODEL = "choose-a-model"
_WORST: tuple[Kind, ...] = ("exact", "differs", "draft")


def is_config(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    has_tests = any(key in value for key in ("tests", "scenarios", "defaultTest", "redteam"))
    return ("prompts" in value or "providers" in value or "targets" in value) and (has_tests or "prompts" in value)


class Combined(NamedTuple):
    """One criterion: a grader, or several with a formula over their scores."""

    name: str
    leaves: tuple[Leaf, ...]
    places: tuple[str, ...]
    formula: str | None = None
    threshold: float | None = None

    @property
    def shape(self) -> str:
        return jsontext.write([self.name, [leaf.shape for leaf in self.leaves], self.formula, self.threshold])


class _Row(NamedTuple):
    test: PromptfooTest
    criteria: tuple[Combined, ...]
    lost: int
    """How many assertions were not converted: a row may pass here that would not have passed there."""


def convert(config: Mapping[str, Any], maker: Maker, name: str) -> None:
    report = maker.report
    if "redteam" in config:
        report.note("refused", "redteam", "attacks are made up by promptfoo while it runs: there are no rows of them.")
        if not any(config.get(key) for key in ("tests", "scenarios")):
            raise InvalidData(_nothing(report))
    groups: dict[tuple[str, ...], list[_Row]] = {}
    for test in spell_out(config, report):
        criteria = tuple(_criteria(test, report))
        lost = _count(test.assertions) - sum(len(criterion.leaves) for criterion in criteria)
        groups.setdefault(tuple(criterion.shape for criterion in criteria), []).append(_Row(test, criteria, lost))
    if not groups:
        raise InvalidData(_nothing(report))
    if len(groups) > MOST_GROUPS:
        raise InvalidData(
            f"its tests have {len(groups):,} different sets of assertions. At most {MOST_GROUPS} are taken."
        )
    _tell_weights(config, report)
    prompts = list(_prompts(config.get("prompts"), report))
    models = list(_models(config, report))
    for number, rows in enumerate(groups.values()):
        _write(maker, name if len(groups) == 1 else f"{name} {number + 1}", number, rows, prompts, models)


def _nothing(report: FileReport) -> str:
    refused = report.of_kind("refused")
    return f"none of its tests can be converted; the first: {refused[0]}" if refused else "there are no tests in it"


def _tell_weights(config: Mapping[str, Any], report: FileReport) -> None:
    if '"weight":' in jsontext.encode(config).decode("utf-8", "replace"):
        text = (
            "weights count where there is a threshold. Without one, here as there, a test passes when all of it passes."
        )
        report.note("told", "weight", text)


def _criteria(test: PromptfooTest, report: FileReport) -> Iterator[Combined]:
    """What can be converted of a test's assertions; the rest is told."""
    if test.threshold is not None:
        combined = _weighted(test.place, "score", test.assertions, test.threshold, test, report)
        if combined is not None:
            yield combined
        return
    for assertion in test.assertions:
        if assertion.given.get("type") != "assert-set":
            yield from _alone(assertion, test, report)
            continue
        threshold = assertion.given.get("threshold")
        if isinstance(threshold, (int, float)) and not isinstance(threshold, bool):
            name = assertion.given.get("metric")
            inner = tuple(_inside(assertion))
            named = name if isinstance(name, str) and name else "assert-set"
            combined = _weighted(assertion.place, named, inner, threshold, test, report)
            if combined is not None:
                yield combined
        else:
            for inner_one in _inside(assertion):
                yield from _alone(inner_one, test, report)


def _count(assertions: Sequence[Assertion]) -> int:
    return sum(
        _count(tuple(_inside(assertion))) if assertion.given.get("type") == "assert-set" else 1
        for assertion in assertions
    )


def _inside(assertion: Assertion) -> Iterator[Assertion]:
    listed = assertion.given.get("assert")
    for index, inner in enumerate(listed if isinstance(listed, list) else []):
        yield Assertion(f"{assertion.place}.assert[{index}]", inner if isinstance(inner, dict) else {})


def _alone(assertion: Assertion, test: PromptfooTest, report: FileReport) -> Iterator[Combined]:
    try:
        one = _leaf(assertion, test)
    except NotConverted as error:
        report.note("refused", assertion.place, str(error))
        return
    name = one.make(_NOTHING)["name"]
    if assertion.given.get("weight") == 0:  # it is measured, and cannot fail
        yield Combined(name, (one,), (assertion.place,), "g1", 0.0)
    else:
        yield Combined(name, (one,), (assertion.place,))


_NOTHING = Expected("", "None")


def _leaf(assertion: Assertion, test: PromptfooTest) -> Leaf:
    judge = _judge(assertion.given.get("provider") or test.judge)
    return leaf(assertion.given, test.values, judge)


def _judge(provider: Any) -> str:
    name = provider.get("id") if isinstance(provider, dict) else provider
    if isinstance(name, dict):
        name = name.get("id")
    return model_of(name) if isinstance(name, str) else drafts.NO_JUDGE


def _weighted(
    place: str, name: str, assertions: Sequence[Assertion], threshold: float, test: PromptfooTest, report: FileReport
) -> Combined | None:
    """Assertions whose weighted mean has to reach a threshold: all or none, since a mean of some is another."""
    leaves: list[Leaf] = []
    places: list[str] = []
    try:
        formula = _mean(assertions, test, leaves, places)
    except NotConverted as error:
        report.note("refused", place, f"its threshold is over a mean of which a part cannot be converted: {error}")
        return None
    return Combined(name, tuple(leaves), tuple(places), formula, threshold) if leaves else None


def _mean(assertions: Sequence[Assertion], test: PromptfooTest, leaves: list[Leaf], places: list[str]) -> str:
    terms: list[str] = []
    total = 0.0
    for assertion in assertions:
        weight = assertion.given.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or weight < 0:
            raise NotConverted(f"{assertion.place}: weight: found {jsontext.describe(weight)}. It takes 0 or more.")
        total += weight
        if assertion.given.get("type") == "assert-set":
            terms.append(f"{weight} * {_mean(tuple(_inside(assertion)), test, leaves, places)}")
            continue
        try:
            leaves.append(_leaf(assertion, test))
        except NotConverted as error:
            raise NotConverted(f"{assertion.place}: {error}") from None
        places.append(assertion.place)
        terms.append(f"{weight} * g{len(leaves)}")
    return f"(({' + '.join(terms)}) / {total})" if total else f"(0 * ({' + '.join(terms) or '0'}))"


def _write(
    maker: Maker, name: str, number: int, rows: list[_Row], prompts: list[list[dict[str, str]]], models: list[str]
) -> None:
    """An eval of the rows that share their criteria; drafts are an eval of their own: one with a draft cannot run."""
    fields = list(dict.fromkeys(field for row in rows for field in row.test.values))
    extra: dict[str, tuple[int, int]] = {}
    graders = [_grader(rows, position, fields, extra) for position in range(len(rows[0].criteria))]
    for criterion, grader in zip(rows[0].criteria, graders, strict=True):
        _tell(maker.report, criterion, grader, len(rows))

    def lines() -> Iterator[dict[str, Any]]:
        for row in rows:
            own = {field: row.criteria[position].leaves[at].value for field, (position, at) in extra.items()}
            yield {"item": {**row.test.values, **own}}

    key = f"group {number}"
    file_id = maker.add_rows(key, f"{_slug(name)}.jsonl", lines())
    ready = [grader for grader in graders if grader.get("runnable") is not False]
    undecided = [grader for grader in graders if grader.get("runnable") is False]
    lost = sum(row.lost for row in rows)
    metadata = {"rows": file_id, **({"assertions_not_converted": str(lost)} if lost else {})}
    if undecided:
        maker.add_eval(f"{key} drafts", f"{name}, drafts", undecided, [*fields, *extra], metadata)
    if not ready:
        maker.report.note("told", rows[0].test.place, f"{NO_GRADERS} The rows are in {file_id}.")
        return
    eval_ = maker.add_eval(key, name, ready, [*fields, *extra], metadata)
    for prompt in prompts:
        for model in models or [NO_MODEL]:
            source = {"type": "file_id", "id": file_id}
            messages = {"type": "template", "template": prompt}
            body = {"type": "completions", "source": source, "model": model, "input_messages": messages}
            maker.report.starts.append((eval_["id"], {"name": model, "data_source": body}))


def _grader(
    rows: list[_Row], position: int, fields: Sequence[str], extra: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    criterion = rows[0].criteria[position]
    made: list[dict[str, Any]] = []
    for at, one in enumerate(criterion.leaves):
        leaves = [row.criteria[position].leaves[at] for row in rows]
        made.append(one.make(_expected(leaves, position, at, fields, extra)))
    if criterion.formula is None:
        return made[0]
    keys = [f"g{at}" for at in range(1, len(made) + 1)]
    multi = {
        "type": "multi",
        "name": criterion.name,
        "graders": dict(zip(keys, made, strict=True)),
        "calculate_output": criterion.formula,
        "pass_threshold": criterion.threshold,
    }
    draft = next((grader["reason"] for grader in made if grader.get("runnable") is False), None)
    return {**multi, **drafts.refused_until_accepted(draft)} if draft else multi


def _expected(
    leaves: list[Leaf], position: int, at: int, fields: Sequence[str], extra: dict[str, tuple[int, int]]
) -> Expected:
    """What all rows compare with, in the grader itself; or the field of the rows that holds what each compares with."""
    value, written = leaves[0].value, leaves[0].written
    if written is not None and all(other.written == written for other in leaves):
        return Expected(written, "None")
    text = value if isinstance(value, str) else ""
    is_short = len(jsontext.write(value)) <= _INLINE_CHARS and "{{" not in text
    if is_short and all(other.value == value for other in leaves):
        return Expected(text, repr(value))
    field = _free("expected", {*fields, *extra})
    extra[field] = (position, at)
    return Expected(f"{{{{item.{field}}}}}", f"item[{field!r}]")


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free


def _tell(report: FileReport, criterion: Combined, grader: Mapping[str, Any], count: int) -> None:
    kind: Kind = max((leaf.kind for leaf in criterion.leaves), key=_WORST.index, default="exact")
    into = " and ".join(dict.fromkeys(leaf.into for leaf in criterion.leaves))
    how = f"a multi grader of {into}" if criterion.formula is not None else into
    times = f", in {count:,} rows" if count > 1 else ""
    report.note(kind, criterion.places[0], f"{grader['name']} → {how}{times}")


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:80] or "rows"


_PATH = re.compile(r"[^\s{}]+\.(?:txt|json|jsonl|ya?ml|md|j2|csv|js|mjs|cjs|ts|py|rb|sh|exe|bat)(?::\w+)?")


def _prompts(given: Any, report: FileReport) -> Iterator[list[dict[str, str]]]:
    """Each as the messages of a run."""
    for index, prompt in enumerate(given if isinstance(given, list) else [given] if given else []):
        place = f"prompts[{index}]"
        text = prompt.get("raw", prompt.get("id")) if isinstance(prompt, dict) else prompt
        if not isinstance(text, str):
            report.note("refused", place, f"found {jsontext.describe(prompt)}. It takes a text.")
        elif text.startswith(("file://", "exec:", "package:")) or _PATH.fullmatch(text):
            report.note("refused", place, f"{jsontext.quote(text)} stands in another file, which is not read.")
        else:
            try:
                yield _messages(text)
            except nunjucks.NotATemplate as error:
                report.note("refused", place, f"{error}: write the messages of the run yourself.")


def _messages(text: str) -> list[dict[str, str]]:
    """A chat, where the prompt is one in JSON or YAML; otherwise one message."""
    chat: Any = None
    if text.lstrip().startswith(("[", "- role")):
        try:
            chat = decode("prompt", text.encode("utf-8", "surrogatepass"))
        except InvalidData:
            chat = None
    is_chat = (
        isinstance(chat, list)
        and chat
        and all(
            isinstance(message, dict)
            and isinstance(message.get("role"), str)
            and isinstance(message.get("content"), str)
            for message in chat
        )
    )
    messages = chat if is_chat else [{"role": "user", "content": text}]
    return [{"role": message["role"], "content": nunjucks.to_template(message["content"])} for message in messages]


def model_of(provider: str) -> str:
    """`openai:chat:gpt-5` is the model gpt-5; of others the whole stays, for an alias to name."""
    first, *rest = provider.split(":")
    if first in ("openai", "azure", "azureopenai") and rest:
        return (
            ":".join(rest[1:]) if rest[0] in ("chat", "responses", "completion") and len(rest) > 1 else ":".join(rest)
        )
    return provider


def _models(config: Mapping[str, Any], report: FileReport) -> Iterator[str]:
    providers = config.get("providers", config.get("targets"))
    for index, provider in enumerate(providers if isinstance(providers, list) else [providers] if providers else []):
        place = f"providers[{index}]"
        named = provider.get("id") if isinstance(provider, dict) else provider
        if isinstance(provider, dict) and named is None and len(provider) == 1:
            named = next(iter(provider))
        if not isinstance(named, str) or named.startswith(
            ("file://", "exec:", "python:", "http", "webhook", "package:")
        ):
            report.note("refused", place, f"found {jsontext.describe(named)}. Name a model when you start a run.")
            continue
        if isinstance(provider, dict) and (provider.get("config") or provider.get("transform")):
            report.note(
                "told", place, f"{named}: its config is not taken over. Set sampling_params when you start a run."
            )
        yield model_of(named)
