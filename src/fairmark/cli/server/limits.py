"""fairmark limits: what projects may take of the server."""

from typing import Annotated, Any

import msgspec
import typer

from fairmark.cli.shared.database import Db, with_store
from fairmark.cli.shared.tables import show_table
from fairmark.errors import InvalidData
from fairmark.store import Allowance, Store

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Set and list what projects may take of a server. A running one knows within a second.",
)

_HEADINGS = ("PROJECT", "WEIGHT", "REQUESTS", "TOKENS/DAY", "DOLLARS/DAY", "ROWS QUEUED", "STORAGE")
_NONE = "none"


@app.command("set")
def set_(
    project: Annotated[str, typer.Argument(help="Whose limits.")],
    weight: Annotated[
        float | None, typer.Option(help="Its part of what is scarce, against others who want some; 1 is usual.")
    ] = None,
    requests: Annotated[str | None, typer.Option(metavar="N", help="Requests at once; none for no limit.")] = None,
    tokens: Annotated[str | None, typer.Option(metavar="N", help="Tokens of models a day, in UTC.")] = None,
    dollars: Annotated[str | None, typer.Option(metavar="X", help="Dollars for models a day, in UTC.")] = None,
    rows: Annotated[str | None, typer.Option(metavar="N", help="Rows of runs that wait to be graded.")] = None,
    storage_mb: Annotated[str | None, typer.Option(metavar="N", help="Megabytes of files and completions.")] = None,
    db: Db = None,
) -> None:
    """Set limits of a project; those that are not named stay as they are.

    [bold]Example[/bold]

      fairmark limits set team-a --weight 2 --dollars 50 --requests none

    Exit status: 0 set, 2 a bad option or database, 3 the database cannot be used now.
    """
    changes: dict[str, Any] = {} if weight is None else {"weight": weight}
    options = (
        ("requests_at_once", "--requests", requests, 1),
        ("tokens_a_day", "--tokens", tokens, 1),
        ("dollars_a_day", "--dollars", dollars, None),
        ("rows_queued", "--rows", rows, 1),
        ("storage_bytes", "--storage-mb", storage_mb, 1_000_000),
    )
    for name, option, text, unit in options:
        if text is not None:
            changes[name] = _read(option, text, unit)
    if not changes:
        raise InvalidData("there is nothing to set. Name a limit, as in --requests 8.")

    async def change(store: Store) -> Allowance:
        now = (await store.limits.all()).get(project, Allowance())
        wanted = msgspec.structs.replace(now, **changes)
        await store.limits.set(project, wanted)
        return wanted

    _show({project: with_store(db, change, makes=True)})


@app.command("list")
def list_(db: Db = None) -> None:
    """List the limits of projects that have some.

    [bold]Example[/bold]

      fairmark limits list
    """
    _show(with_store(db, lambda store: store.limits.all()))


def _read(option: str, text: str, unit: int | None) -> float | int | None:
    if text.strip().lower() == _NONE:
        return None
    try:
        return float(text) if unit is None else int(text.replace("_", "").replace(",", "")) * unit
    except ValueError:
        raise InvalidData(f"{option}: found {text!r}. It takes a number, or {_NONE}.") from None


def _show(limits: dict[str, Allowance]) -> None:
    def shown(value: float | None) -> str:
        return _NONE if value is None else f"{value:,}" if isinstance(value, int) else f"{value:g}"

    show_table(
        _HEADINGS,
        [(project, *(shown(value) for value in msgspec.structs.astuple(limit))) for project, limit in limits.items()],
    )
