"""A comparison as people and programs read it: a table, Markdown, JSON, JUnit XML, or one HTML file."""

import html
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args
from xml.sax.saxutils import escape, quoteattr

from fairmark.data.comparing import Compared, Measure, Outcomes, in_words, p_words
from fairmark.data.comparison import Comparison, CriterionComparison, Flips
from fairmark.data.intervals import Difference

Form = Literal["table", "markdown", "json", "junit", "html"]
FORMS: tuple[Form, ...] = get_args(Form)
ROWS_TOLD = 10
"""So many flipped rows are named one by one, each way."""
LETTERS = "ABCDEF"


def write(comparison: Comparison, form: Form) -> str:
    from fairmark.jsontext import encode_pretty

    forms: dict[Form, Callable[[Comparison], str]] = {
        "table": as_table,
        "markdown": as_markdown,
        "json": lambda shown: encode_pretty(as_json(shown)),
        "junit": as_junit,
        "html": as_html,
    }
    return forms[form](comparison)


def as_table(comparison: Comparison) -> str:
    lines = [f"{letter}  {_about(comparison, index)}" for index, letter in enumerate(_letters(comparison))]
    lines.append("")
    lines += _aligned(_cells(comparison))
    for criterion in comparison.criteria:
        lines += (
            ["", *(f"{criterion.name}, {line}" for line in _flip_lines(criterion))]
            if any(_flip_lines(criterion))
            else []
        )
    lines += ["", *comparison.notes] if comparison.notes else []
    return "\n".join(lines)


def as_markdown(comparison: Comparison) -> str:
    heading, *rows = _cells(comparison)
    lines = [
        f"- **{letter}** {markdown_text(_about(comparison, index))}"
        for index, letter in enumerate(_letters(comparison))
    ]
    lines += ["", markdown_row(heading), markdown_row(["---", *["---:"] * (len(heading) - 1)])]
    lines += [markdown_row([markdown_text(cell) for cell in row]) for row in rows]
    flips = [
        f"- {markdown_text(criterion.name)}, {line}"
        for criterion in comparison.criteria
        for line in _flip_lines(criterion)
    ]
    if flips:
        lines += ["", "Rows that flipped:", "", *flips]
    if comparison.notes:
        lines += ["", *(f"> {markdown_text(note)}" for note in comparison.notes)]
    return "\n".join(lines)


def as_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "runs": [
            {"name": side.name, "rows": side.rows, "cost": side.cost, "seconds": side.seconds}
            for side in comparison.sides
        ],
        "criteria": [
            {
                "name": criterion.name,
                "measure": criterion.measure.replace(" ", "_"),
                "runs": [
                    None if counts is None else {"value": value, **counts._asdict()}
                    for value, counts in zip(criterion.values, criterion.outcomes, strict=True)
                ],
                "compared": [
                    None if compared is None or flips is None else _compared_json(compared, flips)
                    for compared, flips in zip(criterion.compared, criterion.flips, strict=True)
                ],
            }
            for criterion in comparison.criteria
        ],
        "notes": comparison.notes,
    }


def _compared_json(compared: Compared, flips: Flips) -> dict[str, Any]:
    return {
        "verdict": compared.verdict,
        "words": in_words(compared),
        "rows": compared.n,
        "first": compared.first,
        "second": compared.second,
        "difference": _difference_json(compared.difference),
        "p": compared.p,
        "mean_reward_difference": _difference_json(compared.other),
        "gained": compared.gained,
        "lost": compared.lost,
        "gained_rows": [row for row, _ in flips.gained],
        "lost_rows": [row for row, _ in flips.lost],
        "without_partner": list(compared.alone),
    }


def _difference_json(difference: Difference | None) -> dict[str, float | None] | None:
    if difference is None:
        return None
    return {name: value if abs(value) < 1e308 else None for name, value in difference._asdict().items()}


