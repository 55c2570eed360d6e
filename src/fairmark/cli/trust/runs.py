"""Runs as people name them: a results file of fairmark eval, the id of a run in this machine's store or on a server, or
the address of its page."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fairmark import jsontext
from fairmark.cli.shared.database import checked_project, with_store
from fairmark.errors import ApiError, InvalidData

if TYPE_CHECKING:
    from fairmark.client.remote import RemoteBackend
    from fairmark.store import Eval, Run, Store
    from fairmark.trust.results import GradedRun

EvalId = Annotated[str | None, typer.Option("--eval", metavar="ID", help="The eval that the runs belong to.")]
ServerUrl = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Where the runs are, with the key in FAIRMARK_API_KEY; else here."),
]
Project = Annotated[str, typer.Option(help="Without --server: whose runs they are.")]
RUN_HELP = "A results file of fairmark eval, the id of a run, or the address of its page."
_PAGE = re.compile(r"(https?://[^/]+(?:/.*?)?)/evals/([^/?#]+)/runs/([^/?#]+)")
_RUN_ID = "evalrun_"


class RunPlace(NamedTuple):
    """Where ids are looked up."""

    eval_id: str | None = None
    server: str | None = None
    project: str = "default"
    db: str | None = None


def read_named(names: Sequence[str], criterion: str | None, place: RunPlace) -> "list[GradedRun]":
    """The runs of these names, in their order. Raises InvalidData."""
    from fairmark.trust.results import read_results

    by_id: dict[str, GradedRun] = {}
    ids = [name for name in names if _is_id(name, place)]
    if ids:
        read = _from_server if place.server or any(map(_PAGE.match, ids)) else _from_store
        by_id = dict(zip(ids, read(ids, criterion, place), strict=True))
    return [by_id[name] if name in by_id else read_results(name, criterion) for name in names]


def read_eval(criterion: str | None, place: RunPlace) -> "list[GradedRun]":
    """All runs of the eval that are completed and have rows, the oldest first. Raises InvalidData."""
    return _from_server(None, criterion, place) if place.server else _from_store(None, criterion, place)


def _is_id(name: str, place: RunPlace) -> bool:
    if _PAGE.match(name):
        return True
    return not Path(name).exists() and (name.startswith(_RUN_ID) or place.eval_id is not None)


def _from_store(ids: Sequence[str] | None, criterion: str | None, place: RunPlace) -> "list[GradedRun]":
    from fairmark.checks.requests import MOST_RUNS
    from fairmark.checks.steps import completed_runs, read_run, step_names

    async def read(store: "Store") -> "list[GradedRun]":
        project = checked_project(place.project)
        eval_ = None if place.eval_id is None else await _eval(store, project, place.eval_id)
        if ids is None:
            assert eval_ is not None  # noqa: S101  # asked for by the eval alone
            runs = await completed_runs(store, eval_, MOST_RUNS)
        else:
            runs = [await _run(store, project, run_id, place.eval_id) for run_id in ids]
        steps = []
        for run, name in zip(runs, step_names(runs), strict=True):
            of_eval = eval_ or await _eval(store, project, run.eval_id)
            steps.append(await read_run(store, run, _criterion(run.criteria or of_eval.criteria, criterion), name))
        return steps

    return with_store(place.db, read)


async def _eval(store: "Store", project: str, eval_id: str) -> "Eval":
    eval_ = await store.evals.get(project, eval_id)
    if eval_ is None:
        raise InvalidData(f"there is no eval {jsontext.quote(eval_id)} in the project {project} here.")
    return eval_


async def _run(store: "Store", project: str, run_id: str, eval_id: str | None) -> "Run":
    run = await store.runs.find(project, run_id)
    if run is None or eval_id not in (None, run.eval_id):
        of = "" if eval_id is None else f" of the eval {eval_id}"
        raise InvalidData(
            f"{jsontext.quote(run_id)}: neither a file nor a run{of} in the project {project} here. "
            "--server says on which server it is."
        )
    return run


def _criterion(criteria: Sequence[Any], named: str | None) -> Any:
    """Raises InvalidData, in the words of the command."""
    from fairmark.checks.steps import criterion_named

    try:
        return criterion_named(criteria, named)
    except ApiError as error:
        raise InvalidData(f"--{error.message}") from None


def _from_server(ids: Sequence[str] | None, criterion: str | None, place: RunPlace) -> "list[GradedRun]":
    from fairmark.client.remote import RemoteBackend
    from fairmark.work import eventloop

    server = place.server
    named: list[tuple[str | None, str]] = []
    for name in ids or ():
        page = _PAGE.match(name)
        if page is not None and server not in (None, page[1]):
            raise InvalidData(f"{name}: it is on another server than {server}.")
        server = page[1] if page is not None else server
        named.append((place.eval_id, name) if page is None else (page[2], page[3]))
    try:
        remote = RemoteBackend(server or "", os.environ.get("FAIRMARK_API_KEY") or None)
    except ValueError as error:
        raise InvalidData(f"--server: {error}") from None

    async def read() -> "list[GradedRun]":
        if ids is None:
            listed = await remote.runs(place.eval_id or "")
            ended = [run for run in listed if run.get("status") == "completed"]
            return [await _remote(remote, place.eval_id, run["id"], criterion) for run in ended]
        return [await _remote(remote, eval_id, run_id, criterion) for eval_id, run_id in named]

    return eventloop.run(read())


async def _remote(remote: "RemoteBackend", eval_id: str | None, run_id: str, criterion: str | None) -> "GradedRun":
    from fairmark.checks.steps import graded_row
    from fairmark.trust.results import GradedRun

    if eval_id is None:
        raise InvalidData(f"{run_id}: on a server a run is found by its eval too. Say which: --eval ID.")
    run = await remote.run(eval_id, run_id)
    criteria = run.get("testing_criteria") or (await remote.eval(eval_id)).get("testing_criteria") or []
    chosen = _criterion(criteria, criterion)
    called = (chosen["id"], chosen["name"])
    rows = [graded_row(jsontext.encode(item), called) async for item in remote.output_items(eval_id, run_id)]
    if not rows:
        raise InvalidData(f"{run_id}: there are no rows in it.")
    return GradedRun(run.get("name") or run_id, chosen["name"], rows)
