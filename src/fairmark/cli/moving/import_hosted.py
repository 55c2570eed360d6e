"""fairmark import openai, azure: read a hosted service into an archive, and load that."""

import asyncio
import functools
import inspect
import os
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from fairmark import jsontext
from fairmark.cli.moving import moved
from fairmark.cli.moving.import_load import load_archive
from fairmark.cli.moving.pulling import PullProgress
from fairmark.cli.shared import exits
from fairmark.cli.shared.database import Db, check_database, checked_project, without_password
from fairmark.errors import InvalidData
from fairmark.moving.archive import Archive
from fairmark.moving.pull import SECTIONS, Pulled, pull
from fairmark.moving.pull.door import OPENAI, Door, azure_door, openai_door
from fairmark.moving.pull.dry import count
from fairmark.moving.pull.service import HostedService
from fairmark.moving.report import MovingReport, render, report_of

OnClash = Literal["skip", "replace", "copy"]


class _Options(NamedTuple):
    """What both commands take after their own options, in the order of their help."""

    archive: Annotated[
        Path | None, typer.Option("--archive", metavar="DIR", help="The archive's folder; goes on with the one there.")
    ] = None
    only: Annotated[
        str | None, typer.Option("--only", metavar="LIST", help=f"Some of {','.join(SECTIONS)}; without it, all.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Leave out what is older: 2026-01-31. Evals are all read."),
    ] = None
    responses: Annotated[
        Path | None,
        typer.Option("--responses", metavar="FILE", help="Ids of responses, one a line: no list shows them."),
    ] = None
    on_clash: Annotated[OnClash, typer.Option("--on-clash", help="When an id is taken by something else here.")] = (
        "skip"
    )
    deadline: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop then, in good order.")] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what there is; write nothing.")] = False
    pull_only: Annotated[bool, typer.Option("--pull-only", help="Write the archive and load nothing.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False
    project: Annotated[str, typer.Option(help="Where it goes: projects do not see each other.")] = "default"
    db: Db = None


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it: its last parameter, `options`, is a parameter for each of theirs."""
    own = inspect.signature(command)
    read = inspect.signature(_Options)
    parameters = [parameter for name, parameter in own.parameters.items() if name != "options"]

    @functools.wraps(command)
    def called(**words: Any) -> None:
        options = _Options(**{name: words.pop(name) for name in _Options._fields})
        command(**words, options=options)

    called.__signature__ = own.replace(parameters=[*parameters, *read.parameters.values()])  # type: ignore[attr-defined]
    called.__annotations__ = {**command.__annotations__, **_Options.__annotations__}
    return called


@_with_options
def openai(
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help=f"A region's address; without it OPENAI_BASE_URL or {OPENAI}."),
    ] = None,
    key_env: Annotated[
        str, typer.Option("--key-env", metavar="NAME", help="The variable of the environment that has the key.")
    ] = "OPENAI_API_KEY",
    *,
    options: _Options,
) -> None:
    """Read evals, runs, output items, files, fine-tuning jobs, stored completions and responses from OpenAI.

    What is read goes into an archive first, byte for byte; killed or stopped, the same command goes on. A key sees one
    project: run it once for each, with an archive of its own.

    [bold]Example[/bold]

      fairmark import openai --archive openai-archive

    Exit status: 0 everything, 2 a wrong option or the key is refused, 3 finished with problems or stopped early, 130
    stopped with Ctrl-C.
    """
    door = openai_door(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
    _Wanted(door, key_env, options).run(["openai"])


@_with_options
def azure(
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="The resource or the Foundry project; without it AZURE_OPENAI_ENDPOINT.",
        ),
    ] = None,
    api_version: Annotated[
        str | None,
        typer.Option("--api-version", metavar="V", help="v1, preview, or a date for the older paths."),
    ] = None,
    auth: Annotated[
        Literal["key", "bearer"] | None,
        typer.Option("--auth", help="key: an API key; bearer: a token. Foundry projects take a token."),
    ] = None,
    key_env: Annotated[
        str, typer.Option("--key-env", metavar="NAME", help="The variable of the environment with the key or token.")
    ] = "AZURE_OPENAI_API_KEY",
    *,
    options: _Options,
) -> None:
    """Read the same from Azure OpenAI or a Foundry project.

    [bold]Example[/bold]

      fairmark import azure --base-url https://NAME.openai.azure.com --archive azure-archive

    Exit status: 0 everything, 2 a wrong option or the key is refused, 3 finished with problems or stopped early, 130
    stopped with Ctrl-C.
    """
    endpoint = base_url or os.environ.get("AZURE_OPENAI_ENDPOINT")
    if not endpoint:
        raise InvalidData("--base-url: missing, and AZURE_OPENAI_ENDPOINT is not set. Name the resource's address.")
    door = azure_door(endpoint, api_version, "api-key" if auth == "key" else auth)
    words = ["azure"] + [
        word for pair in (("--api-version", api_version), ("--auth", auth)) if pair[1] for word in pair
    ]
    _Wanted(door, key_env, options).run([str(word) for word in words])


class _Wanted:
    """One call of a command, checked."""

    def __init__(self, door: Door, key_env: str, options: _Options) -> None:
        """Raises InvalidData or InvalidProject."""
        self.door = door
        self.key_env = key_env
        self.options = options
        self.key = _key(key_env)
        self.archive = Archive(options.archive or Path(f"{door.source}-archive"))
        self.only = _sections(options.only)
        self.since = _time(options.since)
        self.response_ids = _ids(options.responses)
        if options.deadline is not None and not options.deadline > 0:
            raise InvalidData(f"--deadline: found {options.deadline:g}. It takes seconds, more than 0.")
        checked_project(options.project)

    def run(self, words: list[str]) -> None:
        if self.options.dry_run:
            self._count()
            return
        if not self.options.pull_only:
            check_database(self.options.db)  # reading may take hours, and comes first
        try:
            pulled = self._asked(self._pull)
        except KeyboardInterrupt:
            typer.echo(f"\nStopped. What was read is kept. To go on:\n  {self._command(words)}", err=True)
            raise
        if pulled.stopped and not self.archive.manifest():
            typer.echo(f"{pulled.stopped} Nothing was read. To try again:\n  {self._command(words)}", err=True)
            raise typer.Exit(exits.EXIT_UNGRADED)
        report = report_of(self.archive)
        report.stopped = pulled.stopped
        if pulled.stopped or pulled.problems:
            report.go_on = self._command(words)
        is_whole = True
        if self.options.pull_only or pulled.stopped:
            report.load = self._load_command()
        else:
            is_whole = self._load(report)
        self.archive.write("report.md", render(report, most=1000).encode())
        typer.echo(jsontext.encode(report.dump()).decode() if self.options.as_json else render(report), nl=False)
        if pulled.stopped or pulled.problems or not is_whole:
            raise typer.Exit(exits.EXIT_UNGRADED)

    async def _pull(self, service: HostedService) -> Pulled:
        with PullProgress() as progress:
            return await pull(
                self.archive,
                service,
                only=self.only,
                since=self.since,
                response_ids=self.response_ids,
                deadline_s=self.options.deadline,
                watch=progress.update,
            )

    def _load(self, report: MovingReport) -> bool:
        """Whether all of it is in the store now; the report says what became of it."""
        project, db = self.options.project, self.options.db
        loaded = moved.with_progress(
            lambda progress: load_archive(self.archive, self.options.on_clash, False, project, db, progress)
        )
        report.loaded = dict(loaded.counts())
        report.notes += loaded.remarks()
        if not loaded.is_whole:
            report.load = self._load_command()
        return loaded.is_whole

    def _count(self) -> None:
        counted = self._asked(lambda service: count(service, self.only, self.since))
        for kind, number in counted.objects.items():
            typer.echo(f"{number:,} {kind}")
        typer.echo(f"{counted.file_bytes:,} bytes in files")
        for problem in counted.problems:
            typer.echo(problem, err=True)
        if counted.problems:
            raise typer.Exit(exits.EXIT_UNGRADED)

    def _asked(self, work: "Any") -> Any:
        async def asked() -> Any:
            service = HostedService(self.door, self.key, os.environ)
            try:
                return await work(service)
            finally:
                await service.close()

        return asyncio.run(asked())

    def _command(self, words: list[str]) -> str:
        """The command that goes on: the same one, with everything that was read from the environment named."""
        read = self.options
        more = _told({"--only": read.only, "--since": read.since, "--responses": read.responses})
        where = ["--pull-only"] if read.pull_only else self._into()
        named = ["--base-url", self.door.base_url, "--key-env", self.key_env, "--archive", str(self.archive.folder)]
        return shlex.join(["fairmark", "import", *words, *named, *more, *where])

    def _load_command(self) -> str:
        return shlex.join(["fairmark", "import", "load", str(self.archive.folder), *self._into()])

    def _into(self) -> list[str]:
        """Where it is loaded to, and how, where that was said. What is printed and kept must hold no password."""
        read = self.options
        clash = read.on_clash if read.on_clash != "skip" else None
        project = read.project if read.project != "default" else None
        return _told({"--on-clash": clash, "--project": project, "--db": read.db and without_password(read.db)})


def _told(options: dict[str, str | Path | None]) -> list[str]:
    return [word for name, value in options.items() if value for word in (name, str(value))]


def _key(name: str) -> str:
    """Raises InvalidData."""
    key = os.environ.get(name, "").strip()
    if not key:
        raise InvalidData(
            f"--key-env: the environment has no {name}. Set it to the key; keys are read from nowhere else."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidData(f"--key-env: {name} has characters that no key has.")
    return key


def _sections(only: str | None) -> tuple[str, ...]:
    """Raises InvalidData."""
    if only is None:
        return SECTIONS
    wanted = [word.strip() for word in only.split(",") if word.strip()]
    for word in wanted:
        if word not in SECTIONS:
            raise InvalidData(f"--only: found {jsontext.quote(word)}. It takes some of {','.join(SECTIONS)}.")
    if not wanted:
        raise InvalidData(f"--only: found nothing. It takes some of {','.join(SECTIONS)}.")
    return tuple(wanted)


def _time(since: str | None) -> float:
    """Raises InvalidData."""
    if since is None:
        return 0
    try:
        time = datetime.fromisoformat(since)
    except ValueError:
        raise InvalidData(f"--since: found {jsontext.quote(since)}. It takes a date: 2026-01-31.") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _ids(file: Path | None) -> list[str]:
    """Raises InvalidData."""
    if file is None:
        return []
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidData(f"--responses: {file}: {str(why).lower()}.") from None
    for number, line in enumerate(lines, 1):
        if line and not (
            line.startswith("resp_") and len(line) <= 150 and line.replace("_", "").replace("-", "").isalnum()
        ):
            shown = jsontext.quote(jsontext.shorten(line, 60))
            raise InvalidData(f"--responses: {file}: line {number}: found {shown}. It takes an id: resp_….")
    return [line for line in lines if line]
