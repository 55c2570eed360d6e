"""fairmark serve: what it says when it starts and when it cannot."""

import socket
from pathlib import Path

from tests.cli.conftest import Run


def test_an_address_others_can_reach_needs_keys(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("serve", "--host", "0.0.0.0", "--port", "0", env={"FAIRMARK_HOME": str(tmp_path)})  # noqa: S104
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "0.0.0.0: others can reach this address, and there is no key yet. Make one with fairmark keys create, or "
        "serve on 127.0.0.1.\n"
    )


def test_a_port_that_is_taken_is_told_as_such(fairmark: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = fairmark("serve", "--port", port, env={"FAIRMARK_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == f"127.0.0.1:{port}: address already in use. Choose another with --port.\n"


def test_a_host_that_is_none_is_told_as_such(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("serve", "--host", "no such host", env={"FAIRMARK_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith("--host no such host: ")


def test_a_database_that_cannot_be_used_is_told_as_such(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}
    done = fairmark("serve", "--port", "0", "--db", "mysql://x/y", env=home)
    assert done.returncode == 2
    assert 'unknown kind "mysql"' in done.stderr
    done = fairmark("serve", "--port", "0", env={**home, "FAIRMARK_DB": "postgresql://u:hidden@127.0.0.1:1/x"})
    assert done.returncode == 2
    assert "cannot be used now" in done.stderr
    assert "hidden" not in done.stderr


def test_a_wrong_level_is_refused(fairmark: Run) -> None:
    done = fairmark("serve", "--log-level", "loud")
    assert done.returncode == 2
    assert "loud" in done.stderr
