"""Files: uploaded in pieces, given back as they came, listed, deleted, expired."""

import json
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from tests.server.client import EXACT, Server, form, wait_for
from tests.server.conftest import Start

CONTENT = b'{"item": {"a": "\xc3\xa9"}}\r\n\x00\xff not even text\n--fairmark-test-boundar\r\n'


def kept(server: Server) -> list[str]:
    """The names in the server's folder of files."""
    return sorted(path.name for path in (server.home / "files").glob("*"))


def test_an_upload_is_processed_at_once_and_given_back_byte_by_byte(server: Server) -> None:
    answer = server.upload(CONTENT, "rows.jsonl")
    assert answer.status == 200
    file = answer.json()
    assert file.pop("id").startswith("file-")
    assert abs(file.pop("created_at") - time.time()) < 60
    assert file == {
        "object": "file",
        "bytes": len(CONTENT),
        "filename": "rows.jsonl",
        "purpose": "evals",
        "status": "processed",
    }
    file_id = answer.json()["id"]
    assert server.get(f"/v1/files/{file_id}").json() == answer.json()
    content = server.get(f"/v1/files/{file_id}/content", {"accept": "application/binary"})
    assert content.body == CONTENT
    assert content.headers["content-type"] == "application/octet-stream"
    assert content.headers["content-length"] == str(len(CONTENT))


def test_a_part_of_a_file_is_given_and_one_that_it_lacks_is_refused_in_the_envelope(server: Server) -> None:
    path = f"/v1/files/{server.upload(b'0123456789').json()['id']}/content"
    assert server.get(path, {"range": "bytes=2-4"}).body == b"234"
    for wrong in ("bytes=10-", "bytes=x", "lines=1-2", "bytes=4-2"):
        answer = server.get(path, {"range": wrong})
        assert (answer.status, answer.error["code"], answer.headers["content-range"]) == (
            416,
            "invalid_range",
            "bytes */10",
        )
        assert wrong in answer.error["message"]


def test_an_empty_file_is_a_file(server: Server) -> None:
    file = server.upload(b"").json()
    assert file["bytes"] == 0
    assert server.get(f"/v1/files/{file['id']}/content").body == b""


def test_a_deleted_file_is_gone_with_its_content(server: Server) -> None:
    file_id = server.upload(b"{}\n").json()["id"]
    assert (server.home / "files" / file_id).exists()
    answer = server.request("DELETE", f"/v1/files/{file_id}")
    assert answer.json() == {"id": file_id, "object": "file", "deleted": True}
    assert not (server.home / "files" / file_id).exists()
    for path in (f"/v1/files/{file_id}", f"/v1/files/{file_id}/content"):
        assert server.get(path).status == 404
    assert server.request("DELETE", f"/v1/files/{file_id}").status == 404


def test_files_are_listed_newest_first_in_pages_and_by_purpose(start: Start) -> None:
    server = start()
    ids = [server.upload(b"{}\n", purpose="batch" if index == 1 else "evals").json()["id"] for index in range(4)]
    page = server.get("/v1/files").json()
    assert [file["id"] for file in page["data"]] == ids[::-1]
    assert (page["object"], page["has_more"]) == ("list", False)
    assert (page["first_id"], page["last_id"]) == (ids[3], ids[0])
    page = server.get("/v1/files?limit=3&order=asc").json()
    assert ([file["id"] for file in page["data"]], page["has_more"]) == (ids[:3], True)
    page = server.get(f"/v1/files?limit=3&order=asc&after={page['last_id']}").json()
    assert ([file["id"] for file in page["data"]], page["has_more"]) == (ids[3:], False)
    assert [file["id"] for file in server.get("/v1/files?purpose=batch").json()["data"]] == [ids[1]]
    empty = server.get("/v1/files?purpose=vision").json()
    assert (empty["data"], empty["first_id"], empty["last_id"]) == ([], None, None)
    assert server.get("/v1/files?limit=10001").error["param"] == "limit"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ([], "purpose", "missing_required_parameter"),
        ([("purpose", "fun")], "purpose", "invalid_value"),
        ([("purpose", "evals"), ("expires_after[anchor]", "created_at")], "expires_after.seconds", None),
        ([("purpose", "evals"), ("expires_after[seconds]", "3600")], "expires_after.anchor", None),
        (
            [("purpose", "evals"), ("expires_after[anchor]", "now"), ("expires_after[seconds]", "3600")],
            "expires_after.anchor",
            None,
        ),
        (
            [("purpose", "evals"), ("expires_after[anchor]", "created_at"), ("expires_after[seconds]", "3599")],
            "expires_after.seconds",
            None,
        ),
        (
            [("purpose", "evals"), ("expires_after[anchor]", "created_at"), ("expires_after[seconds]", "²")],
            "expires_after.seconds",
            None,
        ),
    ],
)
def test_a_wrong_field_is_refused_by_name_and_nothing_is_kept(
    server: Server, fields: list[tuple[str, str]], param: str, code: str | None
) -> None:
    before = kept(server)
    kind, body = form(fields, b"{}\n", "x.jsonl")
    answer = server.request("POST", "/v1/files", headers={"content-type": kind}, body=body)
    assert (answer.status, answer.error["param"]) == (400, param)
    if code is not None:
        assert answer.error["code"] == code
    assert kept(server) == before


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=" + "b" * 5000, b""),
        ("multipart/form-data; boundary=b", b"no boundary at all"),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nevals'),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"X" * 100_000 + b": y\r\n\r\nevals\r\n--b--\r\n"),
        ("multipart/form-data; boundary=b", b""),
    ],
)
def test_what_is_no_form_is_refused(server: Server, content_type: str, body: bytes) -> None:
    answer = server.request("POST", "/v1/files", headers={"content-type": content_type}, body=body)
    assert answer.status == 400
    assert answer.error["message"]
    assert not list((server.home / "files").glob("*.part"))


