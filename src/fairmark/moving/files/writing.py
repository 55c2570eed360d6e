"""What is made of a foreign file, in the wire's own form and with ids that come from its content: the same file twice
makes the same objects, and so no second copy."""

import contextlib
import hashlib
import io
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from fairmark import jsontext
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.files.drafts import Accepted, accepted
from fairmark.moving.files.notes import FileReport
from fairmark.store import ids
from fairmark.store.evals.counts import Counts

NO_TOKENS = {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0}
MOST_NAME_CHARS = 200
_SAMPLE = {"type": "object"}


class UnkeptArchive(Archive):
    """An archive of which nothing is kept, for those who only want to know what would come."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))

    def read(self, name: str) -> bytes | None:
        return None

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        yield _Sink()


class _Sink(io.BytesIO):
    def write(self, content: Any, /) -> int:
        return len(content)


class Maker:
    """Writes the objects of one file into an archive, and counts them in the report."""

    def __init__(
        self, archive: Archive, report: FileReport, source: str, created_at: int, accept: Accepted | None = None
    ) -> None:
        """`source`: a digest of the whole file, of which ids are made. `created_at`: for what has no date itself.
        `accept`: whether drafts are accepted."""
        self.archive = archive
        self.report = report
        self.created_at = created_at
        self._source = source
        self._accept = accept
        self._evals: list[bytes] = []
        self._files: list[bytes] = []
        self.is_part = False
        """Other files may have more of the same things, and then what is there stays."""
        self.made_up: dict[str, list[str]] = {"evals": [], "runs": []}
        """Ids of things that the file only names."""

    def digest(self, *parts: str) -> str:
        text = "\0".join((self._source, *parts))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def criterion_id(self, eval_key: str, name: str, number: int) -> str:
        """`<name>-<uuid>`, as the service makes them."""
        return f"{name}-{uuid.UUID(self.digest('criterion', eval_key, str(number))[:32])}"

    def add_eval(
        self,
        key: str,
        name: str,
        criteria: Sequence[Mapping[str, Any]],
        fields: Iterable[str],
        metadata: Mapping[str, str] | None = None,
        eval_id: str | None = None,
    ) -> dict[str, Any]:
        """An eval over rows with these fields. Criteria that have no id yet get one, and each name stands once."""
        if self._accept is not None:
            criteria = [accepted(criterion, self._accept) for criterion in criteria]
        named = _names_once(criteria)
        eval_: dict[str, Any] = {
            "object": "eval",
            "id": eval_id or f"eval_{self.digest('eval', key)[:32]}",
            "name": jsontext.shorten(name, MOST_NAME_CHARS),
            "data_source_config": {
                "type": "custom",
                "schema": {
                    "type": "object",
                    "properties": {
                        "item": {"type": "object", "properties": {field: {} for field in fields}},
                        "sample": _SAMPLE,
                    },
                    "required": ["item"],
                },
            },
            "testing_criteria": [
                {**grader, "id": grader.get("id") or self.criterion_id(key, str(grader["name"]), number)}
                for number, grader in enumerate(named)
            ],
            "created_at": self.created_at,
            "metadata": dict(metadata or {}),
        }
        self.keep_eval(jsontext.encode(eval_))
        return eval_

    def keep_eval(self, raw: bytes) -> None:
        self._evals.append(one_line(raw))
        self.report.made["evals"] += 1

    def keep_file(self, raw: bytes) -> None:
        self._files.append(one_line(raw))
        self.report.made["files"] += 1

    def file_id(self, key: str) -> str:
        return f"file-{self.digest('file', key)[:24]}"

    def add_rows(self, key: str, filename: str, rows: Iterable[Mapping[str, Any]]) -> str:
        """A file of rows, each with `item` and perhaps `sample`; its id. Memory is that of one row."""
        file_id = self.file_id(key)
        size = count = 0
        with self.archive.writing(part_name("files", file_id)) as file:
            for row in rows:
                line = jsontext.encode(row) + b"\n"
                file.write(line)
                size += len(line)
                count += 1
        self.keep_file(jsontext.encode(file_object(file_id, filename, size, self.created_at)))
        self.report.made["rows"] += count
        return file_id

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """The lists, the report and at last the manifest: without that it is no archive."""
        if self._evals:
            self.archive.write("evals.jsonl", b"".join(line + b"\n" for line in self._evals))
        if self._files:
            self.archive.write("files.jsonl", b"".join(line + b"\n" for line in self._files))
        problems = self.report.of_kind("problem")
        if problems:
            lines = ({"what": note.place, "why": note.text} for note in problems)
            self.archive.write("problems.jsonl", b"".join(jsontext.encode(line) + b"\n" for line in lines))
        self.archive.write("report.md", ("\n".join(self._page()) + "\n").encode())
        self.archive.save_manifest({**manifest, **({"part": self.made_up} if self.is_part else {})})

    def _page(self) -> Iterator[str]:
        first, *others = self.report.lines()
        yield f"# {first}\n"
        for line in others:
            yield f"- {line.strip()}" if line.startswith("  ") else f"\n## {line.rstrip(':')}\n"
        if self.report.starts:
            yield "\n## Runs that can be started now\n"
        for eval_id, body in self.report.starts:
            yield f"`POST /v1/evals/{eval_id}/runs`\n"
            yield "\n".join(f"    {line}" for line in jsontext.encode_pretty(body).splitlines()) + "\n"


def one_line(raw: bytes) -> bytes:
    """JSON that was written over several lines: no line ends within its texts."""
    return b" ".join(raw.splitlines())


def file_object(file_id: str, filename: str, size: int, created_at: int) -> dict[str, Any]:
    return {
        "object": "file",
        "id": file_id,
        "bytes": size,
        "created_at": created_at,
        "filename": filename,
        "purpose": "evals",
        "status": "processed",
    }


def _names_once(criteria: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    seen: set[str] = set()
    named: list[Mapping[str, Any]] = []
    for grader in criteria:
        name = str(grader["name"])
        number = 2
        while name in seen:
            name = f"{grader['name']} {number}"
            number += 1
        seen.add(name)
        named.append({**grader, "name": name})
    return named


class RunWriter:
    """One run of history: its output items one after the other, and the run with what they add up to."""

    def __init__(self, maker: Maker, eval_id: str, run_id: str, file: IO[bytes]) -> None:
        self._maker = maker
        self._eval_id = eval_id
        self.run_id = run_id
        self._file = file
        self._counts = Counts()
        self._total = 0

    @classmethod
    @contextlib.contextmanager
    def open(cls, maker: Maker, eval_id: str, run_id: str) -> Iterator["RunWriter"]:
        with maker.archive.writing(part_name("items", run_id, ".jsonl")) as file:
            yield cls(maker, eval_id, run_id, file)

    def add(
        self,
        index: int,
        item: Any,
        results: Sequence[Mapping[str, Any]],
        sample: Mapping[str, Any],
        created_at: int,
        status: str | None = None,
    ) -> None:
        """An item, with the status that was given to it, or else the one that results and sample add up to."""
        if status is None:
            status = "error" if sample.get("error") else worst([outcome_of(result) for result in results])
        line = {
            "object": "eval.run.output_item",
            "id": ids.of_item(self.run_id, index),
            "run_id": self.run_id,
            "eval_id": self._eval_id,
            "created_at": created_at,
            "status": status,
            "datasource_item_id": index,
            "datasource_item": item,
            "results": results,
            "sample": sample,
        }
        self._counts.count(status, {str(result["name"]): outcome_of(result) for result in results})
        usage = sample.get("usage") or NO_TOKENS
        if sample.get("model") and any(usage.values()):
            names = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")
            self._counts.spend(str(sample["model"]), [usage[name] for name in names], None)
        self._total += 1
        self._file.write(jsontext.encode(line) + b"\n")
        self._maker.report.made["items"] += 1

    def finish(self, name: str, model: str | None, file_id: str, created_at: int) -> None:
        """The run itself. Its rows are in the file, with their samples: they can be graded again."""
        counts = self._counts
        run = {
            "object": "eval.run",
            "id": self.run_id,
            "eval_id": self._eval_id,
            "report_url": f"/evals/{self._eval_id}/runs/{self.run_id}",
            "status": "completed",
            "model": model,
            "name": jsontext.shorten(name, MOST_NAME_CHARS),
            "created_at": created_at,
            "result_counts": {
                "total": self._total,
                "passed": counts.passed,
                "failed": counts.failed,
                "errored": counts.errored,
                "skipped": counts.skipped,
            },
            "per_model_usage": usage_wire(counts),
            "per_testing_criteria_results": [
                dict(zip(("testing_criteria", "passed", "failed", "errored", "skipped"), (id_, *numbers), strict=True))
                for id_, numbers in counts.criteria_counts.items()
            ],
            "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": file_id}},
            "error": None,
            "metadata": {},
        }
        self._maker.archive.write(part_name("runs", self.run_id, ".json"), jsontext.encode(run))
        self._maker.report.made["runs"] += 1


def usage_wire(counts: Counts) -> list[dict[str, Any]]:
    names = ("invocation_count", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")
    return [
        {"model_name": model, **dict(zip(names, numbers, strict=True))}
        for model, numbers in sorted(counts.usage.items())
    ]


def result_wire(criterion_id: str, score: float | None, passed: bool | None, why: str, sample: Any) -> dict[str, Any]:
    """An entry of an output item's `results`. Without a verdict `passed` is null and the row counts as skipped: a score
    alone says neither that it passed nor that it failed."""
    return {
        "name": criterion_id,
        "type": "custom-grader",
        "score": score,
        "passed": passed,
        "sample": sample,
        "status": "graded" if passed is not None else "skipped",
        "error": why if passed is None else None,
    }


def outcome_of(result: Mapping[str, Any]) -> str:
    return verdict_of(result.get("passed"))


def verdict_of(passed: Any) -> str:
    return "pass" if passed is True else "fail" if passed is False else "skip"


def worst(outcomes: Sequence[str]) -> str:
    """An item's status: a skip is worse than a failure. One that nobody has judged is a skip too."""
    for outcome in ("error", "skip", "fail"):
        if outcome in outcomes:
            return outcome
    return "pass" if outcomes else "skip"
