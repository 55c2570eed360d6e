"""How a file is shown, by the API and in an archive."""

from typing import Any

from fairmark import jsontext
from fairmark.evals.eval_calls import imported_wire
from fairmark.store import File


def file_wire(file: File) -> dict[str, Any]:
    if file.imported is None or file.received is None:
        return own_file_wire(file)
    return {**jsontext.members(file.received), "id": file.id, "imported": imported_wire(file.imported)}


def own_file_wire(file: File) -> dict[str, Any]:
    shown = {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": file.created_at,
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",  # at once: clients poll until they see it
    }
    return shown if file.expires_at is None else {**shown, "expires_at": file.expires_at}