def test_a_form_without_its_file_or_with_two_is_refused(server: Server) -> None:
    kind, body = form([("purpose", "evals")], None, "")
    answer = server.request("POST", "/v1/files", headers={"content-type": kind}, body=body)
    assert (answer.error["param"], answer.error["code"]) == ("file", "missing_required_parameter")
    kind, body = form([("purpose", "evals"), ("file", "text")], None, "")
    assert server.request("POST", "/v1/files", headers={"content-type": kind}, body=body).error["param"] == "file"
    kind, body = form([("purpose", "evals")], b"{}", "a")
    twice = body.replace(b"--fairmark-test-boundary--\r\n", b"") + form([], b"{}", "b")[1]
    answer = server.request("POST", "/v1/files", headers={"content-type": kind}, body=twice)
    assert answer.error["message"] == "file: given twice. An upload holds one file."


def test_the_fields_may_come_in_any_order(server: Server) -> None:
    kind, body = form([], b"{}\n", "first.jsonl")
    later = form([("purpose", "fine-tune"), ("unknown", "ignored")], None, "")[1]
    body = body.replace(b"--fairmark-test-boundary--\r\n", b"") + later
    file = server.request("POST", "/v1/files", headers={"content-type": kind}, body=body).json()
    assert (file["filename"], file["purpose"], file["bytes"]) == ("first.jsonl", "fine-tune", 3)


def test_tricks_in_a_filename_reach_no_other_place(server: Server) -> None:
    file = server.upload(b"{}\n", "../../../escaped.jsonl").json()
    assert file["filename"] == "escaped.jsonl"
    assert (server.home / "files" / file["id"]).read_bytes() == b"{}\n"
    assert not list(Path(server.home).parent.glob("**/escaped.jsonl"))
    assert server.upload(b"{}\n", "日本.jsonl").json()["filename"] == "日本.jsonl"


def test_an_expired_file_is_gone(start: Start) -> None:
    server = start()
    fields = {"purpose": "evals", "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
    kind, body = form([*fields.items()], b"{}\n", "x.jsonl")
    file = server.request("POST", "/v1/files", headers={"content-type": kind}, body=body).json()
    assert file["expires_at"] == file["created_at"] + 3600
    with sqlite3.connect(server.home / "fairmark.db") as database:
        database.execute("UPDATE files SET expires_at = 1")
    database.close()
    assert server.get(f"/v1/files/{file['id']}").status == 404
    assert server.get(f"/v1/files/{file['id']}/content").status == 404
    assert server.get("/v1/files").json()["data"] == []


def test_a_file_over_the_limit_is_refused_and_leaves_nothing(start: Start) -> None:
    server = start(env={"FAIRMARK_MAX_FILE_MB": "2"})
    assert server.upload(b"x" * 2_000_000).status == 200
    for size in (2_000_001, 10_000_000):
        answer = server.upload(b"x" * size)
        assert (answer.status, answer.error["code"]) == (413, "request_too_large")
    assert len(kept(server)) == 1


def test_a_large_file_goes_to_disk_and_back_in_flat_memory(start: Start) -> None:
    server = start()
    server.upload(b"x")
    before = server.memory_mb(peak=True)
    content = os.urandom(1_000_000) * 60
    file = server.upload(content).json()
    assert file["bytes"] == len(content)
    assert server.get(f"/v1/files/{file['id']}/content").body == content
    assert server.memory_mb(peak=True) < before + 40


def test_an_upload_that_breaks_off_leaves_nothing(start: Start) -> None:
    server = start()
    server.upload(b"x")
    kind, body = form([("purpose", "evals")], b"x" * 5_000_000, "x")
    with server.connect() as connection:
        head = (
            f"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode() + body[:3_000_000])
        wait_for(lambda: len(kept(server)) == 2)
    wait_for(lambda: len(kept(server)) == 1)


def test_others_are_served_while_a_file_comes_in(server: Server) -> None:
    thread = threading.Thread(target=server.upload, args=(b"x" * 20_000_000,))
    thread.start()
    assert server.get("/healthz").status == 200
    thread.join()


def test_names_that_a_database_refuses_are_kept(server: Server) -> None:
    file = server.upload(b"{}\n", 'quote" and emoji 😀.jsonl'.replace('"', "%22")).json()
    assert server.get(f"/v1/files/{file['id']}").json()["filename"] == file["filename"]
    assert json.dumps(file)


def test_a_file_whose_content_lies_at_another_server_is_told(server: Server) -> None:
    file = server.upload(b'{"item": {}}\n').json()
    (server.home / "files" / file["id"]).unlink()
    answer = server.get(f"/v1/files/{file['id']}/content")
    assert (answer.status, answer.error["code"]) == (404, "file_not_here")
    new = {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [EXACT]}
    where = f"/v1/evals/{server.post('/v1/evals', new).json()['id']}/runs"
    source = {"type": "jsonl", "source": {"type": "file_id", "id": file["id"]}}
    answer = server.post(where, {"data_source": source})
    assert (answer.status, answer.error["code"]) == (400, "file_not_here")
    assert answer.error["message"].startswith("data_source.source.id: its content is not on this server: it was ")
