"""The results file: one line of JSON a row, in the order of the data, readable again to go on where a run stopped.

It is written beside, under its name with `.partial` behind it, and renamed when it is whole.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from fairmark import jsontext
from fairmark.data.dataset import DataRow
from fairmark.data.outfile import adopt_mode, is_special
from fairmark.errors import InvalidData
from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec

PARTIAL = ".partial"
"""What a results file has behind its name until it is whole."""
FLUSH_EVERY_S = 0.5
"""What a crash of the machine can cost; what was flushed survives the process."""


_NOTHING_ELSE = Grade(0.0)[1:]


class StoredUsage(msgspec.Struct):
    total_tokens: int = 0


class StoredJudgement(msgspec.Struct):
    usage: StoredUsage = msgspec.field(default_factory=StoredUsage)
    cost: float | None = None


class StoredResult(msgspec.Struct):
    """What a line says about one grader, as far as counting needs it."""

    reward: float
    passed: bool | None = None
    error: str | None = None
    skipped: str | None = None
    judgements: list[StoredJudgement] = []
    spread: dict[str, Any] | None = None
    row_warnings: list[str] = msgspec.field(default_factory=list, name="warnings")


class StoredRow(msgspec.Struct):
    """A line of the file."""

    row: int
    graders: str
    results: dict[str, StoredResult]
    item: Any = None

    @property
    def is_skipped(self) -> bool:
        """Whether a grader has left it out, so that it is to be graded again."""
        return any(result.skipped is not None for result in self.results.values())


def fingerprint(graders: Mapping[str, GraderSpec]) -> str:
    """A short name for exactly these graders under these labels; it stands on every line."""
    content = jsontext.encode({label: spec.echo() for label, spec in graders.items()})
    return hashlib.sha256(content).hexdigest()[:12]


class ResultsFile:
    """Writes results, and reads those of an interrupted run. `-` is standard output."""

    def __init__(
        self, path: str, stream: IO[bytes], before: "_Before | None" = None, target: Path | None = None
    ) -> None:
        self.path = path
        """Where the results are now."""
        self._stream = stream
        self._before = before
        self._target = target
        self._flushed = time.monotonic()

    @classmethod
    def create(cls, path: str, *, stdout: IO[bytes], overwrite: bool) -> "ResultsFile":
        """A new file. An old one is only replaced when the caller says so, and not before the new one is whole."""
        if path == "-":
            return cls(path, stdout)
        if is_special(Path(path)):
            return cls(path, _open(path, "wb"))
        target = Path(path).resolve()
        partial = _partial(path)
        for there in (path, partial):
            if not overwrite and Path(there).exists():
                raise InvalidData(f"{there}: exists already. --resume goes on with it, --overwrite replaces it.")
        stream = _open(partial, "wb")
        adopt_mode(Path(partial), target)
        return cls(partial, stream, target=target)

    @classmethod
    def go_on(cls, path: str, *, again: bool) -> "ResultsFile":
        """The file of an interrupted run, to be written on, where `stopped` found it.

        `again`: rows of it that were skipped are graded again. They come where they were, between the others, and the
        old file stays until the new one holds as much. Else a last line that was cut off is dropped.
        """
        where = stopped(path)
        target = Path(path).resolve() if where != path else None
        if again:
            before = _Before(where)
            return cls(where, before.new, before, target)
        stream = _open(where, "r+b")
        end = stream.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        stream.truncate(end)
        stream.seek(end)
        return cls(where, stream, target=target)

    def write(self, number: int, line: bytes) -> None:
        """A row by its number: what `encode_row` made of it."""
        now = time.monotonic()
        try:
            if self._before is not None and self._before.copy_until(number):
                self._before = None
            self._stream.write(line + b"\n")
            if now - self._flushed > FLUSH_EVERY_S:
                self._stream.flush()
                self._flushed = now
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unusable(error) from None

    def close(self, *, whole: bool) -> None:
        """The results take their own name where they are whole, and also where nothing has that name.

        What stopped short of that leaves an older file as it is.
        """
        try:
            if self._before is not None:
                self._before.copy_until(None)
            if self.path == "-":
                self._stream.flush()
                return
            self._stream.close()
            if self._target is not None and (whole or not self._target.exists()):
                Path(self.path).replace(self._target)
                self.path = str(self._target)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> InvalidData:
        return InvalidData.unusable(self.path, error, " What was written before is kept.")


class _Numbered(msgspec.Struct):
    row: int


class _Before:
    """The results of a run before this one, to be copied between what this one writes."""

    def __init__(self, path: str) -> None:
        self._target = Path(path).resolve()
        self._copy = self._target.with_name(f"{self._target.name}.resumed")
        self._old = _open(path, "rb")
        self._held: tuple[int, bytes] | None = None
        self.new = _open(str(self._copy), "wb")
        shutil.copymode(self._target, self._copy)

    def copy_until(self, number: int | None) -> bool:
        """Copy the lines before that row and drop its own; all that are left where there is none.

        True when there are no more: the copy has then taken the old file's place.
        """
        while (line := self._next()) is not None:
            if number is not None and line[0] > number:
                self._held = line
                return False
            if line[0] != number:
                self.new.write(line[1])
        self.new.flush()
        self._copy.replace(self._target)
        self._old.close()
        return True

    def _next(self) -> tuple[int, bytes] | None:
        held, self._held = self._held, None
        if held is not None:
            return held
        line = self._old.readline()
        return (msgspec.json.decode(line, type=_Numbered).row, line) if line.endswith(b"\n") else None


def stopped(path: str) -> str:
    """Where a run that is to go on has its results: beside, where it could not end as it should, or under its name."""
    partial = _partial(path)
    return partial if Path(partial).exists() else path


def _partial(path: str) -> str:
    """Beside what a link leads to, so that the link stays one."""
    target = Path(path)
    return f"{target.resolve() if target.is_symlink() else path}{PARTIAL}"


def stored_rows(path: str, graders: str) -> Iterator[StoredRow]:
    """The whole lines of a results file. Raises InvalidData where they are not results of these graders."""
    decoder = msgspec.json.Decoder(StoredRow)
    with _open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            try:
                row = decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                raise InvalidData(f"{path}: line {number} is not a result line; cannot resume.") from None
            if row.graders != graders:
                raise InvalidData(f"{path}: line {number} was made by other graders; cannot resume.")
            yield row


def lines_but(path: str, rows: Container[int]) -> Iterator[bytes]:
    """The whole lines of a results file but for these rows', without their ends."""
    with _open(path, "rb") as stream:
        for line in stream:
            if line.endswith(b"\n") and msgspec.json.decode(line, type=_Numbered).row not in rows:
                yield line[:-1]


