"""fairmark keys."""

import asyncio
import re
from pathlib import Path

import pytest

from fairmark.store import Key, Store
from tests.cli.conftest import Run


def find(home: Path, key: str, url: str | None = None) -> Key | None:
    async def ask() -> Key | None:
        store = await Store.open(url, home)
        try:
            return await store.keys.find(key)
        finally:
            await store.close()

    return asyncio.run(ask())


def test_a_key_is_printed_alone_and_opens_its_project(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("keys", "create", "--project", "team-1", "--name", "ci", env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"fm-[0-9a-f]{48}\n", done.stdout)
    found = find(tmp_path, done.stdout.strip())
    assert found is not None
    assert (found.project, found.name) == ("team-1", "ci")


@pytest.mark.parametrize("how", ["--db", "FAIRMARK_DB"])
def test_the_database_may_be_named(fairmark: Run, tmp_path: Path, how: str) -> None:
    url = f"sqlite:///{tmp_path}/other.db"
    options, environment = (["--db", url], {}) if how == "--db" else ([], {"FAIRMARK_DB": url})
    done = fairmark("keys", "create", *options, env={"FAIRMARK_HOME": str(tmp_path), **environment})
    assert find(tmp_path, done.stdout.strip(), url) is not None
    assert not (tmp_path / "fairmark.db").exists()


def test_keys_are_listed_without_what_opens_anything(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}
    assert fairmark("keys", "list", env=home).stdout == "ID  PROJECT  NAME  START  CREATED  REVOKED\n"
    key = fairmark("keys", "create", "--name", "two\nlines", env=home).stdout.strip()
    fairmark("keys", "create", "--project", "b", env=home)
    heading, first, second = fairmark("keys", "list", env=home).stdout.splitlines()
    assert heading.split() == ["ID", "PROJECT", "NAME", "START", "CREATED", "REVOKED"]
    assert re.fullmatch(
        rf'key_[0-9a-f]{{16}}  default  "two\\nlines"  {key[:8]}…  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ  -', first
    )
    assert second.split()[1] == "b"
    (only,) = fairmark("keys", "list", "--project", "b", env=home).stdout.splitlines()[1:]
    assert only.split() == second.split()


def test_a_revoked_key_opens_nothing_even_while_a_server_runs(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}

    async def serve() -> None:
        store = await Store.open(None, tmp_path)
        try:
            key = (await asyncio.to_thread(fairmark, "keys", "create", env=home)).stdout.strip()
            found = await store.keys.find(key)
            assert found is not None
            done = await asyncio.to_thread(fairmark, "keys", "revoke", found.id, env=home)
            assert (done.returncode, done.stdout, done.stderr) == (0, f"{found.id}: revoked\n", "")
            assert await store.keys.find(key) is None
        finally:
            await store.close()

    asyncio.run(serve())
    assert not fairmark("keys", "list", env=home).stdout.endswith("-\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["revoke", "key_1"], 2, 'there is no key "key_1". List them: fairmark keys list\n'),
        (
            ["create", "--project", "a/b"],
            2,
            'project: found "a/b". It takes 1 to 64 letters, digits, and any of . _ -\n',
        ),
        (["list", "--db", "mysql://x"], 2, 'of an unknown kind "mysql". Use sqlite:///… or postgresql://….\n'),
        (["list", "--db", "postgresql://u:secret@127.0.0.1:1/d"], 3, "u:***@127.0.0.1:1/d cannot be used now: "),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    fairmark: Run, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = fairmark("keys", *arguments, env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
