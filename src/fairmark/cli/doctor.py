"""fairmark doctor: what this machine can do."""

import typer

from fairmark.cli import machine as doctor
from fairmark.cli.exits import EXIT_BELOW


def command() -> None:
    """Say what this machine can do, and how to mend what it cannot.

    Untrusted code is really run in the sandbox, and every way out of it is tried.

    [bold]Example[/bold]

      fairmark doctor

    Exit status: 0 python graders can run, 1 they cannot.
    """
    findings = list(doctor.examine())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok  " if finding.ok else "FAIL" if finding.needed else "note"
        typer.echo(f"{mark}  {finding.name:{width}}  {finding.found}")
        if not finding.ok and finding.fix:
            typer.echo(f"      {'':{width}}  {finding.fix}")
    if any(finding.needed and not finding.ok for finding in findings):
        raise typer.Exit(EXIT_BELOW)
