"""promptfoo's tests, spelled out: scenarios, what is there by default, and lists of values as all combinations."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.files import nunjucks
from fairmark.moving.files.notes import FileReport

MOST_TESTS = 200_000


class Assertion(NamedTuple):
    place: str
    given: Mapping[str, Any]


class PromptfooTest(NamedTuple):
    place: str
    values: Mapping[str, Any]
    assertions: tuple[Assertion, ...]
    threshold: float | None
    judge: Any
    """The provider that is to judge, as it is written; None where nobody said."""


class Refused(ValueError):
    """A test that cannot be converted."""


def spell_out(config: Mapping[str, Any], report: FileReport) -> Iterator[PromptfooTest]:
    """Every test with its values, one for each combination. Those that cannot be converted are told and left out."""
    default = _default(config, report)
    count = 0
    for place, test in _tests(config, default, report):
        try:
            assertions, threshold, judge = _read(config, default, place, test)
            combinations = list(_combinations(place, default, test, MOST_TESTS - count))
        except Refused as error:
            report.note("refused", place, str(error))
            continue
        count += len(combinations)
        for values in combinations:
            yield PromptfooTest(place, values, assertions, threshold, judge)


def _default(config: Mapping[str, Any], report: FileReport) -> Mapping[str, Any]:
    default = config.get("defaultTest")
    if default is None:
        return {}
    if isinstance(default, str):
        raise InvalidData(
            f"defaultTest: {jsontext.quote(default)} stands in another file, which is not read: paste it in."
        )
    if wrong := _misshapen(_object("defaultTest", default)):
        raise InvalidData(f"defaultTest.{wrong}")
    return _object("defaultTest", default)


def _misshapen(test: Mapping[str, Any]) -> str | None:
    """What of a test is not what it has to be."""
    for key, kinds, wanted in (
        ("vars", (dict, str), "an object"),
        ("assert", (list,), "a list of assertions"),
        ("options", (dict,), "an object"),
    ):
        value = test.get(key)
        if value is not None and not isinstance(value, kinds):
            return f"{key}: found {jsontext.describe(value)}. It takes {wanted}."
    return None


def _object(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidData(f"{place}: found {jsontext.describe(value)}. It takes an object.")
    return value


def _tests(
    config: Mapping[str, Any], default: Mapping[str, Any], report: FileReport
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    tests, scenarios = config.get("tests"), config.get("scenarios")
    if isinstance(tests, str):
        report.note("refused", "tests", f"{jsontext.quote(tests)} stands in another file, which is not read.")
    elif tests is not None and not isinstance(tests, list):
        raise InvalidData(f"tests: found {jsontext.describe(tests)}. It takes a list of tests.")
    listed = tests if isinstance(tests, list) else []
    if not listed and not scenarios and not isinstance(tests, str):
        listed = [{}]  # promptfoo then runs the prompts as they are
    for index, test in enumerate(listed):
        yield from _one(f"tests[{index}]", test, report)
    for number, scenario in enumerate(scenarios if isinstance(scenarios, list) else []):
        yield from _scenario(f"scenarios[{number}]", scenario, report)


def _one(place: str, test: Any, report: FileReport) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(test, dict) and "path" not in test:
        if wrong := _misshapen(test):
            report.note("refused", place, wrong)
        else:
            yield place, test
    elif isinstance(test, (str, dict)):
        path = test if isinstance(test, str) else test["path"]
        report.note("refused", place, f"{jsontext.quote(str(path))} stands in another file, which is not read.")
    else:
        report.note("refused", place, f"found {jsontext.describe(test)}. It takes an object.")


def _scenario(place: str, scenario: Any, report: FileReport) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each of its configs with each of its tests; both may have values and assertions."""
    if not isinstance(scenario, dict) or not isinstance(scenario.get("config"), list):
        report.note("refused", place, "it takes an object with config, a list, and tests.")
        return
    tests = scenario.get("tests") or [{}]
    if not isinstance(tests, list):
        report.note("refused", f"{place}.tests", f"found {jsontext.describe(tests)}. It takes a list of tests.")
        return
    for (number, data), (index, test) in itertools.product(enumerate(scenario["config"]), enumerate(tests)):
        where = f"{place}.config[{number}] with tests[{index}]"
        if not isinstance(data, dict) or not isinstance(test, dict):
            report.note("refused", where, "it takes an object.")
            continue
        if wrong := _misshapen(data) or _misshapen(test):
            report.note("refused", where, wrong)
            continue
        both = {
            **data,
            **test,
            "vars": {**_vars(where, data), **_vars(where, test)},
            "assert": [*(data.get("assert") or []), *(test.get("assert") or [])],
            "options": {**(data.get("options") or {}), **(test.get("options") or {})},
        }
        yield where, both


