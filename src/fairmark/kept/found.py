"""Runs in this machine's store or on a server: listed, found by what people type, read."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fairmark import jsontext
from fairmark.data.comparing import Outcomes
from fairmark.data.comparison import Side
from fairmark.data.pairing import Column
from fairmark.data.warnings import Counted
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.kept import notebook_page, summary
from fairmark.kept.ids import is_meant, short_id
from fairmark.outcomes import OUTCOMES
from fairmark.row import hash_item

if TYPE_CHECKING:
    from fairmark.client.runs import ServedRuns
    from fairmark.store import Run, Store

LAST = "last"
MOST_LISTED = 1_000


@dataclass(frozen=True, repr=False)
class KeptRun:
    """As much of a run as is shown."""

    id: str
    eval_id: str
    eval_name: str
    name: str
    status: str
    created_at: int
    rows: int
    outcomes: Outcomes
    """Of its rows: each has the worst that a criterion made of it."""
    criteria: Sequence[Mapping[str, Any]]
    counts: Mapping[str, Outcomes]
    """By the criterion's id."""
    cost: float | None
    seconds: float | None
    error: str | None
    reasons: Mapping[str, int] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """What is known of its data file."""
    mark: str | None = None
    stored: Any = None
    """The run itself, for its own place."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    """What each criterion made of every row; empty where only a list was asked for."""
    not_passed: Sequence[Mapping[str, Any]] = ()
    """The first rows that did not pass, likewise."""

    @property
    def shown(self) -> str:
        """A name for people, which finds it again."""
        return f"{self.name} ({short_id(self.id)})" if self.name else short_id(self.id)

    def model_dump(self) -> dict[str, Any]:
        """What `fairmark runs show --json` prints."""
        return {**summary.summary(self), "not_passed": [dict(row) for row in self.not_passed]}

    def _repr_html_(self) -> str:
        return notebook_page.run_html(self)

    def __repr__(self) -> str:
        return f"<KeptRun {self.shown}: {self.status}, {self.rows:,} rows of {self.eval_name or self.eval_id}>"


class KeptRuns(list[KeptRun]):
    """Runs, the newest first: a list, that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return notebook_page.runs_html(self)


class RunSource(Protocol):
    """Where runs are."""

    async def runs(
        self, limit: int, eval_name: str = "", name: str | None = None, start: str | None = None
    ) -> list[KeptRun]:
        """The newest first: of evals of this name or id, of this name, whose ids begin so."""
        ...

    async def whole(self, run: KeptRun) -> KeptRun:
        """With what a list leaves out: its data, and criteria."""
        ...

    def items(self, run: KeptRun) -> AsyncIterator[list[bytes]]: ...

    async def columns(self, run: KeptRun) -> dict[str, Column]:
        """By the names of its criteria, as many of one name as there are."""
        ...

    async def delete(self, run: KeptRun) -> None: ...


async def find(place: RunSource, text: str, eval_name: str = "", but_not: str | None = None) -> KeptRun:
    """The run that is meant: by its id or the first digits of it, by `last`, or the last one of that name.

    Raises InvalidData where none is, or several are.
    """
    if text == LAST:
        runs = [run for run in await place.runs(2, eval_name) if run.id != but_not]
        if runs:
            return await place.whole(runs[0])
    for start in (text, f"evalrun_{text}"):
        by_id = [run for run in await place.runs(3, start=start) if is_meant(text, run.id)]
        if len(by_id) > 1 and text not in {run.id for run in by_id}:
            raise InvalidData(f"{jsontext.quote(text)}: several runs have ids that begin so. Give more of it.")
        if by_id:
            return await place.whole(next((run for run in by_id if run.id == text), by_id[0]))
    named = [run for run in await place.runs(20, eval_name, name=text) if run.id != but_not]
    done = [run for run in named if run.status == "completed"] or named
    if done:
        return await place.whole(done[0])
    raise InvalidData(await _unknown(place, text))


