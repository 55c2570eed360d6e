"""fairmark runs: the group."""

from tests.cli.conftest import Run


def test_the_group_lists_its_commands(fairmark: Run) -> None:
    text = fairmark("runs", "--help").stdout
    for name in ("list", "show", "compare", "regrade", "export", "delete"):
        assert f" {name} " in text
