"""A server whose disk fills: it says so, leaves nothing lying about, and goes on once there is room."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.disk import no_room, small_disk
from tests.postgres import Postgres
from tests.server.client import EXACT, Server, form, wait_for
from tests.store.conftest import MIGRATED, postgres

__all__ = ["postgres"]

CONFIG = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
WHERE_ROWS_LIE_MB = 20
ROWS = [{"item": {"answer": str(at)}, "sample": {"output_text": str(at)}} for at in range(50)]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server with all it has on a small disk, but for its log."""
    with small_disk(folder, 12) as disk:
        server = Server(folder, enter=disk.enter)
        server.home = disk.path
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "home") as started:
        yield started
    assert "Traceback" not in started.stderr.read_text()


def files(server: Server) -> list[str]:
    return sorted(path.name for path in (server.home / "files").glob("*"))


def new_run(server: Server, rows: Sequence[dict[str, Any]] = ROWS) -> tuple[str, Any]:
    made = server.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [EXACT]})
    assert made.status == 201
    where = f"/v1/evals/{made.json()['id']}/runs"
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    return where, server.post(where, {"data_source": source})


def is_completed(server: Server, path: str) -> bool:
    return bool(server.get(path).json()["status"] == "completed")


def test_an_upload_that_fills_the_disk_is_refused_and_leaves_the_disk_to_others(server: Server) -> None:
    server.upload(b"{}\n")
    before, open_before = files(server), server.descriptors()
    for _ in range(5):
        answer = server.upload(b"x" * 20_000_000)
        assert (answer.status, answer.error["code"]) == (507, "disk_full")
        assert answer.error["message"].startswith("The server's disk is full")
        assert files(server) == before
    assert server.get("/readyz").json() == {"status": "ready"}
    assert server.upload(b"x" * 1_000_000).status == 200
    assert server.descriptors() <= open_before + 2


def test_an_upload_that_is_cut_off_on_a_full_disk_leaves_nothing(server: Server) -> None:
    server.upload(b"{}\n")
    before = files(server)
    kind, body = form([("purpose", "evals")], b"x" * 5_000_000, "x")
    with no_room(server.home), server.connect() as connection:
        head = f"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body[:3_000_000])
    wait_for(lambda: files(server) == before)


def test_a_full_disk_turns_ready_red_and_everything_goes_on_by_itself_after(server: Server) -> None:
    where, created = new_run(server)
    assert created.status == 201
    wait_for(lambda: is_completed(server, f"{where}/{created.json()['id']}"))
    for _ in range(3):
        with no_room(server.home):
            answer = server.get("/readyz")
            assert (answer.status, answer.error["code"]) == (503, "disk_full")
            long = {**EXACT, "input": "x" * 1_000_000}
            big = {"data_source_config": CONFIG, "testing_criteria": [long]}
            answer = server.post("/v1/evals", big)
            assert (answer.status, answer.error["code"]) == (507, "disk_full")
            assert server.get(f"{where}/{created.json()['id']}").status == 200
            assert server.get("/healthz").status == 200
        assert server.get("/readyz").status == 200
    where, created = new_run(server)
    wait_for(lambda: is_completed(server, f"{where}/{created.json()['id']}"))


def test_runs_that_meet_a_full_disk_at_any_moment_all_complete(server: Server) -> None:
    paths = []
    for _ in range(15):
        where, created = new_run(server)
        assert created.status == 201
        with no_room(server.home):  # from some moment of the run's beginning on
            server.get("/readyz")
        paths.append(f"{where}/{created.json()['id']}")
    for path in paths:
        wait_for(lambda path=path: is_completed(server, path), 60)  # type: ignore[misc]
        assert server.get(path).json()["result_counts"]["passed"] == len(ROWS)


class OnPostgresql(NamedTuple):
    server: Server
    disk: Path
    """Where the database's tables lie; files lie elsewhere."""


@pytest.fixture
def on_postgresql(tmp_path: Path, postgres: Postgres) -> Iterator[OnPostgresql]:
    with small_disk(postgres.folder / f"small-{tmp_path.name}", WHERE_ROWS_LIE_MB) as disk:
        if disk.enter:
            pytest.skip("PostgreSQL refuses to run as the root of a namespace, where the small disk is")
        with postgres.tablespace(disk.folder) as tablespace:
            server = Server(tmp_path / "home", {"FAIRMARK_DB": postgres.new_database(MIGRATED, tablespace)})
            try:
                yield OnPostgresql(server, disk.folder)
            finally:
                server.stop()
    assert "Traceback" not in server.stderr.read_text()


@pytest.mark.thorough
def test_a_full_disk_of_postgresql_refuses_uploads_and_turns_ready_red_until_there_is_room(
    on_postgresql: OnPostgresql,
) -> None:
    server, disk = on_postgresql
    large = {**EXACT, "input": "".join(map(str, range(300_000)))}  # it needs pages of its own
    uploads = [server.upload(b"{}\n")]
    with no_room(disk):
        answer = server.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [large]})
        assert (answer.status, answer.error["code"]) == (507, "disk_full")
        while uploads[-1].status == 200:  # what is left of a page
            uploads.append(server.upload(b"{}\n"))
            answer = server.get("/readyz")
            assert (answer.status, answer.error["code"]) == (503, "disk_full")
        assert (uploads[-1].status, uploads[-1].error["code"]) == (507, "disk_full")
        assert len(files(server)) == len(uploads) - 1 > 1
        answer = server.get("/readyz")
        assert (answer.status, answer.error["code"]) == (503, "disk_full")
    assert server.get("/readyz").status == 200
    assert server.upload(b"{}\n").status == 200
    assert server.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [large]}).status == 201


@pytest.mark.thorough
def test_runs_that_meet_a_full_disk_of_postgresql_at_any_moment_all_complete(on_postgresql: OnPostgresql) -> None:
    server, disk = on_postgresql
    rows = [{"item": {"answer": f"{at}" * 100}, "sample": {"output_text": f"{at}" * 100}} for at in range(300)]
    paths = []
    for _ in range(8):
        where, created = new_run(server, rows)
        assert created.status == 201
        with no_room(disk):  # from some moment of the run's beginning on
            server.get("/readyz")
        paths.append(f"{where}/{created.json()['id']}")
    for path in paths:
        wait_for(lambda path=path: is_completed(server, path), 60)  # type: ignore[misc]
        assert server.get(path).json()["result_counts"]["passed"] == len(rows)
    assert server.get("/readyz").status == 200
