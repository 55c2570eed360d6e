"""The form of a kind, made from its spec: which fields there are, what each takes, and what people call it.

What a field takes is known from the spec. Its words, and the few widgets that no type can tell, stand in one table
here; a field that is not in it, as in kinds of other packages, gets a plain control under its own name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from fairmark.graders import GROUPS, Kind, known
from fairmark.graders.formula import FUNCTIONS, Formula
from fairmark.graders.judging import REASONING_EFFORTS
from fairmark.text.handlebars import Handlebars
from fairmark.text.messages import Messages
from fairmark.text.template import Template

Widget = Literal[
    "text", "paragraph", "template", "handlebars", "formula", "python", "json",
    "number", "whole", "range", "choice", "check", "lines", "pairs", "messages", "examples",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
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


@dataclass(frozen=True, slots=True)
class _Words:
    label: str
    help: str = ""
    widget: Widget | None = None
    choices: Mapping[str, str] | None = None
    when: str = ""
    is_rare: bool = False


_INPUT = "The text under test. {{ sample.output_text }} is what the model answered."
_REFERENCE = "What it is compared with. {{ item.answer }} is the field answer of the row."
_HANDLEBARS = "Handlebars. Without it the judge gets a prompt of ours. {{completion}} is the reply."
# By field, or by kind and field where a kind says it otherwise.
_WORDS: dict[str, _Words] = {
    "input": _Words("Input", _INPUT),
    "reference": _Words("Reference", _REFERENCE),
    "operation": _Words(
        "Operation",
        choices={"eq": "equals", "ne": "does not equal", "like": "contains", "ilike": "contains, whatever the case"},
    ),
    "evaluation_metric": _Words(
        "Metric",
        "How alike the two texts are, from 0 to 1.",
        choices={
            "fuzzy_match": "Fuzzy match (letters)",
            "bleu": "BLEU",
            "gleu": "GLEU",
            "meteor": "METEOR",
            "cosine": "Cosine of embeddings",
            **{f"rouge_{n}": f"ROUGE-{n}" for n in (1, 2, 3, 4, 5)},
            "rouge_l": "ROUGE-L",
        },
    ),
    "embedding_model": _Words("Embedding model", "Which model makes the vectors.", when="evaluation_metric=cosine"),
    "pass_threshold": _Words("Pass threshold", "The least reward that passes."),
    "model": _Words("Judge model", "A model that this server knows, by its name or an alias."),
    "score_model.input": _Words(
        "Prompt", "What the judge is asked about each row. {{ item.… }} and {{ sample.… }} are filled in."
    ),
    "label_model.input": _Words(
        "Prompt", "What the judge is asked about each row. {{ item.… }} and {{ sample.… }} are filled in."
    ),
    "range": _Words("Range", "The lowest and the highest score. A number outside is taken as the nearest inside."),
    "labels": _Words("Labels", "What the judge may choose from, one on each line."),
    "passing_labels": _Words("Passing labels", "Which of them earn the reward 1, one on each line."),
    "criteria": _Words(
        "Criterion",
        "What makes a reply pass, in plain words. One thing that can be seen in the reply judges best.",
        widget="paragraph",
    ),
    "examples": _Words(
        "Examples",
        "Replies that pass and replies that fail, with the reason. A few of each make a judge more reliable.",
        widget="examples",
    ),
    "system_template": _Words("System prompt", _HANDLEBARS, is_rare=True),
    "user_template": _Words("User prompt", _HANDLEBARS, is_rare=True),
    "template_variables": _Words("Template variables", "More variables for your own prompts.", is_rare=True),
    "guard": _Words(
        "Guard against injection",
        "Puts a fence around what a row brings in, and tells the judge not to follow instructions in it.",
        is_rare=True,
    ),
    "n": _Words("Questions per judge", "How many times each judge is asked about a row, 1 to 100.", is_rare=True),
    "panel": _Words("More judges", "Models that are asked as well, one on each line.", is_rare=True),
    "combine": _Words("Combine by", "How several answers become one reward.", is_rare=True),
    "source": _Words("Source", widget="python"),
    "python.source": _Words(
        "Source", "def grade(sample, item) returns the reward. It runs in the sandbox, without a network.", "python"
    ),
    "function.source": _Words(
        "Source",
        "async def grade(thread) returns the reward. It runs in the sandbox, with the standard library alone.",
        "python",
    ),
    "image_tag": _Words("Image tag", "Kept for OpenAI's sake: the sandbox has one set of packages.", is_rare=True),
    "url": _Words("Address", "Where the reward server is, such as https://rewards.example.com:8100."),
    "headers": _Words(
        "Headers", "A secret is written ${FAIRMARK_SECRET_NAME}; the server's environment has its value."
    ),
    "timeout_s": _Words("Timeout", "Seconds for one request.", is_rare=True),
    "batch_size": _Words("Batch size", "How many rows go into one request, 1 to 256.", is_rare=True),
    "graders": _Words(
        "Graders",
        'Each under a key, which is its name in the formula. {"type": "registered", "key": "…"} uses one of this list.',
    ),
    "calculate_output": _Words(
        "Formula",
        f"The reward, out of the graders' rewards by their keys. It knows + - * / ^ ( ) and {', '.join(FUNCTIONS)}.",
    ),
}
_SAMPLING = (
    Field("sampling_params.temperature", "number", "Temperature", "0 to 2.", is_rare=True),
    Field("sampling_params.top_p", "number", "Top p", "0 to 1.", is_rare=True),
    Field("sampling_params.max_completions_tokens", "whole", "Most tokens", "Of the judge's answer.", is_rare=True),
    Field("sampling_params.seed", "whole", "Seed", is_rare=True),
    Field(
        "sampling_params.reasoning_effort",
        "choice",
        "Reasoning effort",
        choices=tuple((each, each) for each in REASONING_EFFORTS),
        default="as the model has it",
        is_rare=True,
    ),
)
# Said elsewhere on the page, or without meaning for the kind.
_LEFT_OUT = frozenset({"type", "name", "description", "string_check.pass_threshold", "custom.pass_threshold"})
# In the order in which people think of them; what is not here keeps the spec's order, after these.
_ORDER = (
    "criteria", "url", "headers", "source", "input", "operation", "evaluation_metric", "embedding_model", "reference",
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


def fields(name: str, kind: Kind) -> list[Field]:
    """The form of a kind, the fields that nearly every grader sets first."""
    found = [
        field
        for path, info in kind.spec.model_fields.items()
        if path not in _LEFT_OUT and f"{name}.{path}" not in _LEFT_OUT
        for field in _fields(name, path, info)
    ]
    order = {path: index for index, path in enumerate(_ORDER)}
    return sorted(found, key=lambda field: (field.is_rare, order.get(field.path, len(order))))


def _fields(kind: str, path: str, info: FieldInfo) -> Iterator[Field]:
    if path == "sampling_params":
        yield from _SAMPLING
        return
    words = _WORDS.get(f"{kind}.{path}") or _WORDS.get(path) or _Words(_label(path), info.description or "")
    widget, values = _widget(info.annotation)
    if words.widget is not None:
        widget = words.widget
    named = words.choices or {}
    yield Field(
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
        return " to ".join(f"{each:g}" for each in info.default)
    return f"{info.default:g}" if isinstance(info.default, float) else str(info.default)


_SAMPLE, _ANSWER = "{{ sample.output_text }}", "{{ item.answer }}"
_STARTS: dict[str, dict[str, Any]] = {
    "string_check": {"input": _SAMPLE, "operation": "eq", "reference": _ANSWER},
    "text_similarity": {
        "input": _SAMPLE, "evaluation_metric": "fuzzy_match", "reference": _ANSWER, "pass_threshold": 0.8,
    },
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
    "endpoint": {"url": ""},
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
    found: dict[str, Any] = {"type": name, **_STARTS.get(name, {})}
    for field in fields(name, kind):
        if field.path == "model":
            found["model"] = next(iter(models), "")
        elif field.required and field.path not in found and field.widget not in ("number", "whole", "range"):
            found[field.path] = field.choices[0][0] if field.choices else _EMPTY.get(field.widget, "")
    return found


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
    **dict.fromkeys(("faithfulness", "context_relevancy", "answer_relevancy"), (_DOCUMENTS, _REPLY)),
}


def payload(kind: str) -> tuple[dict[str, Any], str]:
    """An item and a sample that fit what a new grader of this kind looks at."""
    return _PAYLOADS.get(kind, ({"question": "What is the capital of France?", "answer": "Paris"}, "Paris"))


def value_at(grader: Mapping[str, Any], path: str) -> Any:
    """What a grader's JSON has at a field's place; None where nothing is set."""
    found: Any = grader
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
