"""fairmark kinds: the types of grader there are."""

import typer

from fairmark.graders import KINDS


def command() -> None:
    """List the kinds of grader and the fields each takes.

    [bold]Example[/bold]

      fairmark kinds
    """
    width = max(map(len, KINDS))
    for name, kind in KINDS.items():
        typer.echo(f"{name:{width}}  {kind.summary}")
        fields = [
            field if info.is_required() else f"[{field}]"
            for field, info in kind.spec.model_fields.items()
            if field not in {"type", "name"}
        ]
        typer.echo(f"{'':{width}}  {' '.join(sorted(fields, key=lambda field: field.startswith('[')))}")
