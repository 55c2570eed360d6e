"""promptfoo's assertions as graders: which of ours each one is, and whether it says the same."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.files import drafts, generated, nunjucks, schemas, yamltext
from fairmark.moving.files.javascript import NotTheSame, pattern_of, text_of
from fairmark.moving.files.notes import Kind, NotConverted

OUTPUT = "{{sample.output_text}}"
_CHECKS = {"equals": "eq", "not-equals": "ne", "contains": "like", "icontains": "ilike"}
_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_TEXTS = ("contains", "icontains", "starts-with", "levenshtein", "regex")
_SIMILAR = {
    "rouge-n": ("rouge_1", 0.75),
    "bleu": ("bleu", 0.5),
    "gleu": ("gleu", 0.5),
    "meteor": ("meteor", 0.5),
    "similar": ("cosine", 0.75),
    "similar:cosine": ("cosine", 0.75),
}
_WHY_NOT = {
    "javascript": "it is code in JavaScript",
    "python": "it is code with promptfoo's own arguments: write it as def grade(sample, item)",
    "ruby": "it is code in Ruby",
    "webhook": "it asks a server of its own: an endpoint grader could",
    "latency": "rows do not say how long an answer took",
    "cost": "rows do not say what an answer cost",
    "perplexity": "rows have no log probabilities",
    "select-best": "it compares several answers with one another",
    "max-score": "it compares several answers with one another",
}


class Expected(NamedTuple):
    """What an answer is compared with, as graders write it."""

    template: str
    code: str


class Leaf(NamedTuple):
    """One assertion as a grader, but for what it compares with: tests that differ in nothing else share a grader."""

    shape: str
    kind: Kind
    into: str
    """What it becomes, in words."""
    value: Any
    """What it compares with in this test, filled in; None where there is nothing to compare with."""
    written: str | None
    """The value with its variables, where the grader could fill them in itself."""
    make: Callable[[Expected], dict[str, Any]]


def leaf(assertion: Mapping[str, Any], values: Mapping[str, Any], judge: str) -> Leaf:
    """Raises NotConverted."""
    kind = assertion.get("type")
    if not isinstance(kind, str):
        raise NotConverted(f"type: found {jsontext.describe(kind)}. It takes the name of an assertion.")
    for key in ("transform", "contextTransform", "rubricPrompt", "config"):
        if assertion.get(key) is not None:
            raise NotConverted(f"{kind}: its {key} has no twin")
    inverse = kind.startswith("not-")
    base = kind.removeprefix("not-")
    name = _name(assertion, kind)
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith(("file://", "package:")):
        raise NotConverted(f"{kind}: value: {jsontext.quote(value)} stands in another file, which is not read")
    if base in _SIMILAR:
        return _similarity(assertion, name, base, inverse, values)
    if base in drafts.KINDS:
        return _draft(assertion, name, base, inverse, values, judge)
    if base == "is-json":
        return _is_json(name, value, inverse)
    if base == "equals" and (isinstance(value, (dict, list)) or ("value" in assertion and value is None)):
        return _compared(name, "equals", inverse, value)
    if base in _LISTS:
        return _compared(name, base, inverse, _parts(kind, value, values))
    if base in _TEXTS or base == "equals":
        return _text_check(assertion, name, base, inverse, values)
    why = _WHY_NOT.get(base) or (
        "it is an attack of promptfoo's" if "redteam" in base else "Fairmark has no twin of it"
    )
    raise NotConverted(f"{kind}: {why}")


def _name(assertion: Mapping[str, Any], given: str) -> str:
    metric = assertion.get("metric")
    return metric if isinstance(metric, str) and metric and not nunjucks.has_variables(metric) else given


def _filled(given: str, value: str, values: Mapping[str, Any]) -> str:
    try:
        return nunjucks.render(value, values)
    except nunjucks.NotATemplate as error:
        raise NotConverted(f"{given}: value: {error}") from None


def _written(value: Any, values: Mapping[str, Any]) -> str | None:
    """The value as a template of ours, where both would fill in the same."""
    if not isinstance(value, str) or not nunjucks.has_variables(value):
        return None
    if all(nunjucks.fills_alike(variable, values) for variable in nunjucks.variables(value)):
        return nunjucks.to_template(value)
    return None


def _text(given: str, assertion: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    value = assertion.get("value")
    text = _filled(given, value, values) if isinstance(value, str) else text_of(value)
    if text is None or (text == "" and not given.endswith(("equals", "levenshtein"))):
        raise NotConverted(f"{given}: value: found {jsontext.describe(value)}. It takes a text.")
    return text


def _text_check(assertion: Mapping[str, Any], name: str, base: str, inverse: bool, values: Mapping[str, Any]) -> Leaf:
    kind = f"not-{base}" if inverse else base
    text = _text(kind, assertion, values)
    if operation := _CHECKS.get(kind):

        def check(expected: Expected) -> dict[str, Any]:
            return {
                "type": "string_check",
                "name": name,
                "input": OUTPUT,
                "reference": expected.template,
                "operation": operation,
            }

        shape = jsontext.write([name, kind])
        return Leaf(shape, "exact", f"string_check {operation}", text, _written(assertion.get("value"), values), check)
    if base == "regex":
        try:
            return _compared(name, base, inverse, pattern_of(text))
        except NotTheSame as error:
            raise NotConverted(f"{kind}: {jsontext.quote(text)}: {error}") from None
    if base == "levenshtein":
        return _compared(name, base, inverse, text, most=math.floor(_threshold(assertion, 5)))
    return _compared(name, base, inverse, text)


def _compared(name: str, rule: str, inverse: bool, value: Any, **numbers: int) -> Leaf:
    def make(expected: Expected) -> dict[str, Any]:
        return generated.grader(name, rule, expected.code, inverse, **numbers)

    return Leaf(jsontext.write([name, rule, inverse, numbers]), "exact", "a python grader", value, None, make)


def _threshold(assertion: Mapping[str, Any], otherwise: float) -> float:
    threshold = assertion.get("threshold")
    if threshold is None:
        return otherwise
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
        raise NotConverted(f"{assertion['type']}: threshold: found {jsontext.describe(threshold)}. It takes a number.")
    return threshold


def _parts(given: str, value: Any, values: Mapping[str, Any]) -> list[str]:
    """Of a list, or of a text with commas between."""
    if isinstance(value, str) and value:
        return _separated(given, _filled(given, value, values))
    if not isinstance(value, list):
        raise NotConverted(f"{given}: value: found {jsontext.describe(value)}. It takes a list of texts.")
    parts: list[str] = []
    for part in value:
        if isinstance(part, str) and part.startswith("file://"):
            raise NotConverted(f"{given}: value: {jsontext.quote(part)} stands in another file, which is not read")
        text = _filled(given, part, values) if isinstance(part, str) else text_of(part)
        if text is None:
            raise NotConverted(f"{given}: value: found {jsontext.describe(part)} in the list. It takes texts.")
        parts.append(text)
    return parts


def _separated(given: str, text: str) -> list[str]:
    """`a, "b, c"`: quotes hold a comma, and a quote when doubled or behind a backslash."""
    parts: list[str] = []
    rest = text.strip(", \t\r\n")
    while rest:
        if rest[0] != '"':
            part, _, rest = rest.partition(",")
            parts.append(part.strip())
        else:
            end, part = 1, ""
            while end < len(rest) and (rest[end] != '"' or rest[end + 1 : end + 2] == '"'):
                if rest[end] == '"' or (rest[end] == "\\" and rest[end + 1 : end + 2] in ('"', "\\")):
                    end += 1
                part += rest[end]
                end += 1
            after = rest[end + 1 :].lstrip()
            if end >= len(rest) or (after and after[0] != ","):
                raise NotConverted(f"{given}: value: the quotes in {jsontext.quote(text)} do not match")
            parts.append(part)
            rest = after
        rest = rest.lstrip(", \t\r\n")
    return parts


def _is_json(name: str, value: Any, inverse: bool) -> Leaf:
    if not value:

        def make(expected: Expected) -> dict[str, Any]:
            return generated.grader(name, "is-json", None, inverse)

        return Leaf(jsontext.write([name, "is-json", inverse]), "exact", "a python grader", None, None, make)
    schema = value
    if isinstance(value, str):
        try:
            schema = yamltext.decode("is-json: value", value.encode("utf-8", "surrogatepass"))
        except InvalidData as error:
            raise NotConverted(str(error)) from None
    if odd := next(schemas.strange(schema), None):
        raise NotConverted(f"is-json: value: {odd} is not judged alike by the two validators")
    return _compared(name, "is-json with a schema", inverse, schema)


def _similarity(assertion: Mapping[str, Any], name: str, base: str, inverse: bool, values: Mapping[str, Any]) -> Leaf:
    kind = str(assertion["type"])
    if inverse:
        raise NotConverted(f"{kind}: there is no grader that wants texts to differ")
    if isinstance(assertion.get("value"), list):
        raise NotConverted(f"{kind}: value: found a list. A text_similarity grader compares with one text.")
    metric, usual = _SIMILAR[base]
    threshold = _threshold(assertion, usual)
    text = _text(kind, assertion, values)

    def make(expected: Expected) -> dict[str, Any]:
        return {
            "type": "text_similarity",
            "name": name,
            "input": OUTPUT,
            "reference": expected.template,
            "evaluation_metric": metric,
            "pass_threshold": threshold,
        }

    into = (
        f"text_similarity {metric} with the threshold {threshold}: numbers will differ, the implementation is another"
    )
    shape = jsontext.write([name, base, threshold])
    return Leaf(shape, "differs", into, text, _written(assertion.get("value"), values), make)


def _draft(
    assertion: Mapping[str, Any], name: str, base: str, inverse: bool, values: Mapping[str, Any], judge: str
) -> Leaf:
    kind = str(assertion["type"])
    if inverse:
        raise NotConverted(f"{kind}: a judge that wants the opposite has no twin: write the rubric the other way round")
    value = assertion.get("value")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(f"- {part}" for part in value)
    text = _text(kind, {**assertion, "value": value}, values)
    threshold = _threshold(assertion, 0.7 if base == "g-eval" else 0.5)

    def make(expected: Expected) -> dict[str, Any]:
        return drafts.score_model(name, base, expected.template, threshold, judge)

    into = f"score_model draft, judge {judge}"
    shape = jsontext.write([name, base, threshold, judge])
    return Leaf(shape, "draft", into, text, _written(value, values), make)