async def _unknown(place: RunSource, text: str) -> str:
    runs = await place.runs(200)
    if not runs:
        return f"{jsontext.quote(text)}: there are no runs yet. fairmark eval makes them."
    names = list(dict.fromkeys(run.name for run in runs if run.name))
    told = f" Names: {', '.join(jsontext.shorten(name, 40) for name in names[:10])}." if names else ""
    return (
        f"{jsontext.quote(text)}: no run has this id or name, and there is no such file.{told} See fairmark runs list."
    )


async def side_of(place: RunSource, run: KeptRun) -> Side:
    return Side(
        run.shown,
        await place.columns(run),
        {str(criterion["name"]) for criterion in run.criteria if has_no_threshold(criterion)},
        {str(criterion["name"]): _hash(criterion) for criterion in run.criteria},
        run.mark,
        run.data.get("sha256"),
        run.cost,
        run.seconds,
        Counted.of(run.warnings),
    )


def has_no_threshold(criterion: Mapping[str, Any]) -> bool:
    from fairmark.evals.criteria import grader_of
    from fairmark.parse import parse

    try:
        return parse(grader_of(criterion)).threshold is None
    except InvalidGrader:
        return False


def _hash(criterion: Mapping[str, Any]) -> str:
    grader = {key: value for key, value in criterion.items() if key != "id"}
    return hashlib.sha256(jsontext.encode(dict(sorted(grader.items())))).hexdigest()


class StoredRuns:
    """Those of a project in a store."""

    def __init__(self, store: "Store", project: str) -> None:
        self._store = store
        self._project = project

    async def runs(
        self, limit: int, eval_name: str = "", name: str | None = None, start: str | None = None
    ) -> list[KeptRun]:
        listed = await self._store.history.of_project(
            self._project, MOST_LISTED if eval_name else limit, name=name, start=start
        )
        runs = [
            _of_store(of_eval, run) for of_eval, run in listed if not eval_name or eval_name in (of_eval, run.eval_id)
        ]
        return runs[:limit]

    async def whole(self, run: KeptRun) -> KeptRun:
        eval_ = await self._store.evals.get(self._project, run.eval_id)
        stored = await self._store.runs.get(self._project, run.eval_id, run.id)
        if eval_ is None or stored is None:
            raise InvalidData(f"{run.shown}: it was deleted just now.")
        return _of_store(eval_.name, stored, stored.criteria or eval_.criteria)

    async def items(self, run: KeptRun) -> AsyncIterator[list[bytes]]:
        async for items in self._store.rows.stream(run.stored):
            yield [item.body for item in items]

    async def columns(self, run: KeptRun) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for index, criterion in enumerate(run.criteria):
            column = Column()
            for outcome in range(len(OUTCOMES)):
                after = -1
                while page := await self._store.scores.graded(run.stored, index, outcome, after):
                    for idx, item_hash, score in page:
                        column.add(idx, item_hash, outcome, score)
                    after = page[-1][0]
            columns.setdefault(str(criterion["name"]), column)
        return columns

    async def delete(self, run: KeptRun) -> None:
        await self._store.runs.delete(self._project, run.eval_id, run.id)


def _of_store(eval_name: str, run: "Run", criteria: Sequence[Mapping[str, Any]] = ()) -> KeptRun:
    from fairmark.evals.regrade import data_source_of

    source = jsontext.decode(data_source_of(run)) if criteria else {}
    data = source.get("source") if isinstance(source, dict) else None
    both = run.started_at is not None and run.ended_at is not None
    return KeptRun(
        run.id,
        run.eval_id,
        eval_name,
        run.name,
        run.status,
        run.created_at,
        run.passed + run.failed + run.errored + run.skipped,
        Outcomes(run.passed, run.failed, run.errored, run.skipped),
        criteria,
        {id_: Outcomes(*numbers) for id_, numbers in run.criteria_counts.items()},
        run.cost,
        (run.ended_at or 0.0) - (run.started_at or 0.0) if both else None,
        None if run.error is None else str(run.error.get("message") or run.error),
        run.reasons or {},
        run.warnings or {},
        {name: data[name] for name in ("name", "path", "sha256") if name in data} if isinstance(data, dict) else {},
        run.metadata.get("graders") if isinstance(run.metadata.get("graders"), str) else None,
        run,
    )


