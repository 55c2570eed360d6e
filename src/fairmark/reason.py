"""Why a row has its reward, on one line: what went wrong, what judges said, what was compared."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairmark import jsontext
from fairmark.errors import GradingFailed
from fairmark.judgement import Judgement
from fairmark.row import make_row
from fairmark.text.template import Template

if TYPE_CHECKING:
    from fairmark.result import Result

MOST_CHARS = 400
"""Of a whole reason."""
MOST_PARTS = 8


def reason(result: "Result") -> str:
    """What is known from the result alone; "" where that is nothing but the reward."""
    return _on_one_line("; ".join(_known(result)))


def reason_of_row(result: "Result", item: Any, sample: Any) -> str:
    """The same with the texts that were compared, or else the sample."""
    return _on_one_line("; ".join([*_known(result), *_texts(result, item, sample)]))


def _known(result: "Result") -> Iterator[str]:
    if result.error is not None or result.skipped is not None:
        yield result.error or result.skipped or ""
        return
    yield from result.row_warnings
    if result.printed:
        yield result.printed.strip()
    for judgement in result.judgements:
        said = _said(judgement)
        if said:
            yield f"{judgement.name} said: {said}"
    parts = list(result.grade.sub_rewards.items())
    if parts:
        more = f" and {len(parts) - MOST_PARTS} more" if len(parts) > MOST_PARTS else ""
        yield ", ".join(f"{name} {reward:.4g}" for name, reward in parts[:MOST_PARTS]) + more


def _said(judgement: Judgement) -> str:
    """The last conclusion of a judge, else its verdict."""
    steps = judgement.value.get("steps")
    last = steps[-1] if isinstance(steps, list) and steps else None
    words = (last.get("conclusion") or last.get("description")) if isinstance(last, dict) else None
    words = words or judgement.value.get("reasoning") or judgement.value.get("result")
    return "" if words is None else words if isinstance(words, str) else jsontext.write(words)


def _texts(result: "Result", item: Any, sample: Any) -> Iterator[str]:
    spec = result.spec
    try:
        row = make_row(item, sample)
        shown = {
            name: template.render(row)
            for name in ("input", "reference")
            if isinstance(template := getattr(spec, name, None), Template)
        }
        if shown:
            yield ", ".join(f"{name} {jsontext.quote(text)}" for name, text in shown.items())
        else:
            yield f"sample {jsontext.quote(row.sample.text)}"
    except GradingFailed:
        return  # what could not be filled in is the row's error, which is told


def _on_one_line(text: str) -> str:
    words = " ".join(text.split())
    return jsontext.shorten(words.encode("utf-8", "backslashreplace").decode(), MOST_CHARS)
