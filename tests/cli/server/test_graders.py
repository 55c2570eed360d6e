"""fairmark graders, and graders by key in the other commands."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fairmark.registry.packs import read_pack
from fairmark.store import Store
from tests.cli.conftest import ROOT, Run
from tests.server.client import Server

PACK = ROOT / "examples" / "graders.json"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"FAIRMARK_HOME": str(tmp_path)}


@pytest.fixture
def graders(fairmark: Run, home: dict[str, str]) -> Run:
    return lambda *words, **more: fairmark("graders", *words, env=home, **more)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the graders of the example pack. Most tests begin there."""

    async def make() -> None:
        store = await Store.open(None, folder)
        await store.graders.bring("default", read_pack(json.loads(PACK.read_text())), update=False)
        await store.close()

    folder = tmp_path_factory.mktemp("imported")
    asyncio.run(make())
    return folder / "fairmark.db"


@pytest.fixture
def imported(database: Path, tmp_path: Path) -> None:
    shutil.copy(database, tmp_path)


def kept(home: Path) -> list[str]:
    async def ask() -> list[str]:
        store = await Store.open(None, home)
        found = [each.key for each in await store.graders.all("default")]
        await store.close()
        return found

    return asyncio.run(ask())


def changed(**changes: Any) -> dict[str, Any]:
    """The example pack with its first grader changed."""
    pack: dict[str, Any] = json.loads(PACK.read_text())
    pack["graders"][0]["grader"].update(changes)
    return pack


def test_a_pack_is_imported_with_a_word_on_each_grader(graders: Run, tmp_path: Path) -> None:
    done = graders("import", str(PACK))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "exact-match: created\nmostly-right: created\n"
    assert graders("import", str(PACK)).stdout == "exact-match: unchanged\nmostly-right: unchanged\n"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(changed(operation="like")))
    done = graders("import", str(other), "--update")
    assert done.stdout == "exact-match: updated\nmostly-right: unchanged\n"
    shown = json.loads(graders("show", "exact-match").stdout)
    assert (shown["version"], shown["grader"]["operation"]) == (2, "like")
    shown = json.loads(graders("show", "exact-match", "--version", "1").stdout)
    assert (shown["version"], shown["grader"]["operation"]) == (1, "eq")


@pytest.mark.usefixtures("imported")
def test_a_pack_that_changes_what_is_there_needs_update_and_else_does_nothing(graders: Run, tmp_path: Path) -> None:
    pack = changed(operation="like")
    pack["graders"].insert(0, {**pack["graders"][0], "key": "another"})
    done = graders("import", "-", stdin=json.dumps(pack))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        '-: key: there is a grader "exact-match" already. Change that one, or use another key. '
        "--update gives those that differ a new version.\n"
    )
    assert kept(tmp_path) == ["exact-match", "mostly-right"]
    graders("lock", "exact-match")
    done = graders("import", "-", "--update", stdin=json.dumps(pack))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == '-: the grader "exact-match" is locked. Unlock it first.\n'
    assert kept(tmp_path) == ["exact-match", "mostly-right"]


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        ("{", "-: not JSON: "),
        ("[]", "-: expected a pack, an object with graders; found a list of 0."),
        ("{}", "-: $.graders: missing. A pack is "),
        ('{"graders": [{"key": "a"}]}', "-: $.graders[0].grader: missing. It takes an object."),
        (
            '{"graders": [{"key": "A", "grader": {"type": "custom"}}]}',
            '-: $.graders[0].key: found "A". A key has 1 to 128 of a-z',
        ),
        (
            '{"graders": [{"key": "a", "grader": {"type": "custom"}}, {"key": "b", "grader": {"type": "magic"}}]}',
            '-: $.graders[1].grader.type: unknown type "magic". Use one of: ',
        ),
        (
            '{"graders": [{"key": "a", "grader": {"type": "function", "source": "x = 1"}}]}',
            "-: $.graders[0].grader.source: structure: no top-level async def grade",
        ),
    ],
)
def test_a_wrong_pack_is_told_with_its_place_and_nothing_is_imported(
    graders: Run, tmp_path: Path, pack: str, message: str
) -> None:
    done = graders("import", "-", stdin=pack)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert kept(tmp_path) == []