def read_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Of somebody's results file all lines that are not blank, with their numbers; the last one may be cut off.
    Raises InvalidData."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  # only the opening may fail like this
    except OSError as error:
        raise InvalidData.unusable(path, error) from None
    with stream:
        yield from ((number, line) for number, line in enumerate(stream, 1) if line.strip())


def no_result_line(path: str, number: int) -> InvalidData:
    words = "not a line of results. fairmark eval … -o FILE writes such files."
    return InvalidData(f"{path}: line {number}: {words}", number)


def encode_row(graders: str, row: DataRow, results: Mapping[str, Result], *, with_input: bool = False) -> bytes:
    """A line, without its end. `graders`: their fingerprint. `with_input`: also what judges were sent."""
    return jsontext.encode(
        {
            "row": row.number,
            "graders": graders,
            "results": {label: _short(result, with_input) for label, result in results.items()},
            "item": row.item,
            "sample": row.sample,
        }
    )


def _short(result: Result, with_input: bool) -> dict[str, Any]:
    """A result without what is empty: the 14 error keys only where one is set."""
    grade = result.grade
    if grade[1:] == _NOTHING_ELSE and not result.row_warnings:  # most rows
        time_s = result.execution_time
        return {"reward": grade.reward, "passed": result.passed, "status": "graded", "execution_time": time_s}
    short: dict[str, Any] = {"reward": grade.reward, "passed": result.passed, "status": result.status}
    if grade.sub_rewards:
        short["sub_rewards"] = dict(grade.sub_rewards)
    if grade.error is not None:
        short["error"] = grade.error
        short["errors"] = dict(grade.flags)
    if grade.skipped is not None:
        short["skipped"] = grade.skipped
    if result.row_warnings:
        short["warnings"] = result.row_warnings
    if grade.printed is not None:
        short["printed"] = grade.printed
    if grade.spread is not None:
        short["spread"] = grade.spread
    if grade.judgements:
        judgements = [judgement.dump() for judgement in grade.judgements]
        short["judgements"] = judgements if with_input else [_without_input(judgement) for judgement in judgements]
    short["execution_time"] = result.execution_time
    return short


def _without_input(judgement: dict[str, Any]) -> dict[str, Any]:
    """Grader, item and sample say what the judge was sent."""
    del judgement["input"]
    return judgement


def _open(path: str, mode: str) -> IO[bytes]:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return open(path, mode)  # noqa: PTH123  # the caller closes it
    except OSError as error:
        raise InvalidData.unusable(path, error) from None
