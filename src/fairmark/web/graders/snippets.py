"""One grade as commands and code to copy: for a shell, with curl or fairmark, and for Python, with fairmark or openai.

Whatever a grader, an item or a sample holds, quotes, dollar signs or line ends, arrives as it is. What a terminal could
take for a command of its own, such as an escape or a tab, is written as an escape of JSON or Python.
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairmark import jsontext

LONG = 30_000
"""A text longer than this is no argument of a command, but a file: systems take some 100 kB in one."""
ONE_LINE = 80
_UNUSUAL = re.compile(r"[^\x20-\x7e\n]")


@dataclass(frozen=True, slots=True)
class GradingCall:
    """What is to be graded, and where."""

    grader: Mapping[str, Any]
    item: Mapping[str, Any]
    sample: str | Mapping[str, Any]
    base_url: str
    needs_key: bool
    """Whether the server asks for one. Then it is in OPENAI_API_KEY, where OpenAI's own client looks for it."""


def curl(call: GradingCall) -> str:
    body = {"grader": call.grader, "item": call.item, "model_sample": call.sample}
    key = ' \\\n  -H "Authorization: Bearer $OPENAI_API_KEY"' if call.needs_key else ""
    url = shlex.quote(f"{call.base_url}/v1/fine_tuning/alpha/graders/run")
    head = f"curl {url}{key} \\\n  -H 'Content-Type: application/json' --data-binary @- <<'JSON'"
    return f"{head}\n{_json(body)}\nJSON"


def command(call: GradingCall) -> str:
    """By `fairmark grade`, on the machine where it is typed. The grader comes by standard input."""
    files: list[str] = []
    options = []
    if call.item:
        options.append(f"--item {_argument('item.json', call.item, files)}")
    if isinstance(call.sample, str) and _is_plain(call.sample):
        options.append(f"--sample {shlex.quote(call.sample)}")
    else:
        sample = {"output_text": call.sample} if isinstance(call.sample, str) else call.sample
        options.append(f"--sample-json {_argument('sample.json', sample, files)}")
    words = " \\\n  ".join(["fairmark grade -", *options])
    return "\n".join([*files, f"{words} <<'JSON'", _json(call.grader), "JSON"])


def library(call: GradingCall) -> str:
    return "\n".join(
        [
            "import fairmark",
            "",
            f"grader = {_literal(call.grader)}",
            f"item = {_literal(call.item)}",
            f"sample = {_literal(call.sample)}",
            "result = fairmark.grade(grader, sample, item)",
            "print(result.reward, result.passed, result.error)",
        ]
    )


def client(call: GradingCall) -> str:
    """With OpenAI's package, as code that was written for OpenAI has it: only the address is another."""
    address = f"base_url={_literal(call.base_url + '/v1')}"
    key = "" if call.needs_key else ', api_key="not needed"'
    return "\n".join(
        [
            "from openai import OpenAI",
            "",
            f"client = OpenAI({address}{key})",
            "result = client.fine_tuning.alpha.graders.run(",
            f"    grader={_literal(call.grader, 4)},",
            f"    item={_literal(call.item, 4)},",
            f"    model_sample={_literal(call.sample, 4)},",
            ")",
            "print(result.reward, result.metadata.errors)",
        ]
    )


def _argument(name: str, value: Mapping[str, Any], files: list[str]) -> str:
    """JSON as a word of the shell, on one line where it is short; as a file that is written before where it is long."""
    text = _json(value)
    if len(text.encode()) > LONG:
        files.append(f"cat > {name} <<'JSON'\n{text}\nJSON")
        return f"@{name}"
    line = _visible(jsontext.write(value))
    return shlex.quote(line if len(line) <= ONE_LINE else text)


def _is_plain(sample: str) -> bool:
    """Whether a shell can be given the text itself: @ would name a file."""
    return len(sample.encode("utf-8", "replace")) <= LONG and not sample.startswith("@") and all(map(_is_safe, sample))


def _is_safe(char: str) -> bool:
    return char.isprintable() or char == "\n"


def _json(value: Any) -> str:
    """Indented JSON. No line of it is the word JSON alone, which ends it in a shell: texts hold no line ends there."""
    return _visible(jsontext.encode_pretty(value))


def _visible(text: str) -> str:
    """The same JSON with escapes for what cannot be seen."""
    return _UNUSUAL.sub(lambda match: match[0] if _is_safe(match[0]) else _escaped(match[0]), text)


def _escaped(char: str) -> str:
    pair = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pair[at : at + 4]}" for at in range(0, len(pair), 4))


def _literal(value: Any, indent: int = 0) -> str:
    """The value in Python, over several lines where it is an object, a list or a text of several lines."""
    inner, end = " " * (indent + 4), " " * indent
    match value:
        case dict() if value:
            lines = [f"{inner}{name!r}: {_literal(element, indent + 4)}," for name, element in value.items()]
            return "\n".join(["{", *lines, f"{end}}}"])
        case list() if value:
            lines = [f"{inner}{_literal(element, indent + 4)}," for element in value]
            return "\n".join(["[", *lines, f"{end}]"])
        case str() if "\n" in value[:-1]:
            return "\n".join(["(", *(f"{inner}{line!r}" for line in value.splitlines(keepends=True)), f"{end})"])
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case _:
            return repr(value)