@pytest.mark.usefixtures("imported")
def test_an_export_is_the_same_file_anywhere(graders: Run, fairmark: Run, tmp_path: Path) -> None:
    done = graders("export")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", PACK.read_text())
    out = tmp_path / "pack.json"
    done = graders("export", "-o", str(out))
    assert (done.returncode, done.stdout, out.read_text()) == (0, "", PACK.read_text())
    elsewhere = {"FAIRMARK_HOME": str(tmp_path / "elsewhere")}
    fairmark("graders", "import", str(out), env=elsewhere)
    fairmark("graders", "lock", "exact-match", env=elsewhere)
    fairmark("graders", "unlock", "exact-match", env=elsewhere)
    assert fairmark("graders", "export", env=elsewhere).stdout == PACK.read_text()


@pytest.mark.usefixtures("imported")
def test_some_graders_may_be_exported(graders: Run, tmp_path: Path) -> None:
    for keys in (["exact-match"], ["mostly-right", "exact-match", "mostly-right"]):
        pack = json.loads(graders("export", *keys).stdout)
        assert [each["key"] for each in pack["graders"]] == sorted(set(keys))
    out = tmp_path / "pack.json"
    done = graders("export", "exact-match", "lost", "-o", str(out))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'there is no grader "lost". List them: fairmark graders list\n'
    assert not out.exists()


def test_half_an_emoji_survives_an_export(graders: Run, tmp_path: Path) -> None:
    pack = {"graders": [{"key": "a", "name": "\ud83d ü", "grader": {"type": "custom"}}]}
    graders("import", "-", stdin=json.dumps(pack))
    found = graders("export").stdout
    assert json.loads(found)["graders"][0]["name"] == "\ud83d ü"
    (tmp_path / "pack.json").write_text(found)
    assert graders("import", str(tmp_path / "pack.json")).stdout == "a: unchanged\n"


@pytest.mark.usefixtures("imported")
def test_graders_are_listed_by_key(graders: Run) -> None:
    graders("lock", "mostly-right")
    heading, first, second = graders("list").stdout.splitlines()
    assert heading.split() == ["KEY", "VERSION", "TYPE", "NAME", "LOCKED", "CHANGED", "JUDGE"]
    assert re.fullmatch(r"exact-match +1 +string_check +Exact match +- +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ +-", first)
    assert re.fullmatch(r"mostly-right +1 +multi +Mostly right +yes +20.*Z +-", second)


@pytest.mark.usefixtures("imported")
def test_a_locked_grader_is_not_deleted_until_it_is_unlocked(graders: Run) -> None:
    assert graders("lock", "exact-match").stdout == "exact-match: locked\n"
    done = graders("delete", "exact-match")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'the grader "exact-match" is locked. Unlock it first.\n'
    assert graders("unlock", "exact-match").stdout == "exact-match: unlocked\n"
    assert graders("delete", "exact-match").stdout == "exact-match: deleted\n"
    assert graders("show", "exact-match").returncode == 2


@pytest.mark.usefixtures("imported")
def test_projects_do_not_see_each_others_graders(graders: Run) -> None:
    assert graders("list", "--project", "other").stdout.count("\n") == 1
    assert graders("delete", "exact-match", "--project", "other").returncode == 2
    assert graders("import", str(PACK), "--project", "other").stdout.startswith("exact-match: created")
    graders("delete", "mostly-right", "--project", "other")
    assert graders("list", "--project", "other").stdout.count("\n") == 2
    assert graders("list").stdout.count("\n") == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "lost"], 2, 'there is no grader "lost". List them: fairmark graders list\n'),
        (["show", "lost", "--version", "2"], 2, 'there is no version 2 of grader "lost".'),
        (["lock", "lost"], 2, 'there is no grader "lost".'),
        (["unlock", "lost"], 2, 'there is no grader "lost".'),
        (["delete", "\x01"], 2, 'there is no grader "\\u0001".'),
        (["import", "lost.json"], 2, "lost.json: no such file or directory.\n"),
        (["export", "-o", "no/where.json"], 2, "no/where.json: no such file or directory.\n"),
        (["list", "--project", "a/b"], 2, 'project: found "a/b". It takes 1 to 64 letters, digits, and any of . _ -\n'),
        (["list", "--db", "mysql://x"], 2, 'of an unknown kind "mysql". Use sqlite:///… or postgresql://….\n'),
        (["list", "--db", "postgresql://u:secret@127.0.0.1:1/d"], 3, "u:***@127.0.0.1:1/d cannot be used now: "),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(graders: Run, words: list[str], code: int, message: str) -> None:
    done = graders(*words)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


