"""The form of a kind, made from its spec: which fields there are, what each takes, and what people call it.

What a field takes is known from the spec. Its words, and the few widgets that no type can tell, stand in
`graders/wording.py`; a field that is not there, as in kinds of other packages, gets a plain control under its own name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from fairmark.graders import GROUPS, Kind, known
from fairmark.graders.formula import Formula
from fairmark.graders.judging import REASONING_EFFORTS
from fairmark.graders.wording import Widget, Words, words_for
from fairmark.text.handlebars import Handlebars
from fairmark.text.messages import Messages
from fairmark.text.template import Template


@dataclass(frozen=True, slots=True)
class FormField:
    """One control of a form."""

    path: str
    """Where its value stands in the grader's JSON: `sampling_params.temperature`."""
    widget: Widget
    label: str
    help: str = ""
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    default: str = ""
    """What holds where nothing is set, in words."""
    when: str = ""
    """`field=value`: it means something only where another field has this value."""
    is_rare: bool = False
    """Most graders do without it, so that it waits behind a button."""

    @property
    def id(self) -> str:
        return "f-" + self.path.replace(".", "-").replace("_", "-")


_SAMPLING = (
    FormField("sampling_params.temperature", "number", "Temperature", "0 to 2.", is_rare=True),
    FormField("sampling_params.top_p", "number", "Top p", "0 to 1.", is_rare=True),
    FormField("sampling_params.max_completions_tokens", "whole", "Most tokens", "Of the judge's answer.", is_rare=True),
    FormField("sampling_params.seed", "whole", "Seed", is_rare=True),
    FormField(
        "sampling_params.reasoning_effort",
        "choice",
        "Reasoning effort",
        choices=tuple((effort, effort) for effort in REASONING_EFFORTS),
        default="as the model has it",
        is_rare=True,
    ),
)
# Said elsewhere on the page, or without meaning for the kind.
_LEFT_OUT = frozenset(
    {"type", "name", "description"}
    | {f"{kind}.pass_threshold" for kind in ("string_check", "custom", "regex", "numeric", "math_equal")}
)
# In the order in which people think of them; what is not here keeps the spec's order, after these.
_ORDER = (
    "criteria", "url", "headers", "source", "input", "operation", "evaluation_metric", "embedding_model", "pattern",
    "match", "reference", "tolerance", "relative_tolerance", "take",
    "labels", "passing_labels", "range", "graders", "calculate_output", "model", "examples", "pass_threshold",
)  # fmt: skip


def title(kind: str) -> str:
    """What people call a kind, as far as it has told; else its own name."""
    known_kind = known(kind)
    return (known_kind.title if known_kind is not None else "") or kind


def groups(kinds: Mapping[str, Kind]) -> list[tuple[str, str, list[tuple[str, Kind]]]]:
    """All kinds as the page offers them: heading, what they have in common, name and kind of each."""
    offered = [
        (heading, words, [(name, kind) for name, kind in kinds.items() if kind.group == heading])
        for heading, words in GROUPS.items()
    ]
    elsewhere = [(name, kind) for name, kind in kinds.items() if kind.group not in GROUPS]
    return [*offered, *([("From other packages", "Installed on this server.", elsewhere)] if elsewhere else [])]


def fields(name: str, kind: Kind) -> list[FormField]:
    """The form of a kind, the fields that nearly every grader sets first."""
    all_fields = [
        field
        for path, info in kind.spec.model_fields.items()
        if path not in _LEFT_OUT and f"{name}.{path}" not in _LEFT_OUT
        for field in _fields(name, path, info)
    ]
    order = {path: index for index, path in enumerate(_ORDER)}
    return sorted(all_fields, key=lambda field: (field.is_rare, order.get(field.path, len(order))))


def _fields(kind: str, path: str, info: FieldInfo) -> Iterator[FormField]:
    if path == "sampling_params":
        yield from _SAMPLING
        return
    words = words_for(kind, path) or Words(_label(path), info.description or "")
    widget, values = _widget(info.annotation)
    if words.widget is not None:
        widget = words.widget
    named = words.choices or {}
    yield FormField(
        path,
        widget,
        words.label,
        words.help,
        info.is_required(),
        tuple((value, named.get(value, value)) for value in values),
        _default(info),
        words.when,
        words.is_rare,
    )


