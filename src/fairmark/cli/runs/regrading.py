"""fairmark runs regrade: the answers of a run, graded again by other criteria or other judges."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairmark import jsontext
from fairmark.cli.runs.opening import Project, Server, remote_of, with_place
from fairmark.cli.shared import inputs
from fairmark.cli.shared.database import Db, checked_project
from fairmark.errors import InvalidData
from fairmark.kept.found import RunSource, find
from fairmark.settings import settings

if TYPE_CHECKING:
    from fairmark.store import Store


def regrade(
    which: Annotated[list[str], typer.Argument(metavar="[EVAL] RUN", help="The run by id, name or last; or both ids.")],
    criteria: Annotated[
        str, typer.Option("--criteria", metavar="FILE", help="A JSON list of graders in place of the run's criteria.")
    ] = "",
    judge: Annotated[
        list[str] | None, typer.Option("--judge", metavar="OLD=NEW", help="Ask another model. May be given often.")
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="RUN", help="Another run of the eval: its answers are sample.against.output_text.")
    ] = "",
    name: Annotated[str, typer.Option(help="What the new run is called.")] = "",
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Make a new run of the rows and answers that a run has, graded again. Nothing is sampled.

    With --server, that server works it off, and the new run is printed as it begins. Without, it is worked off here, on
    a database that no server uses, and printed once it has ended.

    [bold]Example[/bold]

      fairmark runs regrade last --judge o3-mini=gpt-5.6-sol

    Exit status: 0 made, 2 something is wrong with the request, 3 the server or the database cannot be used now.
    """
    if len(which) > 2:
        raise InvalidData(f"found {len(which)} names. It takes a run, or an eval's id and a run's.")
    body: dict[str, Any] = {"name": name} if name else {}
    if criteria:
        body["testing_criteria"] = _criteria(criteria)
    if judge:
        body["judges"] = dict(map(_judge, judge))
    if against:
        body["against"] = against
    eval_id, run_id = which if len(which) == 2 else _ids(which[0], server, project, db)
    made = _asked(server, eval_id, run_id, body) if server else _here(db, project, eval_id, run_id, body)
    typer.echo(jsontext.encode_pretty(made))


def _ids(text: str, server: str, project: str, db: str | None) -> tuple[str, str]:
    async def found(place: RunSource) -> tuple[str, str]:
        run = await find(place, text)
        return run.eval_id, run.id

    return with_place(server, project, db, found)


def _criteria(file: str) -> list[Any]:
    try:
        graders = jsontext.decode(inputs.read_bytes(file).removeprefix(b"\xef\xbb\xbf"))
    except jsontext.NotJson as error:
        raise InvalidData(f"{file}: not JSON: {error}.") from None
    if not isinstance(graders, list):
        raise InvalidData(f"{file}: found {jsontext.describe(graders)}. It takes a list of graders.")
    return graders


def _judge(text: str) -> tuple[str, str]:
    old, separator, new = text.partition("=")
    if not separator or not old or not new:
        raise InvalidData(f"--judge: found {jsontext.quote(text)}. It takes OLD=NEW, two names of models.")
    return old, new


def _asked(server: str, eval_id: str, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
    from fairmark.work import eventloop

    return eventloop.run(remote_of(server).regrade(eval_id, run_id, body))


def _here(db: str | None, project: str, eval_id: str, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        from fairmark.store import Store
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server's database needs {error.name}: pip install 'fairmark[server]'") from None
    import asyncio

    async def opened() -> dict[str, Any]:
        store = await Store.open(db or settings().db or None, settings().data_folder, makes=False)
        try:
            return await _work(store, checked_project(project), eval_id, run_id, body)
        finally:
            await store.close()

    return asyncio.run(opened())


async def _work(store: "Store", project: str, eval_id: str, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
    import asyncio

    from fairmark.errors import ApiError
    from fairmark.evals.engine import Engine
    from fairmark.evals.eval_calls import find_eval
    from fairmark.evals.regrade import regrade as grade_again
    from fairmark.evals.run_calls import find_run, run_wire
    from fairmark.registry.lookup import Registry

    engine = Engine(store)
    try:
        eval_ = await find_eval(store, project, eval_id)
        run = await find_run(store, project, eval_id, run_id)
        made = await grade_again(store, Registry(store.graders.find), engine, project, eval_, run, body)
    except ApiError as error:
        raise InvalidData(error.message) from None
    await engine.start()
    try:
        while made.status in ("queued", "in_progress"):
            await asyncio.sleep(0.05)
            made = await find_run(store, project, eval_id, made.id)
    finally:
        await engine.stop()
    shown: dict[str, Any] = jsontext.decode(jsontext.encode(run_wire(made, "")))
    return {name: value for name, value in shown.items() if name not in ("data_source", "report_url")}
