"""What promptfoo wrote about a run, version 3: history. A run for each provider and prompt, with all verdicts."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.files import dashboard, yamltext
from fairmark.moving.files.dashboard import RowPlace
from fairmark.moving.files.promptfoo_config import model_of
from fairmark.moving.files.reading import Contents, FileEntry, listed
from fairmark.moving.files.writing import Maker, RunWriter, result_wire, verdict_of

FORMAT = "promptfoo results"
VERSION = 3
WHOLE = "test"
"""The criterion of a test as a whole."""
_ERROR = 2
"""`failureReason` of what could not be run, where 1 is an assertion that failed."""


def is_document(value: Any) -> bool:
    """A whole file of results, of whatever version."""
    return isinstance(value, dict) and (
        (isinstance(value.get("results"), dict) and isinstance(value["results"].get("results"), list))
        or (isinstance(value.get("results"), list) and "stats" in value)
    )


def is_row(value: Any) -> bool:
    return isinstance(value, dict) and {"promptIdx", "testIdx", "vars"} <= value.keys()


def convert_document(value: Mapping[str, Any], maker: Maker, name: str) -> None:
    """Raises InvalidData for another version."""
    summary = value["results"] if isinstance(value["results"], dict) else value
    if summary.get("version") != VERSION:
        version = jsontext.describe(summary.get("version"))
        raise InvalidData(f"results.version: found {version}. It takes {VERSION}: export it with a newer promptfoo.")
    rows = [jsontext.encode(row) for row in summary["results"]]
    convert(listed(rows, "results.results"), maker, name, _timestamp(summary.get("timestamp")))


def _timestamp(text: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(text)).timestamp())
    except ValueError:
        return None


def convert(contents: Contents, maker: Maker, name: str, timestamp: int | None = None) -> None:
    if timestamp is not None:
        maker.created_at = timestamp
    if raw_row(contents.value) is not None:
        dashboard.convert_rows(contents, maker, name, _raw)
        return
    runs, names, fields, wholes = _index(contents, maker)
    if not runs:
        raise InvalidData("no result is in it")
    if wholes:
        names = {WHOLE: None}
        text = f"{wholes:,} tests passed although a part of them failed: the parts are kept as scores of one criterion."
        maker.report.note("told", "", text)
    eval_ = maker.add_eval("", name, [{"type": "custom", "name": criterion} for criterion in names], fields)
    maker.report.note("told", "", dashboard.NO_DEFINITIONS)
    by_name = {grader["name"]: grader["id"] for grader in eval_["testing_criteria"]}
    for (model, prompt), places in runs.items():
        _write_run(contents, maker, eval_["id"], model, prompt, places, by_name)


def raw_row(value: Any) -> Any:
    """The row of the hosted service, where promptfoo had imported it from there and kept it; None otherwise."""
    for key in ("metadata", "openai", "outputItem"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _raw(entry: FileEntry) -> Any:
    row = raw_row(entry.value())
    if row is None:
        raise InvalidData("metadata.openai.outputItem is missing, which the results before it have")
    return row


Runs = dict[tuple[str, int], list[RowPlace]]


def _index(contents: Contents, maker: Maker) -> tuple[Runs, dict[str, None], dict[str, None], int]:
    """Where the rows of each run stand, the names of criteria and fields, and how many rows passed although a part of
    them failed: a row here passes when every criterion does."""
    wholes = 0
    runs: Runs = {}
    taken: dict[tuple[str, int], set[int]] = {}
    names: dict[str, None] = {}
    fields: dict[str, None] = {}
    for entry in contents.entries():
        try:
            row = _checked(entry)
        except InvalidData as error:
            maker.report.note("problem", entry.place, str(error))
            continue
        run = (_provider(row), row["promptIdx"])
        index = row["testIdx"]
        seen = taken.setdefault(run, set())
        if index in seen:  # asked several times: the answers are rows of their own, behind the others
            index = max(seen) + 1
        seen.add(index)
        parts = list(_components(row))
        wholes += row.get("success") is True and any(part.get("pass") is False for _, part in parts)
        names |= dict.fromkeys(name for name, _ in parts)
        fields |= dict.fromkeys(row["vars"])
        runs.setdefault(run, []).append(RowPlace(index, entry._replace(raw=b"")))
    return runs, names, fields, wholes


def _checked(entry: FileEntry) -> dict[str, Any]:
    row: dict[str, Any] = entry.value()
    if not is_row(row):
        raise InvalidData(f"no result: it needs promptIdx, testIdx and vars; found {jsontext.describe(row)}")
    for field in ("promptIdx", "testIdx"):
        if type(row[field]) is not int or not 0 <= row[field] < 2**31:
            raise InvalidData(f"{field}: found {jsontext.describe(row[field])}. It takes a whole number from 0.")
    if not isinstance(row["vars"], dict):
        raise InvalidData(f"vars: found {jsontext.describe(row['vars'])}. It takes an object.")
    for name, component in _components(row):
        score = component.get("score")
        if score is not None and (isinstance(score, bool) or not isinstance(score, (int, float))):
            raise InvalidData(f"{name}: score: found {jsontext.describe(score)}. It takes a number.")
    return row


def _provider(row: Mapping[str, Any]) -> str:
    provider = row.get("provider")
    name = provider.get("id") if isinstance(provider, dict) else provider
    return name if isinstance(name, str) else ""


def _components(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each assertion's result with a name of its own within the row; the whole where there are no parts."""
    grading = row.get("gradingResult")
    if not isinstance(grading, dict):
        return
    parts = grading.get("componentResults")
    if not isinstance(parts, list) or not parts:
        yield WHOLE, grading
        return
    seen: dict[str, int] = {}
    for part in parts:
        if not isinstance(part, dict):
            continue
        assertion = part.get("assertion") if isinstance(part.get("assertion"), dict) else {}
        name = str((assertion or {}).get("metric") or (assertion or {}).get("type") or "assert-set")
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), part


