"""What each machine of a cluster can do."""

from collections.abc import Iterator
from typing import Any

from fairmark import __version__
from fairmark.cli.machine.findings import Finding, examine
from fairmark.cluster.on_ray import on_each_node

SAME = "All machines of the cluster need the same Fairmark: pip install the same version on each."


def examine_cluster(address: str) -> Iterator[tuple[str, list[Finding]]]:
    """The name of each machine, and what was found there. Raises ClusterUnusable."""
    for node, told in on_each_node(address, examine_here):
        if isinstance(told, str):
            yield node, [Finding("Fairmark", False, told, SAME)]
        else:
            version, findings = told
            yield node, [version_finding(version), *(Finding(*finding) for finding in findings)]


def examine_here() -> tuple[str, list[Any]]:
    """Called on each machine; another version there may know other findings."""
    return __version__, [tuple(finding) for finding in examine()]


def version_finding(there: str) -> Finding:
    if there == __version__:
        return Finding("Fairmark", True, there)
    return Finding("Fairmark", False, f"{there}, and {__version__} here", SAME)
