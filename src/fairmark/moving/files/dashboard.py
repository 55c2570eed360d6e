"""What the hosted dashboard exported, `eval_items_*.jsonl`: an output item a line, of one run or several.

It has the names of criteria and what they gave, but none of their definitions. So it is history: criteria become
`custom` graders, and every score and verdict is kept as it is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.files.notes import FileReport
from fairmark.moving.files.reading import Contents, FileEntry
from fairmark.moving.files.writing import NO_TOKENS, Maker, RunWriter, result_wire
from fairmark.store import ids

FORMAT = "dashboard export"
NO_VERDICT = "the file has a score and no verdict"
NO_DEFINITIONS = (
    "the file has names of criteria and no definitions: they come as custom graders, which cannot grade again. Write "
    "graders of your own to grade these answers anew."
)


def is_row(value: Any) -> bool:
    return isinstance(value, dict) and {"run_id", "data_source_idx", "item", "grades"} <= value.keys()


class RowPlace(NamedTuple):
    """Where a row stands in the file, and its number in its run."""

    row: int
    entry: FileEntry


def convert(contents: Contents, maker: Maker, name: str) -> None:
    convert_rows(contents, maker, name, lambda entry: entry.value())


def convert_rows(contents: Contents, maker: Maker, name: str, row_of: Any) -> None:
    """The same for rows that stand inside of others. `row_of` gives an entry's row, or raises InvalidData."""
    runs, names, fields = _index(contents, maker.report, row_of)
    if not runs:
        raise InvalidData("no line in it is an output item")
    eval_ = maker.add_eval("", name, [{"type": "custom", "name": criterion} for criterion in names], sorted(fields))
    maker.report.note("told", "", NO_DEFINITIONS)
    by_name = {grader["name"]: grader["id"] for grader in eval_["testing_criteria"]}
    for run_id, places in runs.items():
        places.sort(key=lambda place: place.row)
        _write_run(contents, maker, eval_["id"], run_id, places, by_name, row_of)


def _index(
    contents: Contents, report: FileReport, row_of: Any
) -> tuple[dict[str, list[RowPlace]], dict[str, None], dict[str, None]]:
    """Where the rows of each run stand, and the names of criteria and fields, in the order in which they turn up."""
    runs: dict[str, list[RowPlace]] = {}
    seen: set[tuple[str, int]] = set()
    names: dict[str, None] = {}
    fields: dict[str, None] = {}
    without: int = 0
    for entry in contents.entries():
        try:
            row = row_of(entry)
            check(row)
        except InvalidData as error:
            report.note("problem", entry.place, str(error))
            continue
        key = (row["run_id"], row["data_source_idx"])
        if key in seen:
            report.note("problem", entry.place, f"row {key[1]} of run {jsontext.quote(key[0])} is there a second time.")
            continue
        seen.add(key)
        passes = row.get("passes") or {}
        without += any(criterion not in passes for criterion in row["grades"])
        names |= dict.fromkeys(row["grades"]) | dict.fromkeys(passes)
        fields |= dict.fromkeys(row["item"])
        runs.setdefault(key[0], []).append(RowPlace(key[1], entry._replace(raw=b"")))
    if without:
        report.note("told", "", f"{without:,} rows have scores without a verdict: they are kept, and count as skipped.")
    return runs, names, fields


