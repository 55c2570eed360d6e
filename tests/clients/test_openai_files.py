"""The newest openai package keeps files."""

import re

import pytest

from tests.clients.conftest import Facts, Server, Started

ROWS = '{"item": {"question": "1 + 1"}}\n{"item": {"question": "2 + 2"}}\n'


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_files").facts()


def test_a_file_is_processed_at_once_and_keeps_its_name(facts: Facts) -> None:
    by_path, _, by_tuple, *_ = facts["created"]
    assert facts["class"] == "FileObject"
    assert facts["request_id"].startswith("req_")
    assert by_path == {
        "id": by_path["id"],
        "object": "file",
        "bytes": len(ROWS),
        "created_at": by_path["created_at"],
        "filename": "rows.jsonl",
        "purpose": "evals",
        "status": "processed",
    }
    assert re.fullmatch(r"file-[A-Za-z0-9]{22,}", by_path["id"])
    assert by_tuple["filename"] == "äöü.json"
    assert by_tuple["expires_at"] == by_tuple["created_at"] + 3600
    assert facts["waited"] == "processed"
    assert facts["retrieved"] == by_tuple


def test_the_content_comes_back_byte_by_byte(facts: Facts) -> None:
    assert facts["content"] == ROWS
    assert facts["content_bytes"]
    assert facts["content_type"] == "application/octet-stream"
    assert facts["empty"] == [0, ""]


def test_lists_page_by_themselves_newest_first(facts: Facts) -> None:
    newest_first = facts["all"][::-1]
    assert facts["newest_first"] == newest_first
    assert facts["oldest_first"] == facts["all"]
    assert facts["pages"] == [newest_first[:4], newest_first[4:]]
    assert facts["of_purpose"] == facts["all"][5:2:-1]


def test_a_wrong_purpose_or_expiry_is_a_bad_request(facts: Facts) -> None:
    assert (facts["bad_purpose"]["class"], facts["bad_purpose"]["param"]) == ("BadRequestError", "purpose")
    assert facts["bad_expiry"]["class"] == "BadRequestError"
    assert facts["bad_expiry"]["param"] == "expires_after.seconds"


def test_a_deleted_file_is_gone(facts: Facts) -> None:
    assert facts["deleted"] == {"id": facts["all"][0], "object": "file", "deleted": True}
    gone = [facts[name]["class"] for name in ("after_delete", "content_after_delete", "delete_again")]
    assert gone == ["NotFoundError"] * 3
