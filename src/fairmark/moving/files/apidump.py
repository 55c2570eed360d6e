"""Objects of the API as somebody saved them: evals, runs, output items, files, completions, in any order, one by one or
in pages. Each is kept byte for byte; what they lack to stand together is made of what there is."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

import msgspec

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.archive import part_name
from fairmark.moving.files.dashboard import answer_of
from fairmark.moving.files.notes import FileReport
from fairmark.moving.files.reading import Contents, FileEntry
from fairmark.moving.files.writing import NO_TOKENS, Maker, file_object, one_line, usage_wire, verdict_of
from fairmark.store.evals.counts import Counts

FORMAT = "objects of the API"
LISTS = {
    "chat.completion": "completions.jsonl",
    "response": "responses.jsonl",
    "fine_tuning.job": "jobs.jsonl",
}
KNOWN = ("eval", "eval.run", "eval.run.output_item", "file", *LISTS, "fine_tuning.job.checkpoint")
_STATUSES = {"pass": "pass", "passed": "pass", "fail": "fail", "failed": "fail", "error": "error", "errored": "error"}
MOST_ID_CHARS = 80
_CRITERION_ID = 37
"""The length of `-<uuid>` behind a criterion's name."""


def is_object(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("object") in KNOWN or is_page(value))


def is_page(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") == "list" and isinstance(value.get("data"), list)


class _Ref(NamedTuple):
    """Where an object stands: in an entry, or in the page that the entry is."""

    entry: FileEntry
    inner: int | None
    order: int = 0


class _Index:
    """All objects by what they are. One that is there again counts once: the later one."""

    def __init__(self, contents: Contents, report: FileReport) -> None:
        self._contents = contents
        self._report = report
        self._page: tuple[int, list[bytes]] = (-1, [])
        self.plain: dict[str, dict[str, _Ref]] = {kind: {} for kind in KNOWN}
        self.items: dict[str, dict[str, _Ref]] = {}
        self.eval_of: dict[str, str] = {}
        """Of each run, as the run or its items say it."""
        self._unsaid: dict[str, str] = {}
        """Runs of which an item does not say the eval, and where that item stands."""

    def read(self) -> "_Index":
        for place, ref, value in self._objects():
            try:
                self._add(value, ref, place)
            except InvalidData as error:
                self._report.note("problem", place, str(error))
        for run_id, place in self._unsaid.items():
            if run_id not in self.eval_of:
                left = len(self.items.pop(run_id))
                why = f"eval_id: missing, and the run {run_id} is not in the file: {left:,} output items are left out."
                self._report.note("problem", place, why)
        return self

    def _objects(self) -> Iterator[tuple[str, _Ref, Any]]:
        for entry in self._contents.entries():
            try:
                value = entry.value()
            except InvalidData as error:
                self._report.note("problem", entry.place, str(error))
                continue
            bare = entry._replace(raw=b"")
            if not is_page(value):
                yield entry.place, _Ref(bare, None), value
                continue
            if value.get("has_more"):
                self._report.note("told", entry.place, "has_more is true: it is one page of several.")
            for number, inner in enumerate(value["data"]):
                yield f"{entry.place}{' ' if entry.place else ''}data[{number}]", _Ref(bare, number), inner

    def _add(self, value: Any, ref: _Ref, at: str) -> None:
        kind = value.get("object") if isinstance(value, dict) else None
        if kind not in KNOWN:
            instead = jsontext.describe(kind) if isinstance(value, dict) else jsontext.describe(value)
            raise InvalidData(f"object: found {instead}. It takes one of: {', '.join(KNOWN)}.")
        id_ = _text(value, "id")
        if kind == "eval.run.output_item":
            run_id = _text(value, "run_id")
            if value.get("eval_id") is None:  # its run says it
                self._unsaid.setdefault(run_id, at)
            else:
                self.eval_of.setdefault(run_id, _text(value, "eval_id"))
            order = value.get("datasource_item_id")
            place = ref._replace(order=order if type(order) is int else 0)
            self._keep(self.items.setdefault(run_id, {}), kind, id_, place)
            return
        if kind == "eval.run":
            self.eval_of[id_] = _text(value, "eval_id")
        if kind == "fine_tuning.job.checkpoint":
            _text(value, "fine_tuning_job_id")
        self._keep(self.plain[kind], kind, id_, ref)

    def _keep(self, among: dict[str, _Ref], kind: str, id_: str, ref: _Ref) -> None:
        before = among.pop(id_, None)
        if before is not None and self.raw(before) != self.raw(ref):
            self._report.note(
                "told", ref.entry.place, f"{kind} {id_} is there again with other content: this one counts."
            )
        among[id_] = ref

    def raw(self, ref: _Ref) -> bytes:
        if ref.inner is None:
            return self._contents.again(ref.entry)
        if self._page[0] != ref.entry.start:
            self._page = (ref.entry.start, _page(self._contents.again(ref.entry)))
        return self._page[1][ref.inner]


class _Page(msgspec.Struct):
    data: list[msgspec.Raw]


def _page(content: bytes) -> list[bytes]:
    try:
        return [bytes(raw) for raw in msgspec.json.decode(content, type=_Page).data]
    except (msgspec.MsgspecError, UnicodeError):
        return [jsontext.encode(inner) for inner in jsontext.decode(content)["data"]]


def is_id(text: Any) -> TypeGuard[str]:
    """Whether something can be kept under it: ids are names of files."""
    return isinstance(text, str) and 0 < len(text) <= MOST_ID_CHARS and text.isascii() and text.isprintable()


def _text(value: Any, field: str) -> str:
    text = value.get(field)
    if not is_id(text):
        raise InvalidData(f"{field}: found {jsontext.describe(text)}. It takes an id.")
    return text


def convert(contents: Contents, maker: Maker, name: str) -> None:
    maker.is_part = True
    index = _Index(contents, maker.report).read()
    if not index.items and not any(index.plain.values()):
        raise InvalidData("no object of the API is in it")
    unknown_evals: dict[str, _Missing] = {}
    for run_id, refs in index.items.items():
        _write_items(index, maker, run_id, refs, unknown_evals)
    rebuilt: set[str] = set()
    for run_id, ref in index.plain["eval.run"].items():
        raw = index.raw(ref)
        maker.archive.write(part_name("runs", run_id, ".json"), raw)
        maker.report.made["runs"] += 1
        run = jsontext.decode(raw)
        _rebuild_rows(index, maker, run, rebuilt)
        if index.eval_of[run_id] not in index.plain["eval"]:
            _name_criteria(unknown_evals, index.eval_of[run_id], run)
    for eval_id, ref in index.plain["eval"].items():
        maker.keep_eval(index.raw(ref))
        unknown_evals.pop(eval_id, None)
    for eval_id, missing in unknown_evals.items():
        _make_eval(maker, eval_id, missing, name)
    _tell_files(index, maker, rebuilt)
    _write_others(index, maker)


class _Missing(NamedTuple):
    """What is known of an eval that is not in the file."""

    criteria: dict[str, None]
    created: list[int]


def _write_items(index: _Index, maker: Maker, run_id: str, refs: dict[str, _Ref], missing: dict[str, _Missing]) -> None:
    """In the order of their rows. Where their run is not in the file, one is made of them."""
    eval_id = index.eval_of[run_id]
    ordered = sorted(refs.values(), key=lambda ref: ref.order)
    counts, created = Counts(), []
    is_alone = run_id not in index.plain["eval.run"]
    is_orphan = eval_id not in index.plain["eval"]
    with maker.archive.writing(part_name("items", run_id, ".jsonl")) as file:
        for ref in ordered:
            raw = index.raw(ref)
            file.write(one_line(raw) + b"\n")
            maker.report.made["items"] += 1
            if not (is_alone or is_orphan):
                continue
            item = jsontext.decode(raw)
            if isinstance(item.get("created_at"), int):
                created.append(item["created_at"])
            by_criterion = _outcomes(item)
            known = missing.setdefault(eval_id, _Missing({}, []))
            known.criteria.update(dict.fromkeys(by_criterion))
            known.created.extend(created[-1:])
            _count(counts, item, by_criterion)
    if is_alone:
        _make_run(index, maker, run_id, ordered, counts, min(created, default=maker.created_at))


def _outcomes(item: dict[str, Any]) -> dict[str, str]:
    results = item.get("results")
    named = (result for result in results if isinstance(result, dict)) if isinstance(results, list) else ()
    return {str(result.get("name")): verdict_of(result.get("passed")) for result in named}


def _count(counts: Counts, item: dict[str, Any], by_criterion: dict[str, str]) -> None:
    outcome = _STATUSES.get(str(item.get("status")), "skip")
    counts.count(outcome, by_criterion)
    sample = item.get("sample")
    usage = sample.get("usage") if isinstance(sample, dict) else None
    if isinstance(usage, dict) and isinstance(sample, dict) and sample.get("model"):
        numbers = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")]
        counts.spend(str(sample["model"]), [number if isinstance(number, int) else 0 for number in numbers], None)


def _make_run(index: _Index, maker: Maker, run_id: str, refs: list[_Ref], counts: Counts, created_at: int) -> None:
    """Of its output items, with a file of their rows."""
    file_id = maker.file_id(f"rows of {run_id}")
    about = file_object(file_id, f"{run_id}.jsonl", 0, created_at)
    _write_rows(maker, about, run_id, "rebuilt", (_row(jsontext.decode(index.raw(ref))) for ref in refs))
    total = counts.passed + counts.failed + counts.errored + counts.skipped
    run = {
        "object": "eval.run",
        "id": run_id,
        "eval_id": index.eval_of[run_id],
        "report_url": f"/evals/{index.eval_of[run_id]}/runs/{run_id}",
        "status": "completed",
        "model": next(iter(counts.usage)) if len(counts.usage) == 1 else None,
        "name": "",
        "created_at": created_at,
        "result_counts": {
            "total": total,
            "passed": counts.passed,
            "failed": counts.failed,
            "errored": counts.errored,
            "skipped": counts.skipped,
        },
        "per_model_usage": usage_wire(counts),
        "per_testing_criteria_results": [
            {"testing_criteria": id_, "passed": passed, "failed": failed}
            for id_, (passed, failed, _, _) in counts.criteria_counts.items()
        ],
        "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": file_id}},
        "error": None,
        "metadata": {},
    }
    maker.archive.write(part_name("runs", run_id, ".json"), jsontext.encode(run))
    maker.made_up["runs"].append(run_id)
    maker.report.made["runs"] += 1
    maker.report.note("told", "", f"the run {run_id} is not in the file: it is made of its {total:,} output items.")