def _label(path: str) -> str:
    return path.replace("_", " ").capitalize()


def _widget(annotation: Any) -> tuple[Widget, tuple[str, ...]]:
    """The control for a type, and what there is to choose from. What no control fits is written as JSON."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    origin = get_origin(annotation)
    if origin is Literal:
        return ("choice", tuple(parts)) if all(isinstance(part, str) for part in parts) else ("json", ())
    if origin is Annotated or (type(None) in get_args(annotation) and len(parts) == 1):  # one that may be null
        return _widget(parts[0])
    if isinstance(annotation, type):
        plain: list[tuple[type, Widget]] = [
            (Template, "template"), (Handlebars, "handlebars"), (Formula, "formula"), (Messages, "messages"),
            (bool, "check"), (int, "whole"), (float, "number"), (str, "text"),
        ]  # fmt: skip
        for wanted, widget in plain:
            if issubclass(annotation, wanted):
                return widget, ()
    match origin, parts:
        case _, [first, second] if origin is tuple and first is second is float:
            return "range", ()
        case _, [first, *_] if isinstance(origin, type) and issubclass(origin, Sequence) and first is str:
            return "lines", ()
        case _, [first, second] if isinstance(origin, type) and issubclass(origin, Mapping) and first is second is str:
            return "pairs", ()
        case _:
            return "json", ()


def _default(info: FieldInfo) -> str:
    """In words; nothing where nothing is what holds."""
    if info.is_required() or info.default in (None, (), {}, ""):
        return ""
    if isinstance(info.default, bool):
        return "on" if info.default else "off"
    if isinstance(info.default, tuple):
        return " to ".join(f"{bound:g}" for bound in info.default)
    return f"{info.default:g}" if isinstance(info.default, float) else str(info.default)


_SAMPLE, _ANSWER = "{{ sample.output_text }}", "{{ item.answer }}"
_STARTS: dict[str, dict[str, Any]] = {
    "string_check": {"input": _SAMPLE, "operation": "eq", "reference": _ANSWER},
    "text_similarity": {
        "input": _SAMPLE, "evaluation_metric": "fuzzy_match", "reference": _ANSWER, "pass_threshold": 0.8,
    },
    "regex": {"input": _SAMPLE, "pattern": r"\d+", "match": "search"},
    "numeric": {"input": _SAMPLE, "reference": _ANSWER},
    "math_equal": {"input": _SAMPLE, "reference": _ANSWER},
    "json_match": {"input": _SAMPLE, "reference": "{{ item.expected }}"},
    "tool_calls": {"reference": "{{ item.calls }}"},
    "score_model": {
        "input": [
            {"role": "system", "content": "You grade answers. Score from 0 (wrong) to 1 (right)."},
            {
                "role": "user",
                "content": f"Question: {{{{ item.question }}}}\nExpected: {_ANSWER}\nAnswer: {_SAMPLE}",
            },
        ],
        "range": [0, 1],
        "pass_threshold": 0.5,
    },
    "label_model": {
        "input": [{"role": "user", "content": f"Is this answer polite, neutral or rude?\n\n{_SAMPLE}"}],
        "labels": ["polite", "neutral", "rude"],
        "passing_labels": ["polite", "neutral"],
    },
    "binary_judge": {"criteria": ""},
    "preference": {
        "criteria": "Answers the question, correctly and in plain words.",
        "question": "{{ item.question }}",
        "a": _SAMPLE,
        "b": "{{ item.baseline }}",
    },
    "python": {
        "source": (
            "def grade(sample, item):\n"
            '    """The reward: 1.0 where the answer is right, else 0.0."""\n'
            '    return 1.0 if sample["output_text"].strip() == item["answer"] else 0.0\n'
        )
    },
    "function": {
        "source": (
            "from adaptive_harmony import StringThread\n\n\n"
            "async def grade(thread: StringThread) -> float:\n"
            '    completion = thread.completion() or ""\n'
            '    expected = thread.metadata.get("expected", "")\n'
            "    return 1.0 if completion.strip() == expected.strip() else 0.0\n"
        )
    },
    "code_tests": {"input": _SAMPLE, "tests": "{{ item.tests }}"},
    "endpoint": {"url": ""},
    "cascade": {
        "graders": [
            {"type": "string_check", "name": "exact", "input": _SAMPLE, "operation": "eq", "reference": _ANSWER},
            {
                "type": "text_similarity", "name": "similar", "input": _SAMPLE, "evaluation_metric": "fuzzy_match",
                "reference": _ANSWER, "pass_threshold": 0.8,
            },
        ],
        "unsure": [0, 0.5],
    },
    "multi": {
        "graders": {
            "exact": {"type": "string_check", "input": _SAMPLE, "operation": "eq", "reference": _ANSWER},
            "similar": {
                "type": "text_similarity", "input": _SAMPLE, "evaluation_metric": "fuzzy_match", "reference": _ANSWER,
            },
        },
        "calculate_output": "0.5 * exact + 0.5 * similar",
    },
}  # fmt: skip
_EMPTY: dict[Widget, Any] = {"check": False, "lines": [], "messages": [], "examples": [], "pairs": {}, "json": {}}


def start(name: str, kind: Kind, models: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON of a new grader: as much of it as can be told beforehand."""
    grader: dict[str, Any] = {"type": name, **_STARTS.get(name, {})}
    for field in fields(name, kind):
        if field.path == "model":
            grader["model"] = next(iter(models), "")
        elif field.required and field.path not in grader and field.widget not in ("number", "whole", "range"):
            grader[field.path] = field.choices[0][0] if field.choices else _EMPTY.get(field.widget, "")
    return grader


