"""Imports on a server: from a double of the hosted service, from archives and files; whose key goes where; going on."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.hosted import KEY, Hosted, Size, World, hosting
from tests.server.client import Answer, Server, form, wait_for
from tests.server.test_gate import make_key

ROW = {"run_id": "r1", "data_source_idx": 0, "item": {"q": "2+2"}, "grades": {"exact": 1}, "passes": {"exact": True}}


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with hosting(World(Size(evals=2, runs=2, items=5))) as started:
        yield started


@pytest.fixture
def server(hosted: Hosted, tmp_path: Path) -> Iterator[Server]:
    started = start(tmp_path, hosted)
    try:
        yield started
    finally:
        started.stop()
    check_log(started)


def check_log(server: Server) -> None:
    log = server.stderr.read_text()
    assert "Traceback" not in log
    assert KEY not in log


def start(folder: Path, hosted: Hosted, **more: str) -> Server:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": hosted.base_url, "SECRET_OF_THE_SERVER": "s3cret", **more}
    return Server(folder / "home", env)


def begin(server: Server, **body: Any) -> str:
    answer = server.post("/v1/imports", {"source": "openai", **body})
    assert answer.status == 201, answer.body
    id_: str = answer.json()["id"]
    return id_


def ended(server: Server, id_: str) -> dict[str, Any]:
    wait_for(lambda: server.get(f"/v1/imports/{id_}").json()["status"] not in ("queued", "running"), 60)
    shown: dict[str, Any] = server.get(f"/v1/imports/{id_}").json()
    return shown


def upload(server: Server, content: bytes, filename: str, **fields: str) -> Answer:
    kind, body = form([*fields.items()], content, filename)
    return server.request("POST", "/v1/imports/file", headers={"content-type": kind}, body=body)


def test_a_hosted_service_is_read_and_loaded_with_its_ids_and_nothing_of_the_key_is_kept(
    server: Server, hosted: Hosted
) -> None:
    id_ = begin(server)
    done = ended(server, id_)
    assert (done["status"], done["error"]) == ("completed", None)
    assert done["progress"]["read"]["evals"] == 2
    assert done["progress"]["loaded"]["evals"] == 2
    assert {eval_["id"] for eval_ in server.get("/v1/evals?limit=100").json()["data"]} == {
        entry.id for entry in hosted.world.evals
    }
    report = done["report"]
    assert report["counts"]["evals"] == 2
    assert report["totals"]["problems"] == len(report["problems"]) == 2
    assert '"o3-mini" = "gpt-5.6-sol"' in report["aliases"]
    assert report["archive"] == id_
    assert str(server.home) not in json.dumps(done)
    assert [entry["id"] for entry in server.get("/v1/imports").json()["data"]] == [id_]
    for path in server.home.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_continued_when_it_is_complete_it_reads_only_what_is_new(server: Server, hosted: Hosted) -> None:
    id_ = begin(server)
    ended(server, id_)
    items = len([asked for asked in hosted.requests if "output_items" in str(asked)])
    assert items
    assert server.post(f"/v1/imports/{id_}/continue", None).status == 200
    again = ended(server, id_)
    assert again["status"] == "completed"
    assert len([asked for asked in hosted.requests if "output_items" in str(asked)]) == items
    assert again["report"]["loaded"]["evals"] == "2 unchanged"


def test_one_at_a_time_of_a_project_and_a_cancelled_one_keeps_what_was_read(server: Server, hosted: Hosted) -> None:
    hosted.faults.hang_at = "output_items"
    id_ = begin(server)
    wait_for(lambda: server.get(f"/v1/imports/{id_}").json()["progress"].get("read", {}).get("evals", 0) > 0)
    second = server.post("/v1/imports", {"source": "openai"})
    assert (second.status, second.error["code"]) == (409, "import_under_way")
    assert server.post(f"/v1/imports/{id_}/continue", None).status == 409
    cancelled = server.post(f"/v1/imports/{id_}/cancel", None)
    assert (cancelled.status, cancelled.json()["status"]) == (200, "cancelled")
    assert server.post(f"/v1/imports/{id_}/cancel", None).error["code"] == "import_ended"
    assert (server.home / "imports" / "default" / id_ / "manifest.json").is_file()
    hosted.faults.hang_at = ""
    assert server.post(f"/v1/imports/{id_}/continue", None).status == 200
    assert ended(server, id_)["status"] == "completed"


def test_killed_it_is_interrupted_and_goes_on_where_it_was(hosted: Hosted, tmp_path: Path) -> None:
    hosted.faults.hang_at = "output_items"
    server = start(tmp_path, hosted)
    try:
        id_ = begin(server)
        wait_for(lambda: server.get(f"/v1/imports/{id_}").json()["progress"].get("read", {}).get("evals", 0) > 0)
        server.stop(signal.SIGKILL)
        hosted.faults.hang_at = ""
        server = start(tmp_path, hosted)
        wait_for(lambda: server.get(f"/v1/imports/{id_}").json()["status"] == "interrupted")
        assert "continue it" in server.get(f"/v1/imports/{id_}").json()["error"]["message"]
        assert server.post(f"/v1/imports/{id_}/continue", None).status == 200
        assert ended(server, id_)["status"] == "completed"
    finally:
        server.stop()


def test_stopped_it_is_interrupted(hosted: Hosted, tmp_path: Path) -> None:
    hosted.faults.hang_at = "output_items"
    server = start(tmp_path, hosted)
    id_ = begin(server)
    wait_for(lambda: server.get(f"/v1/imports/{id_}").json()["status"] == "running")
    assert server.stop() == 0
    server = start(tmp_path, hosted)
    try:
        assert server.get(f"/v1/imports/{id_}").json()["status"] == "interrupted"
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"source": "openai", "key_env": "SECRET_OF_THE_SERVER"}, "key_env", "that this server's settings name"),
        ({"source": "openai", "key_env": "PATH"}, "key_env", "OPENAI_API_KEY"),
        ({"source": "azure", "base_url": "https://x.openai.azure.com"}, "key_env", "no AZURE_OPENAI_API_KEY"),
        ({"source": "openai", "api_key": "sk-1"}, "api_key", "keys are not sent"),
        ({"source": "openai", "base_url": "https://evil.example/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "http://api.openai.com/v1"}, "base_url", "over https"),
        ({"source": "openai", "base_url": "https://api.openai.com.evil.example/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "https://evilapi.openai.com/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "https://api.openai.com:8443/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "http://169.254.169.254/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "http://127.0.0.1:1/v1"}, "base_url", "is not sent to"),
        ({"source": "openai", "base_url": "file:///etc/passwd"}, "base_url", "It takes https://HOST/v1"),
        ({"source": "openai", "base_url": "https://api.openai.com@evil.example/v1"}, "base_url", "has a user"),
        ({"source": "archive"}, "archive", "missing"),
        ({"source": "archive", "archive": "../../etc"}, "archive", "the name of a folder in imports/default"),
        ({"source": "archive", "archive": "/etc"}, "archive", "the name of a folder"),
        ({"source": "archive", "archive": ".."}, "archive", "the name of a folder"),
        ({"source": "openai", "only": ["evals", "dreams"]}, "only", "completions"),
        ({"source": "openai", "since": "yesterday"}, "since", "2026-01-31"),
        ({"source": "openai", "on_clash": "explode"}, "on_clash", "skip, replace, copy"),
        ({"source": "nowhere"}, "source", "openai, azure, archive"),
        ({"source": "openai", "bse_url": "x"}, "bse_url", "base_url"),
    ],
)
def test_what_is_not_allowed_is_told_before_anything_is_asked(
    shared: tuple[Server, Hosted], body: dict[str, Any], param: str, words: str
) -> None:
    server, hosted = shared
    asked = len(hosted.requests)
    answer = server.post("/v1/imports", body)
    assert answer.status == 400, answer.body
    assert answer.error["param"] == param
    assert words in answer.error["message"]
    assert "s3cret" not in answer.body.decode()
    assert len(hosted.requests) == asked


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Hosted]]:
    with hosting(World(Size(evals=1))) as hosted:
        server = start(tmp_path_factory.mktemp("shared"), hosted)
        try:
            yield server, hosted
        finally:
            server.stop()
        check_log(server)


@pytest.fixture
def standing(shared: tuple[Server, Hosted]) -> Server:
    """For what leaves nothing behind."""
    return shared[0]


def test_another_project_uses_only_the_keys_that_are_its_own(hosted: Hosted, tmp_path: Path) -> None:
    server = start(tmp_path, hosted, FAIRMARK_IMPORT_KEYS="team=TEAM_KEY", TEAM_KEY="sk-team")
    try:
        admin, team, other = (
            {"authorization": f"Bearer {make_key(server.home, project)}"} for project in ("default", "team", "other")
        )
        wait_for(lambda: server.get("/v1/imports").status == 401)
        refused = server.post("/v1/imports", {"source": "openai"}, other)
        assert (refused.status, refused.error["code"]) == (403, "not_admin")
        assert "TEAM_KEY" not in refused.body.decode()
        assert server.post("/v1/imports", {"source": "openai"}, team).status == 400
        elsewhere = server.post("/v1/imports", {"source": "openai", "key_env": "TEAM_KEY"}, team)
        assert elsewhere.error["param"] == "base_url"  # the address is that of another key
        made = server.post("/v1/imports", {"source": "openai"}, admin)
        assert made.status == 201
        assert server.get(f"/v1/imports/{made.json()['id']}", other).status == 404
        assert server.post(f"/v1/imports/{made.json()['id']}/cancel", None, other).status == 404
        assert server.get("/v1/imports", other).json()["data"] == []
    finally:
        server.stop()


def test_a_key_that_is_refused_fails_the_import(hosted: Hosted, tmp_path: Path) -> None:
    server = start(tmp_path, hosted, OPENAI_API_KEY="sk-wrong-0123456789abcdef")
    try:
        done = ended(server, begin(server))
        assert done["status"] == "failed"
        assert "the key is refused" in done["error"]["message"]
        assert "sk-wrong-0123456789abcdef" not in json.dumps(done)
    finally:
        server.stop()


def test_a_pull_that_stops_early_is_interrupted_with_its_reason(server: Server, hosted: Hosted) -> None:
    hosted.faults.refused_after = 4
    done = ended(server, begin(server))
    assert done["status"] == "interrupted"
    assert "the key is no longer accepted" in done["error"]["message"]
    assert done["report"]["counts"]["evals"] == 2
    assert server.get("/v1/evals").json()["data"] == []


def test_an_archive_on_the_server_is_loaded_and_one_that_is_none_is_told(server: Server) -> None:
    folder = server.home / "imports" / "default" / "mine"
    folder.mkdir(parents=True)
    failed = ended(server, begin(server, source="archive", archive="mine"))
    assert failed["status"] == "failed"
    assert failed["error"]["message"].startswith("mine: no archive")
    eval_ = {
        "object": "eval",
        "id": "eval_abc",
        "name": "old",
        "created_at": 7,
        "metadata": {},
        "data_source_config": {"type": "custom", "schema": {"type": "object"}},
        "testing_criteria": [],
    }
    (folder / "manifest.json").write_text('{"format": "fairmark-archive", "version": 1, "source": "openai"}')
    (folder / "evals.jsonl").write_text(json.dumps(eval_) + "\n")
    assert ended(server, begin(server, source="archive", archive="mine"))["status"] == "completed"
    assert server.get("/v1/evals/eval_abc").json()["created_at"] == 7


def test_an_uploaded_file_becomes_an_eval_and_is_not_kept(server: Server) -> None:
    answer = upload(server, json.dumps(ROW).encode() + b"\n", "eval_items_1.jsonl", name="From the dashboard")
    assert answer.status == 201, answer.body
    done = ended(server, answer.json()["id"])
    assert (done["status"], done["error"]) == ("completed", None)
    assert (done["source"], done["file"]) == ("file", "eval_items_1.jsonl")
    (eval_,) = server.get("/v1/evals").json()["data"]
    assert eval_["name"] == "From the dashboard"
    assert list((server.home / "imports" / "default").iterdir()) == []
    again = ended(server, upload(server, json.dumps(ROW).encode() + b"\n", "other.jsonl").json()["id"])
    assert again["status"] == "completed"
    assert len(server.get("/v1/evals").json()["data"]) == 1
    refused = server.post(f"/v1/imports/{again['id']}/continue", None)
    assert (refused.status, refused.error["code"]) == (409, "file_not_here")


@pytest.mark.parametrize("filename", ["x.bin", "../../x.jsonl", ".hidden", "Ünï cødé.jsonl", "a" * 300])
def test_a_file_that_is_nothing_we_know_is_told_by_its_name_alone(standing: Server, filename: str) -> None:
    done = ended(standing, upload(standing, b"\x00\x01 nothing", filename).json()["id"])
    assert done["status"] == "failed"
    assert str(standing.home) not in json.dumps(done)
    assert ".upload" not in done["error"]["message"]
    assert list((standing.home / "imports" / "default").iterdir()) == []


def test_an_upload_without_a_file_leaves_nothing(standing: Server) -> None:
    kind, body = form([("name", "x")], None, "")
    answer = standing.request("POST", "/v1/imports/file", headers={"content-type": kind}, body=body)
    assert (answer.status, answer.error["param"]) == (400, "file")
    assert upload(standing, b"{}", "x.json", on_clash="explode").error["param"] == "on_clash"
    assert standing.post("/v1/imports/file", {}).status == 400
    assert list((standing.home / "imports" / "default").iterdir()) == []


def test_ids_that_are_none_are_not_found(standing: Server) -> None:
    for id_ in ("import_0", "file", "%00", "a" * 200):
        assert standing.get(f"/v1/imports/{id_}").status in (404, 405)
    assert standing.get("/v1/imports?after=nope").error["param"] == "after"


def test_a_wrong_fairmark_toml_is_told_and_wrong_import_keys_start_no_server(standing: Server) -> None:
    (standing.home.parent / "fairmark.toml").write_text("[providers.house]\n")
    answer = standing.post("/v1/imports", {"source": "openai"})
    assert (answer.status, answer.error["code"]) == (400, "invalid_settings")
    assert "providers.house.base_url: missing" in answer.error["message"]
    (standing.home.parent / "fairmark.toml").unlink()
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": f"{standing.home}2", "FAIRMARK_IMPORT_KEYS": "team=A B"}
    done = command.run(["serve", "--port", "0"], cwd=standing.home.parent, env=env)
    assert done.returncode == 2
    assert 'import_keys: found "team=A B". It takes NAME or PROJECT=NAME' in done.stderr


CONFIG = b"""
prompts: ["Capital of {{country}}?"]
providers: [openai:gpt-4o-mini]
tests:
  - vars: {country: France}
    assert: [{type: llm-rubric, value: Names a city}]