def _write_rows(maker: Maker, about: dict[str, Any], run_id: str, mark: str, rows: Iterator[dict[str, Any]]) -> None:
    """A file made of output items: it says so, and of which run."""
    size = count = 0
    with maker.archive.writing(part_name("files", about["id"])) as file:
        for row in rows:
            line = jsontext.encode(row) + b"\n"
            file.write(line)
            size += len(line)
            count += 1
    made_of = {"mark": mark, "run_id": run_id, "rows": count, "bytes": size}
    maker.keep_file(jsontext.encode({**about, "bytes": size, "rebuilt": made_of}))


def _rebuild_rows(index: _Index, maker: Maker, run: dict[str, Any], rebuilt: set[str]) -> None:
    """The file that a run read, of the rows in its items: what is in files is never in such a dump."""
    source = run.get("data_source")
    inner = source.get("source") if isinstance(source, dict) else None
    file_id = inner.get("id") if isinstance(inner, dict) and inner.get("type") == "file_id" else None
    refs = index.items.get(str(run["id"]), {})
    if not is_id(file_id) or file_id in rebuilt or not refs:
        return
    rebuilt.add(file_id)
    created_at = run["created_at"] if isinstance(run.get("created_at"), int) else maker.created_at
    known = index.plain["file"].get(file_id)
    about = jsontext.decode(index.raw(known)) if known else file_object(file_id, f"{file_id}.jsonl", 0, created_at)
    counts = run.get("result_counts")
    is_whole = isinstance(counts, dict) and counts.get("errored") == 0 and counts.get("total") == len(refs)
    ordered = sorted(refs.values(), key=lambda ref: ref.order)
    rows = ({"item": jsontext.decode(index.raw(ref)).get("datasource_item") or {}} for ref in ordered)
    _write_rows(
        maker, about, str(run["id"]), "rebuilt" if is_whole and run.get("status") == "completed" else "partial", rows
    )


