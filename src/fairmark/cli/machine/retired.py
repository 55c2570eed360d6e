"""fairmark models retired: which judges are gone or will go, and the aliases that put others in their place."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from fairmark.cli.shared import exits
from fairmark.cli.shared.tables import show_table
from fairmark.errors import InvalidData, Unanswered
from fairmark.judges.models import LOCAL, Provider, read_registry
from fairmark.judges.offers import Offers
from fairmark.judges.retired import AS_OF, RETIRED, alias_lines


def retired(
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the configured providers for their dates, and show what differs.")
    ] = False,
) -> None:
    """List the judge models that are gone or have a day on which they go, and the aliases to paste.

    Nothing follows the table by itself: a replacement judges differently, and only an alias of yours puts it in place.

    [bold]Example[/bold]

      fairmark models retired

    Exit status: 0 it is shown, 2 nobody to ask with --refresh, 3 a provider did not tell.
    """
    today = datetime.now(UTC).date()
    typer.echo(f"OpenAI's list as of {AS_OF}:")
    show_table(
        ("MODEL", "ENDS", "", "REPLACEMENT"),
        [
            (name, str(ends.gone), "gone" if ends.gone <= today else "going", ends.replacement or "none named")
            for name, ends in RETIRED.items()
        ],
    )
    typer.echo("\nTo put the replacements in place, paste into fairmark.toml; their scores will differ:\n")
    typer.echo("\n".join(_aliases(today)))
    if refresh:
        typer.echo("")
        _refresh()


def _aliases(today: date) -> list[str]:
    """The table for fairmark.toml. What still answers is a comment in it, so that nothing changes before it has to."""
    lines = ["[aliases]"]
    for name, ends in RETIRED.items():
        if ends.replacement is not None:
            (line,) = alias_lines([(name, ends.replacement)])
            lines.append(line if ends.gone <= today else f"# from {ends.gone}: {line}")
    return lines


def _refresh() -> None:
    """Raises InvalidData where no provider is configured that could tell."""
    providers = [
        provider
        for provider in read_registry().providers.values()
        if provider.kind == "openai" and provider.name != LOCAL
    ]
    if not providers:
        raise InvalidData(
            "--refresh: no provider that lists models is configured. Set OPENAI_API_KEY, or name one in fairmark.toml."
        )
    is_silent = False
    for provider, ends in zip(providers, asyncio.run(_ask(providers)), strict=True):
        if isinstance(ends, Unanswered):
            typer.echo(f"{provider.name}: {ends}", err=True)
            is_silent = True
        else:
            _show_difference(provider, ends)
    if is_silent:
        raise typer.Exit(exits.EXIT_UNGRADED)


async def _ask(providers: list[Provider]) -> list[dict[str, date] | Unanswered]:
    async def one(provider: Provider) -> dict[str, date] | Unanswered:
        try:
            return await offers.ends(provider)
        except Unanswered as silent:
            return silent

    offers = Offers()
    try:
        return list(await asyncio.gather(*map(one, providers)))
    finally:
        await offers.close()


def _show_difference(provider: Provider, ends: Mapping[str, date]) -> None:
    differing = {name: day for name, day in ends.items() if name not in RETIRED or RETIRED[name].gone != day}
    where = f"{provider.name} ({provider.base_url})"
    if not ends:
        typer.echo(f"{where} tells no dates.")
    elif not differing:
        typer.echo(f"{where} tells {len(ends)} dates, all as in the list above.")
    else:
        typer.echo(f"{where} tells {len(ends)} dates; these differ from the list above:")
        known = {name: str(RETIRED[name].gone) if name in RETIRED else "not in it" for name in differing}
        show_table(
            ("MODEL", "ENDS", "LIST ABOVE"), [(name, str(day), known[name]) for name, day in sorted(differing.items())]
        )