def test_the_database_may_be_named(graders: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/other.db"
    graders("import", str(PACK), "--db", url)
    assert graders("list", "--db", url).stdout.count("\n") == 3
    assert not (tmp_path / "fairmark.db").exists()


def test_they_work_beside_a_running_server(graders: Run, tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        graders("import", str(PACK))
        reference = {"type": "registered", "key": "exact-match"}
        body = {"grader": reference, "model_sample": "Paris", "item": {"answer": "Paris"}}
        assert server.post("/v1/fine_tuning/alpha/graders/run", body).json()["reward"] == 1.0
    finally:
        server.stop()


# By key in other commands.


@pytest.mark.usefixtures("imported")
def test_grade_takes_a_key(fairmark: Run, graders: Run, home: dict[str, str]) -> None:
    item = '{"answer": "Paris"}'
    done = fairmark("grade", "key:exact-match", "--sample", "Paris", "--item", item, env=home)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["reward"], result["metadata"]["name"]) == (1.0, "exact-match")
    assert [(each["key"], each["version"]) for each in result["registered"]] == [("exact-match", 1)]
    graders("import", "-", "--update", stdin=json.dumps(changed(operation="ne")))
    done = fairmark("grade", "key:exact-match", "--sample", "Paris", "--item", item, env=home)
    assert json.loads(done.stdout)["reward"] == 0.0
    done = fairmark("grade", "key:exact-match@1", "--sample", "Paris", "--item", item, env=home)
    assert json.loads(done.stdout)["reward"] == 1.0
    reference = '{"type": "registered", "key": "mostly-right"}'
    done = fairmark("grade", reference, "--sample", "Rome", "--item", item, env=home)
    assert [each["key"] for each in json.loads(done.stdout)["registered"]] == ["mostly-right", "exact-match"]


@pytest.mark.parametrize(
    ("key", "code", "message"),
    [
        ("lost", 2, '$.key: there is no registered grader "lost".\n'),
        ("exact-match@2", 2, '$.version: there is no version 2 of the registered grader "exact-match".\n'),
        ("exact-match@x", 2, '$.version: found a string ("x"). It takes a whole number from 1.\n'),
        ("exact-match@0", 2, "$.version: found a number (0). It takes a whole number from 1.\n"),
        ("", 2, '$.key: found "". A key has 1 to 128'),
        ("Exact", 2, '$.key: found "Exact". A key has 1 to 128'),
    ],
)
@pytest.mark.usefixtures("imported")
def test_a_key_that_leads_nowhere_is_told(
    fairmark: Run, home: dict[str, str], key: str, code: int, message: str
) -> None:
    done = fairmark("grade", f"key:{key}", env=home)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message)


def test_a_registry_that_is_away_is_exit_code_3(fairmark: Run, home: dict[str, str]) -> None:
    away = {**home, "FAIRMARK_DB": "postgresql://u:secret@127.0.0.1:1/d"}
    done = fairmark("grade", "key:exact-match", env=away)
    assert (done.returncode, done.stdout) == (3, "")
    assert "u:***@127.0.0.1:1/d cannot be used now: " in done.stderr


@pytest.mark.usefixtures("imported")
def test_validate_prints_what_a_key_leads_to(fairmark: Run, home: dict[str, str]) -> None:
    assert fairmark("validate", "key:lost", env=home).returncode == 2
    done = fairmark("validate", "key:mostly-right", env=home)
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert shown["graders"]["exact"]["operation"] == "eq"
    assert shown["registered"]["key"] == "mostly-right"


@pytest.mark.usefixtures("imported")
def test_eval_takes_keys_and_resumes_only_by_the_same_versions(
    fairmark: Run, graders: Run, home: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    words = ["eval", "examples/capitals.jsonl", "--grader", "key:exact-match", "--grader", "key:mostly-right@1"]
    done = fairmark(*words, "-o", str(out), env=home)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 24
    assert set(rows[0]["results"]) == {"exact-match", "mostly-right"}
    assert sum(row["results"]["exact-match"]["passed"] for row in rows) == 12
    assert fairmark(*words, "-o", str(out), "--resume", env=home).returncode == 0
    graders("import", "-", "--update", stdin=json.dumps(changed(operation="ne")))
    assert fairmark(*words, "-o", str(out), "--resume", env=home).returncode == 2


def test_a_grader_is_labelled_by_its_key_even_where_that_is_the_name_of_a_kind(
    fairmark: Run, graders: Run, home: dict[str, str], tmp_path: Path
) -> None:
    pack = changed()
    pack["graders"] = [{**pack["graders"][0], "key": "string_check"}]
    graders("import", "-", stdin=json.dumps(pack))
    out = tmp_path / "out.jsonl"
    fairmark("eval", "examples/capitals.jsonl", "--grader", "key:string_check", "-o", str(out), env=home)
    assert list(json.loads(out.read_text().splitlines()[0])["results"]) == ["string_check"]
