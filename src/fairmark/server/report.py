"""A run's report as a page: what `report_url` leads to. Plain HTML, no script, nothing from elsewhere."""

from collections.abc import Iterable
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairmark import jsontext
from fairmark.server.evals import find_eval
from fairmark.server.runs import find_run
from fairmark.server.wire import state
from fairmark.store import Eval, Item, Run

ROWS_SHOWN = 100
REFRESH_S = 2

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --pass: #1a7f37; --fail: #b35900; --error: #c62828; --skip: #777; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin-bottom: .2rem; } p.about { margin-top: 0; opacity: .75; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; } caption { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; } td { overflow-wrap: anywhere; }
td[class] { white-space: nowrap; } td[class] span { white-space: normal; }
.pass { color: var(--pass); } .fail { color: var(--fail); }
.error { color: var(--error); } .skip { color: var(--skip); }
"""


async def page(request: Request) -> Response:
    eval_, run = await find_eval(request), await find_run(request, with_source=False)
    items = (await state(request).store.items.list(run, ROWS_SHOWN)).data
    is_active = run.status in ("queued", "in_progress")
    headers = {
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        **({"refresh": str(REFRESH_S)} if is_active else {}),
    }
    return HTMLResponse(_document(eval_, run, items), headers=headers)


def _document(eval_: Eval, run: Run, items: list[Item]) -> str:
    title = escape(run.name or run.id)
    names = {criterion["id"]: criterion["name"] for criterion in eval_.criteria}
    counted = run.passed + run.failed + run.errored + run.skipped
    of = "" if run.total is None else f" of {run.total:,}"
    cost = "" if run.cost is None else f", ${run.cost:.4f}"
    error = "" if run.error is None else f'<p class="error">{escape(run.error.get("message", ""))}</p>'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}: Fairmark</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        f'<p class="about">{escape(eval_.name or eval_.id)}: {run.status}, {counted:,}{of} rows{cost}</p>{error}'
        + _table("Rows", ["passed", "failed", "errors", "skipped"], [_counts(run)])
        + _table(
            "Criteria",
            ["criterion", "passed", "failed", "errors", "skipped"],
            [[f"<td>{escape(names.get(key, key))}", *_numbers(counts)] for key, counts in run.criteria_counts.items()],
        )
        + _table(
            f"The first {ROWS_SHOWN} rows", ["row", "item", "answer", *map(escape, names.values())], map(_row, items)
        )
    )


def _table(caption: str, headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{heading}" for heading in headings)
    body = "".join("<tr>" + "".join(row) for row in rows)
    return f"<table><caption>{caption}</caption><thead><tr>{head}<tbody>{body}</table>"


def _counts(run: Run) -> list[str]:
    return _numbers([run.passed, run.failed, run.errored, run.skipped])


def _numbers(values: Iterable[int]) -> list[str]:
    return [f'<td class="number">{value:,}' for value in values]


def _row(item: Item) -> list[str]:
    body: dict[str, Any] = jsontext.decode(item.body)
    output = body["sample"]["output"]
    said = output[0]["content"] if output else ""
    cells = [f'<td class="{item.status}">{item.idx} {item.status}']
    cells += [f"<td>{escape(jsontext.shorten(text, 200))}" for text in (jsontext.write(body["datasource_item"]), said)]
    for result in body["results"]:
        word = "pass" if result["passed"] else {"error": "error", "skipped": "skip"}.get(result["status"], "fail")
        why = f"<br><span>{escape(jsontext.shorten(result['error'], 200))}</span>" if result["error"] else ""
        cells.append(f'<td class="{word}">{result["score"]:.4g} {word}{why}')
    return cells