_DOCUMENTS = {
    "messages": [
        {"role": "document", "content": "Tim Berners-Lee created the first website."},
        {"role": "document", "content": "The Eiffel Tower is in Paris."},
        {"role": "user", "content": "Who published the first website?"},
    ]
}
_REPLY = "Tim Berners-Lee published the first website in August 1990."
_PAYLOADS: dict[str, tuple[dict[str, Any], str]] = {
    "function": ({"messages": [{"role": "user", "content": "What is 2+2?"}], "metadata": {"expected": "4"}}, "4"),
    "binary_judge": ({"question": "What is the capital of France?"}, "Paris."),
    "preference": ({"question": "What is the capital of France?", "baseline": "Lyon."}, "Paris."),
    "regex": ({"question": "How many legs has a spider?"}, "It has 8."),
    "numeric": ({"question": "What is 1,200 plus 34.5?", "answer": "1234.5"}, "It is 1,234.5."),
    "math_equal": ({"question": "What is half of the root of 8?", "answer": r"\sqrt{2}"}, r"\boxed{\frac{\sqrt8}{2}}"),
    "json_match": ({"expected": {"city": "Paris", "people": 2103000}}, '{"city": "Paris", "people": 2100000}'),
    "code_tests": (
        {"question": "Write add(a, b).", "tests": "assert add(1, 2) == 3\nassert add(-1, 1) == 0"},
        "```python\ndef add(a, b):\n    return a + b\n```",
    ),
    "tool_calls": ({"calls": [{"name": "search", "arguments": {"q": "Paris"}}]}, ""),
    **dict.fromkeys(("faithfulness", "context_relevancy", "answer_relevancy"), (_DOCUMENTS, _REPLY)),
}


def payload(kind: str) -> tuple[dict[str, Any], str]:
    """An item and a sample that fit what a new grader of this kind looks at."""
    return _PAYLOADS.get(kind, ({"question": "What is the capital of France?", "answer": "Paris"}, "Paris"))


def value_at(grader: Mapping[str, Any], path: str) -> Any:
    """What a grader's JSON has at a field's place; None where nothing is set."""
    value: Any = grader
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