def _vars(place: str, test: Mapping[str, Any]) -> Mapping[str, Any]:
    values = test.get("vars") or {}
    return values if isinstance(values, dict) else {}


def _read(
    config: Mapping[str, Any], default: Mapping[str, Any], place: str, test: Mapping[str, Any]
) -> tuple[tuple[Assertion, ...], float | None, Any]:
    """Its assertions, those by default first, its threshold and its judge. Raises Refused."""
    options = {**(default.get("options") or {}), **(test.get("options") or {})}
    for key in ("transform", "postprocess"):
        if options.get(key) is not None:
            raise Refused(f"options.{key} changes the answer before it is graded, by code of promptfoo's own.")
    if test.get("assertScoringFunction") or default.get("assertScoringFunction"):
        raise Refused("assertScoringFunction makes the score by code of promptfoo's own.")
    by_default = [] if options.get("disableDefaultAsserts") is True else default.get("assert") or []
    own = test.get("assert") or []
    if not isinstance(own, list) or not isinstance(by_default, list):
        raise Refused(f"assert: found {jsontext.describe(own)}. It takes a list of assertions.")
    assertions = [
        *_referenced(config, "defaultTest.assert", by_default),
        *_referenced(config, f"{place}.assert", own),
    ]
    threshold = test.get("threshold", default.get("threshold"))
    is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool) and math.isfinite(threshold)
    return tuple(assertions), threshold if is_number else None, options.get("provider")


def _referenced(config: Mapping[str, Any], place: str, listed: list[Any]) -> Iterator[Assertion]:
    """Assertions, with those that stand under assertionTemplates in place of their names."""
    templates = config.get("assertionTemplates")
    for index, assertion in enumerate(listed):
        where = f"{place}[{index}]"
        if not isinstance(assertion, dict):
            raise Refused(f"{where}: found {jsontext.describe(assertion)}. It takes an object with a type.")
        name = str(assertion.get("$ref", "")).removeprefix("#/assertionTemplates/")
        if "$ref" not in assertion:
            yield Assertion(where, assertion)
        elif isinstance(templates, dict) and isinstance(templates.get(name), dict):
            yield Assertion(where, templates[name])
        else:
            raise Refused(f"{where}: $ref: there is no {jsontext.quote(str(assertion['$ref']))} in this file.")


def _combinations(
    place: str, default: Mapping[str, Any], test: Mapping[str, Any], most: int
) -> Iterator[dict[str, Any]]:
    """A list of texts is one test for each of them; lists of anything else are values."""
    for owner in (default, test):
        if isinstance(owner.get("vars"), str):
            raise Refused(f"vars: {jsontext.quote(owner['vars'])} stands in another file, which is not read.")
    variables = {**_vars(place, default), **_vars(place, test)}
    options = {**(default.get("options") or {}), **(test.get("options") or {})}
    for name, value in variables.items():
        _check_value(name, value)
    expands = options.get("disableVarExpansion") is not True
    choices = [
        value if expands and isinstance(value, list) and value and isinstance(value[0], str) else [value]
        for value in variables.values()
    ]
    count = math.prod(len(choice) for choice in choices)
    if count > most:
        raise Refused(f"vars: {count:,} combinations. A file may stand for {MOST_TESTS:,} tests in all.")
    for combination in itertools.product(*choices):
        yield dict(zip(variables, combination, strict=True))


def _check_value(name: str, value: Any) -> None:
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            continue
        if text.startswith(("file://", "package:")):
            raise Refused(f"vars.{name}: {jsontext.quote(text)} stands in another file, which is not read.")
        if nunjucks.has_variables(text):
            raise Refused(f"vars.{name}: {jsontext.quote(text)} has a template in it, which promptfoo fills in first.")