def _write_run(
    contents: Contents,
    maker: Maker,
    eval_id: str,
    provider: str,
    prompt: int,
    places: list[RowPlace],
    criteria: Mapping[str, str],
) -> None:
    places.sort(key=lambda place: place.row)
    run_id = f"evalrun_{maker.digest('run', provider, str(prompt))[:32]}"
    finished: list[RunWriter] = []

    def rows() -> Iterator[dict[str, Any]]:
        with RunWriter.open(maker, eval_id, run_id) as writer:
            for index, entry in places:
                row = _checked(entry._replace(raw=contents.again(entry)))
                sample = _sample(row, provider)
                status = _status(row)
                writer.add(index, row["vars"], _results(row, criteria), sample, maker.created_at, status)
                yield {"item": row["vars"], **dashboard.answer_of(sample)}
            finished.append(writer)

    file_id = maker.add_rows(f"run {provider} {prompt}", f"{run_id}.jsonl", rows())
    name = f"{provider or 'no provider'}, prompt {prompt + 1}"
    finished[0].finish(name, model_of(provider) or None, file_id, maker.created_at)


def _status(row: Mapping[str, Any]) -> str:
    """promptfoo's own verdict: a threshold may pass a test of which a part failed."""
    if row.get("failureReason") == _ERROR:
        return "error"
    return verdict_of(row.get("success"))


def _results(row: Mapping[str, Any], criteria: Mapping[str, str]) -> list[dict[str, Any]]:
    if set(criteria) == {WHOLE}:
        return _whole(row, criteria[WHOLE])
    results = []
    for name, part in _components(row):
        passed = part.get("pass")
        verdict = passed if isinstance(passed, bool) else None
        result = result_wire(criteria[name], part.get("score"), verdict, dashboard.NO_VERDICT, None)
        if isinstance(part.get("reason"), str):
            result["reason"] = part["reason"]
        results.append(result)
    return results


def _whole(row: Mapping[str, Any], criterion_id: str) -> list[dict[str, Any]]:
    passed, score = row.get("success"), row.get("score")
    verdict = passed if isinstance(passed, bool) and row.get("failureReason") != _ERROR else None
    number = score if isinstance(score, (int, float)) and not isinstance(score, bool) else None
    result = result_wire(criterion_id, number, verdict, "it could not be run", None)
    parts = {name: part.get("score") for name, part in _components(row) if name != WHOLE}
    return [{**result, "sub_rewards": {name: score for name, score in parts.items() if score is not None}}]


def _sample(row: Mapping[str, Any], provider: str) -> dict[str, Any]:
    """In the export's words first, which then become the wire's."""
    response = row.get("response") if isinstance(row.get("response"), dict) else {}
    answered: Mapping[str, Any] = response or {}
    output = answered.get("output")
    usage = answered.get("tokenUsage") if isinstance(answered.get("tokenUsage"), dict) else {}
    counters = {f"{name}_tokens": (usage or {}).get(name, 0) for name in ("total", "prompt", "completion", "cached")}
    content = output if output is None or isinstance(output, str) else jsontext.write(output)
    error = row.get("error") if row.get("failureReason") == _ERROR else answered.get("error")
    return dashboard.sample_wire(
        {
            "trajectory": _asked(row.get("prompt")),
            "outputs": [] if content is None else [{"role": "assistant", "content": content}],
            "finish_reason": answered.get("finishReason"),
            "sampled_model_name": model_of(provider),
            "token_usage": counters,
            "error": error or None,
        }
    )


def _asked(prompt: Any) -> list[dict[str, Any]]:
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    if not isinstance(raw, str) or not raw:
        return []
    if raw.lstrip().startswith("["):
        try:
            chat = yamltext.decode("prompt", raw.encode("utf-8", "surrogatepass"))
        except InvalidData:
            chat = None
        if isinstance(chat, list) and chat and all(isinstance(message, dict) and "role" in message for message in chat):
            return chat
    return [{"role": "user", "content": raw}]
