"""A file that was imported before: the same one, copied or downloaded anew, is as old as it was."""

from pathlib import Path
from typing import TYPE_CHECKING

from fairmark import jsontext
from fairmark.moving.archive import Archive

if TYPE_CHECKING:
    from fairmark.store import Store


def copies_of(home: Path, made: Archive) -> Archive:
    """Where it is remembered under which ids parts of this file were copied: what is made of it does not stay."""
    source = made.manifest().get("source")
    digest = str(source.get("digest")) if isinstance(source, dict) else "file"
    return Archive(home / "copied" / "".join(sign for sign in digest if sign.isalnum())[:64])


async def known_since(store: "Store", project: str, made: Archive) -> int | None:
    """When the first of its files or evals that is there was made; None where there is none of them."""
    for listing, kept in (("files.jsonl", store.files), ("evals.jsonl", store.evals)):
        for line in made.lines(listing):
            there = await kept.get(project, jsontext.decode(line)["id"])
            if there is not None:
                return there.created_at
    return None