def check(row: Any) -> None:
    """Raises InvalidData where it is no row of such an export, with the field."""
    if not is_row(row):
        known = sorted(row) if isinstance(row, dict) else jsontext.describe(row)
        raise InvalidData(
            f"no output item of a {FORMAT}: it needs run_id, data_source_idx, item and grades; found {known}"
        )
    index = row["data_source_idx"]
    for field, is_right, wanted in (
        ("run_id", isinstance(row["run_id"], str) and row["run_id"] != "", "a text"),
        ("data_source_idx", type(index) is int and 0 <= index < 2**31, "a whole number from 0"),
        ("item", isinstance(row["item"], dict), "an object"),
        ("grades", isinstance(row["grades"], dict), "an object of numbers"),
        ("passes", isinstance(row.get("passes") or {}, dict), "an object of true and false"),
        ("grader_samples", isinstance(row.get("grader_samples") or {}, dict), "an object"),
        ("sample", isinstance(row.get("sample") or {}, dict), "an object"),
    ):
        if not is_right:
            raise InvalidData(f"{field}: found {jsontext.describe(row.get(field))}. It takes {wanted}.")
    for field, is_one, wanted in (("grades", _is_number, "a number"), ("passes", _is_verdict, "true or false")):
        for name, value in (row.get(field) or {}).items():
            if not is_one(value):
                where = f"{field}[{jsontext.quote(jsontext.shorten(name, 60))}]"
                raise InvalidData(f"{where}: found {jsontext.describe(value)}. It takes {wanted}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_verdict(value: Any) -> bool:
    return isinstance(value, bool)


def _write_run(
    contents: Contents,
    maker: Maker,
    eval_id: str,
    given_id: str,
    places: list[RowPlace],
    criteria: Mapping[str, str],
    row_of: Any,
) -> None:
    run_id = given_id
    if not ids.plausible(given_id):
        run_id = f"evalrun_{maker.digest('run', given_id)[:32]}"
        maker.report.note("told", places[0].entry.place, f"the run {jsontext.quote(given_id)} gets the id {run_id}.")
    models: dict[str, None] = {}

    def rows() -> Iterator[dict[str, Any]]:
        with RunWriter.open(maker, eval_id, run_id) as writer:
            for index, entry in places:
                row = row_of(entry._replace(raw=contents.again(entry)))
                sample = sample_wire(row.get("sample"))
                if sample["model"]:  # a row that failed may name none
                    models[sample["model"]] = None
                writer.add(index, row["item"], results_wire(row, criteria), sample, maker.created_at)
                yield {"item": row["item"], **answer_of(sample)}
            finished.append(writer)

    finished: list[RunWriter] = []
    file_id = maker.add_rows(f"run {given_id}", f"{run_id}.jsonl", rows())
    model = next(iter(models)) if len(models) == 1 else None
    finished[0].finish(given_id, model, file_id, maker.created_at)


def results_wire(row: Mapping[str, Any], criteria: Mapping[str, str]) -> list[dict[str, Any]]:
    grades, passes = row["grades"], row.get("passes") or {}
    samples = row.get("grader_samples") or {}
    return [
        result_wire(id_, grades.get(name), passes.get(name), NO_VERDICT, _judge_sample(samples.get(name)))
        for name, id_ in criteria.items()
        if name in grades or name in passes
    ]


def _judge_sample(given: Any) -> Any:
    """With `output`, as output items have it; the rest as it was."""
    if not isinstance(given, dict) or not isinstance(given.get("outputs"), list):
        return given
    return {"input": [], **{key: value for key, value in given.items() if key != "outputs"}, "output": given["outputs"]}


def sample_wire(given: Any) -> dict[str, Any]:
    """An item's `sample`, of what the export calls otherwise."""
    sample = given if isinstance(given, dict) else {}
    usage = sample.get("token_usage")
    error = sample.get("error")
    model = sample.get("sampled_model_name")
    return {
        "input": sample.get("trajectory") if isinstance(sample.get("trajectory"), list) else [],
        "output": sample.get("outputs") if isinstance(sample.get("outputs"), list) else [],
        "finish_reason": sample["finish_reason"] if isinstance(sample.get("finish_reason"), str) else "stop",
        "model": model if isinstance(model, str) else "",
        "usage": {name: _tokens(usage, name) for name in NO_TOKENS},
        "error": _error(error),
        "temperature": 1.0,
        "max_completion_tokens": 0,
        "top_p": 1.0,
        "seed": 0,
    }


def _tokens(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _error(given: Any) -> dict[str, str] | None:
    if given is None:
        return None
    if isinstance(given, dict) and isinstance(given.get("message"), str):
        return {"code": str(given.get("code") or given.get("type") or "error"), "message": given["message"]}
    return {"code": "error", "message": given if isinstance(given, str) else jsontext.write(given)}


def answer_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A row's `sample`, for grading it again: the answer in the shape of a completion; nothing without an answer."""
    message = sample["output"][-1] if sample["output"] else None
    if not isinstance(message, dict) or sample["error"]:
        return {}
    shown = {"role": "assistant", "content": message.get("content")}
    if message.get("tool_calls"):
        shown["tool_calls"] = message["tool_calls"]
    choice = {"index": 0, "finish_reason": sample["finish_reason"], "message": shown}
    return {"sample": {"model": sample["model"], "choices": [choice]}}
