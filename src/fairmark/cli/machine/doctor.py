"""fairmark doctor: what this machine can do, or each machine of a cluster."""

from collections.abc import Sequence
from typing import Annotated

import typer

from fairmark.cli.machine.findings import Finding, examine
from fairmark.cli.shared.engines import ADDRESS_HELP, EngineName, read_machines
from fairmark.cli.shared.exits import EXIT_BELOW


def command(
    engine: Annotated[
        EngineName, typer.Option(metavar="ENGINE", help="local: this machine; ray: each machine of a Ray cluster.")
    ] = EngineName.local,
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help=ADDRESS_HELP)] = None,
) -> None:
    """Say what this machine can do, and how to mend what it cannot.

    Untrusted code is really run in the sandbox, and every way out of it is tried.

    [bold]Example[/bold]

      fairmark doctor

    Exit status: 0 python graders can run, 1 they cannot: on a cluster, where one of its machines cannot run them.
    """
    machines = read_machines(engine, address, None)
    if machines.engine is None:
        is_well = _tell(list(examine()))
    else:
        from fairmark.cli.machine.nodes import examine_cluster

        is_well = True
        for node, findings in examine_cluster(machines.address):
            typer.echo(node)
            is_well = _tell(findings) and is_well
    if not is_well:
        raise typer.Exit(EXIT_BELOW)


def _tell(findings: Sequence[Finding]) -> bool:
    """Whether all that is needed is there."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok  " if finding.ok else "FAIL" if finding.needed else "note"
        typer.echo(f"{mark}  {finding.name:{width}}  {finding.found}")
        if not finding.ok and finding.fix:
            typer.echo(f"      {'':{width}}  {finding.fix}")
    return all(finding.ok or not finding.needed for finding in findings)