def _tell_files(index: _Index, maker: Maker, rebuilt: set[str]) -> None:
    if rebuilt:
        text = f"{len(rebuilt):,} files that runs read are made of their output items, and marked rebuilt or partial."
        maker.report.note("told", "", text)
    left = [file_id for file_id in index.plain["file"] if file_id not in rebuilt]
    if left:
        text = f"{len(left):,} files are left out: what was in them is not in this file. The first: {left[0]}"
        maker.report.note("told", "", text)


def _row(item: dict[str, Any]) -> dict[str, Any]:
    answered = item.get("sample")
    sample = answered if isinstance(answered, dict) else {}
    output = sample.get("output")
    whole = {"finish_reason": "stop", "model": "", "usage": NO_TOKENS, "error": None, **sample}
    return {
        "item": item.get("datasource_item") or {},
        **answer_of({**whole, "output": output if isinstance(output, list) else []}),
    }


def _name_criteria(missing: dict[str, _Missing], eval_id: str, run: dict[str, Any]) -> None:
    known = missing.setdefault(eval_id, _Missing({}, []))
    if isinstance(run.get("created_at"), int):
        known.created.append(run["created_at"])
    results = run.get("per_testing_criteria_results")
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict) and isinstance(result.get("testing_criteria"), str):
            known.criteria.setdefault(result["testing_criteria"])