"""


def test_a_draft_runs_once_it_is_accepted(server: Server) -> None:
    def criterion(**fields: str) -> dict[str, Any]:
        done = ended(server, upload(server, CONFIG, "promptfooconfig.yaml", **fields).json()["id"])
        assert done["status"] == "completed", done["error"]
        evals = [one for one in server.get("/v1/evals?limit=100").json()["data"] if one["name"].endswith("drafts")]
        assert len(evals) == 1
        made: dict[str, Any] = evals[0]["testing_criteria"][0]
        return made

    assert criterion()["runnable"] is False
    accepted = criterion(accept_drafts="true", judge="gpt-6-luna")
    assert accepted["model"] == "gpt-6-luna"
    assert "runnable" not in accepted


@pytest.mark.parametrize(
    ("fields", "param"), [({"accept_drafts": "yes"}, "accept_drafts"), ({"judge": "gpt-6-luna"}, "judge")]
)
def test_what_is_said_of_drafts_is_checked(standing: Server, fields: dict[str, str], param: str) -> None:
    refused = upload(standing, CONFIG, "promptfooconfig.yaml", **fields)
    assert (refused.status, refused.error["param"]) == (400, param)


def test_a_draft_that_names_no_judge_is_not_accepted_without_one(standing: Server) -> None:
    done = ended(standing, upload(standing, CONFIG, "promptfooconfig.yaml", accept_drafts="true").json()["id"])
    assert done["status"] == "failed"
    assert "names no judge" in done["error"]["message"]
