"""Responses: no list shows them, so that they are those whose ids somebody brings, or that output items name."""

import re
from collections.abc import Iterator, Sequence
from typing import IO

from fairmark.errors import CannotRead
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.pull.disk import on_disk
from fairmark.moving.pull.listing import ListPart
from fairmark.moving.pull.pages import ListedObject, Unreadable, in_path, read_object
from fairmark.moving.pull.reader import Listing, SectionReader

ID = re.compile(rb'"(resp_[A-Za-z0-9_-]{8,120})"')
ENDED = ("completed", "failed", "incomplete", "cancelled")
TOGETHER = 20
"""A response has no page; so many are kept together as if they were one."""
_CHUNK = 1 << 20


async def pull_responses(reader: SectionReader, wanted: Sequence[str]) -> None:
    reader.tally.at("responses")
    named = await on_disk(_named, reader.archive)
    known = await on_disk(_known, reader)
    ids = sorted({*wanted, *named} - known)
    part = ListPart(reader.journal.part("responses"))
    for begin in range(0, len(ids), TOGETHER):
        objects: dict[str, ListedObject] = {}

        async def one(id_: str, objects: dict[str, ListedObject] = objects) -> None:
            response = await _response(reader, id_)
            if response is not None:
                objects[id_] = response

        await reader.each(ids[begin : begin + TOGETHER], one)
        if objects:
            await on_disk(_append, reader, part, [objects[id_] for id_ in sorted(objects)])
            reader.tally.count("responses", len(objects), part.bytes)


async def _response(reader: SectionReader, id_: str) -> ListedObject | None:
    try:
        response = read_object(await reader.service.object(f"responses/{in_path(id_)}"))
    except (CannotRead, Unreadable) as error:
        reader.journal.problem("response", id_, str(error))
        return None
    reader.journal.solved("response", id_)
    target = part_name("input_items", id_, ".jsonl")
    await reader.read_list(
        Listing(f"input_items/{id_}", "input_items", target, f"responses/{in_path(id_)}/input_items")
    )
    return response._replace(id=id_, raw=response.raw.strip())


def _append(reader: SectionReader, part: ListPart, responses: list[ListedObject]) -> None:
    """These to those that are there; the list stays whole at every moment."""
    reader.journal.check_room()
    part.begin()
    part.add(responses)
    part.settle(reader.archive, "responses.jsonl")


def _known(reader: SectionReader) -> set[str]:
    """Those that are here and will not change any more."""
    journal, known = reader.journal, set()
    for line in reader.archive.lines("responses.jsonl"):
        response = read_object(line)
        if response.head.status in ENDED and f"input_items/{response.id}" not in journal.ids("incomplete"):
            known.add(response.id)
    return known


def _named(archive: Archive) -> set[str]:
    """The ids of responses that stand in output items."""
    ids: set[str] = set()
    for run_id in archive.ids("items", ".jsonl"):
        with archive.path(part_name("items", run_id, ".jsonl")).open("rb") as file:
            for chunk in _overlapping(file):
                if b'"resp_' in chunk:
                    ids.update(match.decode() for match in ID.findall(chunk))
    return ids


def _overlapping(file: IO[bytes]) -> Iterator[bytes]:
    """A file in pieces, each with the end of the one before: an id may lie on the border."""
    end = b""
    while piece := file.read(_CHUNK):
        yield end + piece
        end = piece[-200:]