def as_junit(comparison: Comparison) -> str:
    """A suite a run, a case a criterion: it fails where the run is worse, and is skipped where nothing can be said."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for index, side in enumerate(comparison.sides[1:]):
        cases = [(criterion, criterion.compared[index]) for criterion in comparison.criteria]
        failures = sum(compared is not None and compared.verdict == "worse" for _, compared in cases)
        skipped = sum(compared is None or compared.verdict == "unknown" for _, compared in cases)
        name = _xml_attribute(f"{side.name} against {comparison.sides[0].name}")
        lines.append(f'  <testsuite name={name} tests="{len(cases)}" failures="{failures}" skipped="{skipped}">')
        for criterion, compared in cases:
            words = "it has no such criterion" if compared is None else in_words(compared)
            lines.append(f'    <testcase classname={name} name={_xml_attribute(criterion.name)} time="0">')
            if compared is None or compared.verdict == "unknown":
                lines.append(f"      <skipped message={_xml_attribute(words)}/>")
            elif compared.verdict == "worse":
                detail = "\n".join([words, *_flip_lines(criterion, index)])
                lines.append(f"      <failure message={_xml_attribute(words)}>{escape(_printable(detail))}</failure>")
            else:
                lines.append(f"      <system-out>{escape(_printable(words))}</system-out>")
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"])


def as_html(comparison: Comparison) -> str:
    """One file that needs nothing else: no script, nothing from anywhere."""
    letters = _letters(comparison)
    runs = "".join(
        f"<li><b>{letter}</b> {html.escape(_about(comparison, index))}</li>" for index, letter in enumerate(letters)
    )
    heading, *rows = _cells(comparison)
    scale = _scale(comparison)
    body = "".join("<tr>" + "".join(_html_cell(cell, at) for at, cell in enumerate(row)) + "</tr>" for row in rows)
    bars = "".join(
        f"<li>{html.escape(criterion.name)}, {letters[index + 1]} less A {_whisker(compared, scale)}</li>"
        for criterion in comparison.criteria
        for index, compared in enumerate(criterion.compared)
        if compared is not None and compared.difference is not None
    )
    flips = "".join(
        f"<li>{html.escape(f'{criterion.name}, {line}')}</li>"
        for criterion in comparison.criteria
        for line in _flip_lines(criterion)
    )
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in comparison.notes)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Runs compared</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>Runs compared</h1><ul>{runs}</ul>"
        "<div class=wide><table><thead><tr>"
        + "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in heading)
        + f"</tr></thead><tbody>{body}</tbody></table></div><h2>Differences</h2><ul class=bars>{bars}</ul>"
        + (f"<h2>Rows that flipped</h2><ul>{flips}</ul>" if flips else "")
        + f"{notes}<p class=note>Differences are of the rows that both runs graded, with 95 % intervals. "
        "p is of McNemar's exact test for pass rates and of Student's t for means, with Holm's correction."
        "</p></main></body></html>"
    )


_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}"
    "main{max-width:70rem;margin:0 auto;padding:1rem}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.4rem .6rem;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}td:last-child,th:last-child{text-align:left}"
    ".bars{list-style:none;padding:0}.note{opacity:.8}svg{vertical-align:middle}"
    ".better{color:light-dark(#146c2e,#7bd88f)}.worse{color:light-dark(#b3261e,#ff8a80)}"
)
_WIDTH = 240


def _html_cell(cell: str, at: int) -> str:
    tone = next((word for word in ("better", "worse") if cell.startswith(f"{word} by")), "")
    element = 'th scope="row"' if at == 0 else f'td class="{tone}"' if tone else "td"
    return f"<{element}>{html.escape(cell)}</{element.split()[0]}>"


def _scale(comparison: Comparison) -> float:
    ends = [
        abs(end)
        for criterion in comparison.criteria
        for compared in criterion.compared
        if compared is not None and compared.difference is not None
        for end in (compared.difference.mean, compared.difference.low, compared.difference.high)
        if abs(end) < 1e300
    ]
    return max([0.05, *ends])


def _whisker(compared: Compared, scale: float) -> str:
    difference = compared.difference
    assert difference is not None  # noqa: S101  # the caller has looked

    def x(value: float) -> float:
        return _WIDTH / 2 + (_WIDTH / 2 - 6) * max(-1.0, min(1.0, value / scale))

    return (
        f'<svg width="{_WIDTH}" height="20" role="img" aria-label="{html.escape(in_words(compared))}">'
        f'<line x1="{_WIDTH / 2}" x2="{_WIDTH / 2}" y1="1" y2="19" stroke="currentColor" opacity=".4"/>'
        f'<line x1="{x(difference.low):.1f}" x2="{x(difference.high):.1f}" y1="10" y2="10" stroke="currentColor" '
        f'stroke-width="2"/><circle cx="{x(difference.mean):.1f}" cy="10" r="5" fill="currentColor"/></svg>'
    )


def _letters(comparison: Comparison) -> str:
    return LETTERS[: len(comparison.sides)]


def _about(comparison: Comparison, index: int) -> str:
    side = comparison.sides[index]
    told = [f"{side.name}: {side.rows:,} rows"]
    if side.cost is not None:
        told.append(f"${side.cost:.4f}")
    if side.seconds is not None:
        told.append(f"{side.seconds:.1f} s")
    return ", ".join(told)


def _cells(comparison: Comparison) -> list[list[str]]:
    """Two runs stand side by side; of more, each has a line of its own."""
    if len(comparison.sides) == 2:
        heading = ["criterion", "A", "B", "B − A", "95 %", "lost", "gained", "errors", "verdict"]
        return [heading, *(_row_cells(criterion) for criterion in comparison.criteria)]
    heading = ["criterion", "run", "value", "less A", "95 %", "lost", "gained", "errors", "verdict"]
    return [heading, *(row for criterion in comparison.criteria for row in _lines_of(criterion))]


def _row_cells(criterion: CriterionComparison) -> list[str]:
    values = [shown(value, criterion.measure) for value in criterion.values]
    errors = "/".join(_errors(counts) for counts in criterion.outcomes)
    *difference, words = _difference_cells(criterion, 0)
    return [criterion.name, *values, *difference, errors, words]


def _lines_of(criterion: CriterionComparison) -> list[list[str]]:
    lines = []
    for index, (value, counts) in enumerate(zip(criterion.values, criterion.outcomes, strict=True)):
        *difference, words = _difference_cells(criterion, index - 1) if index else ["", "", "", "", ""]
        name = criterion.name if not index else ""
        lines.append([name, LETTERS[index], shown(value, criterion.measure), *difference, _errors(counts), words])
    return lines


def _difference_cells(criterion: CriterionComparison, index: int) -> list[str]:
    compared = criterion.compared[index]
    if compared is None:
        return ["–", "–", "–", "–", "it has no such criterion"]
    difference, measure = compared.difference, criterion.measure
    if difference is None:
        return ["–", "–", "–", "–", verdict_words(compared)]
    return [
        change(difference.mean, measure),
        f"{change(difference.low, measure)} … {change(difference.high, measure)}",
        str(compared.lost) if compared.n else "–",
        str(compared.gained) if compared.n else "–",
        verdict_words(compared),
    ]


def verdict_words(compared: Compared) -> str:
    """What is said of it, and what the mean rewards add to that."""
    words = in_words(compared)
    if compared.other is None or compared.other.p >= 0.05:
        return words
    return f"{words} (mean reward {compared.other.mean:+.4f}, {p_words(compared.other.p)})"


def _errors(counts: Outcomes | None) -> str:
    return "–" if counts is None else str(counts.errors + counts.skipped)


def shown(value: float | None, measure: Measure) -> str:
    return "–" if value is None else f"{value:.1%}" if measure == "pass rate" else f"{value:.4f}"


def change(value: float, measure: Measure) -> str:
    if abs(value) > 1e300:
        return "∞" if value > 0 else "−∞"
    return f"{100 * value:+.1f}" if measure == "pass rate" else f"{value:+.4f}"


def _flip_lines(criterion: CriterionComparison, only: int | None = None) -> list[str]:
    lines = []
    for index, flips in enumerate(criterion.flips):
        if flips is None or only not in (None, index):
            continue
        letter = LETTERS[index + 1]
        for rows, word in ((flips.lost, "lost"), (flips.gained, "gained")):
            if rows:
                more = f" and {len(rows) - ROWS_TOLD:,} more" if len(rows) > ROWS_TOLD else ""
                lines.append(f"{word} in {letter}: row {', '.join(str(row) for row, _ in rows[:ROWS_TOLD])}{more}")
    return lines


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if at in (0, last) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def markdown_text(text: str) -> str:
    """No name of a run or a grader makes markup, or a second column, of itself."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _xml_attribute(text: str) -> str:
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(sign if sign in "\n\t" or sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