def _make_eval(maker: Maker, eval_id: str, missing: _Missing, name: str) -> None:
    graders = [
        {"type": "custom", "id": id_, "name": id_[:-_CRITERION_ID] if _ends_in_uuid(id_) else id_}
        for id_ in missing.criteria
    ]
    maker.created_at, before = min(missing.created, default=maker.created_at), maker.created_at
    maker.add_eval(eval_id, name, graders, (), eval_id=eval_id)
    maker.made_up["evals"].append(eval_id)
    maker.created_at = before
    text = (
        f"the eval {eval_id} is not in the file: it is made of what its runs name, with {len(graders)} custom graders."
    )
    maker.report.note("told", "", text)


def _ends_in_uuid(id_: str) -> bool:
    tail = id_[-_CRITERION_ID:]
    return len(id_) > _CRITERION_ID and tail[0] == "-" and [tail[at] for at in (9, 14, 19, 24)] == ["-"] * 4


def _write_others(index: _Index, maker: Maker) -> None:
    for kind, name in LISTS.items():
        if index.plain[kind]:
            with maker.archive.writing(name) as file:
                for ref in index.plain[kind].values():
                    file.write(one_line(index.raw(ref)) + b"\n")
            maker.report.made[name.removesuffix(".jsonl")] += len(index.plain[kind])
    if index.plain["chat.completion"]:
        maker.report.note("told", "", "completions do not hold what was asked: their messages are not in this file.")
    jobs: dict[str, list[bytes]] = {}
    for ref in index.plain["fine_tuning.job.checkpoint"].values():
        raw = index.raw(ref)
        jobs.setdefault(jsontext.decode(raw)["fine_tuning_job_id"], []).append(one_line(raw))
    for job, lines in jobs.items():
        maker.archive.write(part_name("checkpoints", job, ".jsonl"), b"".join(line + b"\n" for line in lines))
        maker.report.made["checkpoints"] += len(lines)
