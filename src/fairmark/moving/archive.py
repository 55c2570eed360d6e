"""The archive: a folder that holds all there is of a project, each object byte for byte as it was received.

    manifest.json                    who wrote it, from where, and how far each list was read
    evals.jsonl                      an eval a line
    runs/<run>.json                  a run, its data source inside
    items/<run>.jsonl                its output items, one a line
    labels/<run>.jsonl               what people said of its rows, and which rows they were given; only of an export
    files.jsonl, files/<file>        what is known of files, and their contents
    completions.jsonl, messages/<completion>.json
    responses.jsonl, input_items/<response>.jsonl
    jobs.jsonl, events/<job>.jsonl, checkpoints/<job>.jsonl
    models.json
    problems.jsonl                   what could not be read, and why; report.md says it to people
    graders.json                     registered graders, as a pack; only of an export
    copied.json                      which ids were loaded under others

Whatever writes one (a hosted service that is read, a file in another form, this store) and whatever reads one goes
through here. Nothing is ever half there: a file is written beside and renamed.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

from fairmark import jsontext
from fairmark.errors import InvalidArchive

FORMAT = "fairmark-archive"
VERSION = 1
MANIFEST = "manifest.json"
NOT_COMPARED = (MANIFEST, "report.md", "problems.jsonl", "copied.json")
"""What differs between two archives of the same things: times, and the order in which problems were met."""
_BESIDE = ".beside"


def part_name(folder: str, id_: str, ending: str = "") -> str:
    """Where an object with an id lies: `runs/evalrun_1.json`. Ids come from outside, so what has no place in a file's
    name is written as %2F."""
    name = quote(id_, safe="")
    return f"{folder}/{name.replace('.', '%2E', 1) if name.startswith('.') else name}{ending}"


class Archive:
    """A folder that is one, or is to become one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path) -> "Archive":
        """One that is there. Raises InvalidArchive."""
        archive = cls(folder)
        if not folder.is_dir():
            raise InvalidArchive(f"{folder}: there is no such folder. An archive is a folder with {MANIFEST} in it.")
        manifest = archive.manifest()
        if not manifest:
            raise InvalidArchive(f"{folder}: no archive, there is no {MANIFEST} in it. `fairmark export` writes one.")
        if manifest.get("format") != FORMAT:
            kind = jsontext.describe(manifest.get("format"))
            raise InvalidArchive(f'{folder}/{MANIFEST}: format: found {kind}. It takes "{FORMAT}".')
        if manifest.get("version") != VERSION:
            version = jsontext.describe(manifest.get("version"))
            raise InvalidArchive(f"{folder}/{MANIFEST}: version: found {version}. This Fairmark reads {VERSION}.")
        return archive

    def manifest(self) -> dict[str, Any]:
        """Empty where there is none yet. Raises InvalidArchive."""
        content = self.read(MANIFEST)
        if content is None:
            return {}
        try:
            manifest = jsontext.decode(content)
        except ValueError as error:
            raise InvalidArchive(f"{self.folder}/{MANIFEST}: no JSON: {error}.") from None
        if not isinstance(manifest, dict):
            raise InvalidArchive(f"{self.folder}/{MANIFEST}: found {jsontext.describe(manifest)}. It takes an object.")
        return manifest

    def save_manifest(self, manifest: dict[str, Any]) -> None:
        self.write(MANIFEST, self.manifest_content(manifest))

    @staticmethod
    def manifest_content(manifest: dict[str, Any]) -> bytes:
        return jsontext.encode({"format": FORMAT, "version": VERSION, **manifest}) + b"\n"

    def is_empty(self) -> bool:
        """Whether there is nothing in its folder but what was being written when somebody was killed."""
        return all(path.name.endswith(_BESIDE) for path in self.folder.iterdir())

    def path(self, name: str) -> Path:
        return self.folder / name

    def read(self, name: str) -> bytes | None:
        """None where it is not there. Raises InvalidArchive where it cannot be read."""
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidArchive(f"{self.path(name)}: {(error.strerror or str(error)).lower()}.") from None

    def lines(self, name: str) -> Iterator[bytes]:
        """The objects of a list, one a line, none where there is no such list. Memory is that of one line."""
        try:
            file = self.path(name).open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InvalidArchive(f"{self.path(name)}: {(error.strerror or str(error)).lower()}.") from None
        with file:
            for line in file:
                content = line.strip()
                if content:
                    yield content

    def ids(self, folder: str, ending: str) -> list[str]:
        """The ids of the objects in a folder such as `runs`, sorted."""
        names = (path.name for path in self.path(folder).glob(f"*{ending}")) if self.path(folder).is_dir() else ()
        return sorted(unquote(name.removesuffix(ending)) for name in names if not name.endswith(_BESIDE))

    def write(self, name: str, content: bytes) -> None:
        """The whole of a file, or what was there before. It is on disk when this returns. Raises OSError."""
        with self.writing(name) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A file to be written piece by piece, which takes its place once all is well. Raises OSError."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + _BESIDE)
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
