"""The newest openai package: the whole life of files."""
# mypy: disable-error-code="import-not-found"

import io
import tempfile
from pathlib import Path

from openai import OpenAI

from tests.clients.scripts.facts import caught, name_of, tell

client = OpenAI()
ROWS = b'{"item": {"question": "1 + 1"}}\n{"item": {"question": "2 + 2"}}\n'

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.jsonl"
    path.write_bytes(ROWS)
    by_path = client.files.create(file=path, purpose="evals")
    with path.open("rb") as opened:
        by_handle = client.files.create(file=opened, purpose="evals")
by_tuple = client.files.create(
    file=("äöü.json", io.BytesIO(ROWS)),
    purpose="fine-tune",
    expires_after={"anchor": "created_at", "seconds": 3600},
)
by_bytes = [client.files.create(file=(f"{number}.jsonl", ROWS), purpose="user_data") for number in range(3)]
created = [by_path, by_handle, by_tuple, *by_bytes]

content = client.files.content(by_tuple.id)
waited = client.files.wait_for_processing(by_path.id, poll_interval=0.1, max_wait_seconds=10)
empty = client.files.create(file=("empty.jsonl", b""), purpose="evals")
pages = [[file.id for file in page.data] for page in client.files.list(limit=4).iter_pages()]
facts = {
    "created": [file.to_dict() for file in created],
    "class": name_of(by_path),
    "request_id": by_path._request_id,
    "retrieved": client.files.retrieve(by_tuple.id).to_dict(),
    "content": content.text,
    "content_bytes": content.read().decode() == ROWS.decode(),
    "content_type": content.response.headers["content-type"],
    "waited": waited.status,
    "empty": [empty.bytes, client.files.content(empty.id).text],
    "newest_first": [file.id for file in client.files.list()],
    "oldest_first": [file.id for file in client.files.list(order="asc", limit=2)],
    "pages": pages,
    "of_purpose": [file.id for file in client.files.list(purpose="user_data", limit=2)],
    "bad_purpose": caught(lambda: client.files.create(file=("x", b"x"), purpose="diary")),
    "bad_expiry": caught(
        lambda: client.files.create(
            file=("x", b"x"), purpose="evals", expires_after={"anchor": "created_at", "seconds": 1}
        )
    ),
    "deleted": client.files.delete(by_path.id).to_dict(),
    "after_delete": caught(lambda: client.files.retrieve(by_path.id)),
    "content_after_delete": caught(lambda: client.files.content(by_path.id)),
    "delete_again": caught(lambda: client.files.delete(by_path.id)),
}
facts["all"] = [file.id for file in [*created, empty]]
tell(facts)
