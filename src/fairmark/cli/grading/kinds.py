"""fairmark kinds: the types of grader there are."""

import typer

from fairmark.graders import all_kinds, unusable_kinds


def command() -> None:
    """List the kinds of grader and the fields each takes, those of installed plugins too.

    [bold]Example[/bold]

      fairmark kinds
    """
    kinds = all_kinds()
    width = max(map(len, kinds))
    for name, kind in kinds.items():
        typer.echo(f"{name:{width}}  {kind.summary}")
        fields = [
            field if info.is_required() else f"[{field}]"
            for field, info in kind.spec.model_fields.items()
            if field not in {"type", "name"}
        ]
        typer.echo(f"{'':{width}}  {' '.join(sorted(fields, key=lambda field: field.startswith('[')))}")
    for problem in unusable_kinds():
        typer.echo(f"warning: {problem}", err=True)
