"""Plain tables: a line a thing, columns that line up, nothing that breaks a line."""

from collections.abc import Sequence

import typer

from fairmark import jsontext


def show_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    shown = [headings, *([_on_one_line(word) for word in line] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for line in shown:
        typer.echo("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else jsontext.quote(text)
