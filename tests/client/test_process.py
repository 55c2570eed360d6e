"""What a client leaves behind, what it needs to be installed, and that its two forms are one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairmark.work import eventloop
from tests.client.places import new_key
from tests.server.client import Server

NO_DATABASE = "import sys\nfor name in ('sqlalchemy', 'aiosqlite', 'alembic'):\n    sys.modules[name] = None\n"


def run(code: str, home: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(home)},
        check=False,
    )


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("local", "AsyncClient"),
        ("remote", "Client"),
        pytest.param("local", "Client", marks=pytest.mark.thorough),
        pytest.param("remote", "AsyncClient", marks=pytest.mark.thorough),
    ],
)
def test_a_process_ends_silently_with_a_client_that_nobody_closed(
    server: Server, tmp_path: Path, where: str, kind: str
) -> None:
    address = (server.url, eventloop.run(new_key(server.home, "silent"))) if where == "remote" else ()
    call = "client.graders.list()" if kind == "Client" else "asyncio.run(client.graders.list())"
    code = f"import asyncio, fairmark\nclient = fairmark.{kind}(*{address!r})\nprint({call})"
    done = run(code, tmp_path / "home", "-W", "error")
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)


def test_a_server_is_reached_without_the_packages_of_a_database(tmp_path: Path) -> None:
    code = f"""{NO_DATABASE}
import fairmark
try:
    fairmark.Client("http://127.0.0.1:9").graders.list()
except fairmark.FairmarkError as error:
    print(type(error), error)
fairmark.Client()
"""
    done = run(code, tmp_path)
    assert done.stdout.startswith("<class 'fairmark.errors.ServerAway'> the server 127")
    told = done.stderr.splitlines()[-1]
    assert re.search(r"needs \w+: pip install 'fairmark\[server\]'\. Or name a server by base_url\.$", told)
