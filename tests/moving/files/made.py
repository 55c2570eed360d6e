"""What a test wants to know of an archive that was made of a file."""

import json
from pathlib import Path
from typing import Any

from fairmark.moving.archive import Archive
from fairmark.moving.files.converting import convert

AT = 1_700_000_000


class Made:
    """The archive of a file, and the report."""

    def __init__(self, folder: Path, content: str | bytes | Path, filename: str = "file.jsonl", **more: Any) -> None:
        path = content if isinstance(content, Path) else folder / filename
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        self.path = path
        self.archive = Archive(folder / f"archive-{len(list(folder.iterdir()))}")
        self.report = convert(path, self.archive, created_at=AT, **more)

    def listed(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.archive.lines(name)]

    @property
    def evals(self) -> list[dict[str, Any]]:
        return self.listed("evals.jsonl")

    @property
    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(self.archive.read(f"runs/{id_}.json") or b"") for id_ in self.archive.ids("runs", ".json")]

    def items(self, run_id: str) -> list[dict[str, Any]]:
        return self.listed(f"items/{run_id}.jsonl")

    def rows(self, file_id: str) -> list[dict[str, Any]]:
        return self.listed(f"files/{file_id}")

    def notes(self, kind: str) -> list[str]:
        return [str(note) for note in self.report.notes if note.kind == kind]


def files_of(archive: Archive) -> dict[str, bytes]:
    """All that is compared between two archives."""
    return {
        str(path.relative_to(archive.folder)): path.read_bytes()
        for path in sorted(archive.folder.rglob("*"))
        if path.is_file() and path.name not in ("manifest.json", "report.md", "problems.jsonl")
    }


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