class RunsOnServer:
    """Those that a key may see."""

    def __init__(self, served: "ServedRuns") -> None:
        self._served = served

    async def runs(
        self, limit: int, eval_name: str = "", name: str | None = None, start: str | None = None
    ) -> list[KeptRun]:
        runs: list[KeptRun] = []
        async for eval_ in self._served.evals():
            if eval_name and eval_name not in (eval_.get("name"), eval_.get("id")):
                continue
            runs += [
                _of_server(eval_, run)
                for run in await self._served.runs(str(eval_["id"]), limit if name is None and start is None else None)
                if (name is None or run.get("name") == name) and (start is None or str(run["id"]).startswith(start))
            ]
        runs.sort(key=lambda run: -run.created_at)
        return runs[:limit]

    async def whole(self, run: KeptRun) -> KeptRun:
        return run

    async def items(self, run: KeptRun) -> AsyncIterator[list[bytes]]:
        async for items in self._served.items(run.eval_id, run.id):
            yield [jsontext.encode(item) for item in items]

    async def columns(self, run: KeptRun) -> dict[str, Column]:
        from fairmark.evals.foreign import by_criterion, item_status, result_outcome, result_score, results_of

        columns: dict[str, Column] = {str(criterion["name"]): Column() for criterion in run.criteria}
        async for items in self._served.items(run.eval_id, run.id):
            for place, item in enumerate(items):
                row = item.get("datasource_item")
                number = item.get("datasource_item_id")
                results, _ = by_criterion(results_of(item), run.criteria)
                for criterion, result in zip(run.criteria, results, strict=True):
                    if result is not None:
                        columns[str(criterion["name"])].add(
                            number if isinstance(number, int) else place,
                            hash_item(row if isinstance(row, dict) else {}),
                            OUTCOMES.index(result_outcome(result, item_status(item))),
                            result_score(result),
                        )
        return columns

    async def delete(self, run: KeptRun) -> None:
        await self._served.delete(run.eval_id, run.id)


def _of_server(eval_: Mapping[str, Any], run: Mapping[str, Any]) -> KeptRun:
    counts = run.get("result_counts") or {}
    source = (run.get("data_source") or {}).get("source") or {}
    metadata = run.get("metadata") or {}
    return KeptRun(
        str(run["id"]),
        str(run["eval_id"]),
        str(eval_.get("name") or ""),
        str(run.get("name") or ""),
        str(run.get("status") or ""),
        int(run.get("created_at") or 0),
        int(counts.get("total") or 0),
        _outcomes(counts),
        run.get("testing_criteria") or eval_.get("testing_criteria") or [],
        {str(one.get("testing_criteria")): _outcomes(one) for one in run.get("per_testing_criteria_results") or []},
        run.get("cost"),
        None,
        None if not run.get("error") else str((run["error"] or {}).get("message") or run["error"]),
        {str(reason.get("reason")): int(reason.get("count") or 0) for reason in run.get("error_reasons") or []},
        {str(warning.get("warning")): int(warning.get("count") or 0) for warning in run.get("warnings") or []},
        {name: source[name] for name in ("name", "path", "sha256") if isinstance(source, dict) and name in source},
        metadata.get("graders"),
        run,
    )


def _outcomes(counts: Mapping[str, Any]) -> Outcomes:
    return Outcomes(*(int(counts.get(name) or 0) for name in ("passed", "failed", "errored", "skipped")))
