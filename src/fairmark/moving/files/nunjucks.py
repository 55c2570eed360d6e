"""promptfoo's templates: `{{ name }}` becomes `{{ item.name }}`. Filters, logic and comments are refused."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.moving.files.javascript import text_of

_TAG = re.compile(r"\{\{(.*?)\}\}|(\{%|\{#|\{\{)", re.DOTALL)
_PATH = re.compile(r"""[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*|\[(?:\d{1,6}|"[^"\]]*"|'[^'\]]*')\])*""", re.ASCII)
_STEP = re.compile(r"""\.?([A-Za-z_$][\w$]*)|\[(?:(\d+)|["']([^"'\]]*)["'])\]""", re.ASCII)


class NotATemplate(ValueError):
    """It needs more than values filled in. The message says what."""


class NunjucksVariable(NamedTuple):
    source: str
    steps: tuple[str | int, ...]


Part = str | NunjucksVariable


def parse(text: str) -> list[Part]:
    """Texts and variables by turns. Raises NotATemplate."""
    parts: list[Part] = []
    end = 0
    for tag in _TAG.finditer(text):
        inner = tag[1]
        if inner is None:
            raise NotATemplate(f"{jsontext.quote(text[tag.start() : tag.start() + 40])} has logic or a comment in it")
        path = inner.strip()
        if not _PATH.fullmatch(path):
            raise NotATemplate(f"{jsontext.quote(tag[0])} is more than a variable")
        if path.split(".")[0].split("[")[0] == "env":
            raise NotATemplate(f"{jsontext.quote(tag[0])} is a variable of the environment")
        if tag.start() > end:
            parts.append(text[end : tag.start()])
        steps = (int(step[2]) if step[2] else step[1] or step[3] for step in _STEP.finditer(path))
        parts.append(NunjucksVariable(path, tuple(steps)))
        end = tag.end()
    if end < len(text):
        parts.append(text[end:])
    return parts


def has_variables(text: str) -> bool:
    return "{{" in text or "{%" in text or "{#" in text


def to_template(text: str) -> str:
    """The same for Fairmark. Raises NotATemplate."""
    return "".join(part if isinstance(part, str) else f"{{{{item.{part.source}}}}}" for part in parse(text))


def variables(text: str) -> list[NunjucksVariable]:
    return [part for part in parse(text) if isinstance(part, NunjucksVariable)]


def find(variable: NunjucksVariable, values: Mapping[str, Any]) -> Any:
    """Its value. Raises NotATemplate where there is none: to promptfoo it is an empty text, to people a mistake."""
    value: Any = values
    for step in variable.steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise NotATemplate(f"{{{{{variable.source}}}}}: there is no such variable") from None
    return value


def fills_alike(variable: NunjucksVariable, values: Mapping[str, Any]) -> bool:
    """Whether both write this value in the same way."""
    value = find(variable, values)
    return isinstance(value, (str, bool)) or (isinstance(value, int) and text_of(value) is not None)


def render(text: str, values: Mapping[str, Any]) -> str:
    """The text as promptfoo has it after filling in. Raises NotATemplate."""
    texts: list[str] = []
    for part in parse(text):
        if isinstance(part, str):
            texts.append(part)
            continue
        written = text_of(find(part, values))
        if written is None:
            what = jsontext.describe(find(part, values))
            raise NotATemplate(f"{{{{{part.source}}}}} is {what}, which JavaScript writes in its own way")
        texts.append(written)
    return "".join(texts)
