"""Stored chat completions and responses out of an archive, each with what was asked."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.bodies import with_members
from fairmark.moving.load.loading import Loading, object_of, read_object, text_of, whole_of
from fairmark.moving.load.report import Clash
from fairmark.store import ids
from fairmark.store.completions import Kind, StoredCompletion

_LINES_A_BATCH = 50
BYTES_A_BATCH = 4_000_000


class Exchanges(NamedTuple):
    """Where an archive has one of the two kinds."""

    name: str
    kind: Kind
    list: str
    folder: str
    ending: str
    """Of what was asked: .json is one list, .jsonl a line for each."""
    time: str
    new_id: str


CHATS = Exchanges("completions", "chat", "completions.jsonl", "messages", ".json", "created", "chatcmpl-")
RESPONSES = Exchanges("responses", "response", "responses.jsonl", "input_items", ".jsonl", "created_at", "resp_")


async def load_completions(loading: Loading) -> None:
    for these in (CHATS, RESPONSES):
        lines = loading.archive.lines(these.list)
        while batch := await asyncio.to_thread(_some, lines):
            for body in batch:
                value = await asyncio.to_thread(read_object, loading, these.name, these.list, body)
                if value is not None:
                    await _load(loading, these, body, value)


def _some(lines: Iterator[bytes]) -> list[bytes]:
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if len(some) >= _LINES_A_BATCH or size >= BYTES_A_BATCH:
            break
    return some


async def _load(loading: Loading, these: Exchanges, body: bytes, value: dict[str, Any]) -> None:
    id_, tally = text_of(value.get("id")), loading.report.of(these.name)
    asked = await asyncio.to_thread(read_asked, loading.archive, these, id_)
    target = loading.copies.get(these.name, id_) or id_
    there = await loading.store.completions.get(loading.project, these.kind, target)
    if asked is None and there is not None:  # a list of completions says less than what came before
        asked = await _asked_before(loading, these, target)
    if asked is None:
        loading.report.problem(these.name, id_, "what was asked is not in the archive.")
    renamed = await _renamed(body, id_, target)
    reason = _clash(loading, target, there, renamed)
    if reason is not None:
        if loading.on_clash == "copy":
            target = ids.new(these.new_id)
            renamed = await _renamed(body, id_, target)
            if not loading.dry_run:
                loading.copies.add(these.name, id_, target)
            loading.report.clashes.append(Clash(these.name, id_, reason, f"copied as {target}"))
            there = None
        elif loading.on_clash == "replace" and ids.plausible(target):
            loading.report.clashes.append(Clash(these.name, id_, reason, "replaced"))
        else:
            loading.report.clashes.append(Clash(these.name, id_, reason, "skipped"))
            tally.skipped += 1
            return
    if there is not None and there.imported is None and there.body == body:
        tally.unchanged += 1
        return
    if loading.dry_run:
        is_same = there is not None and there.body == renamed
        tally.new += there is None
        tally.unchanged += is_same
        tally.changed += there is not None and not is_same
        return
    done = await loading.store.completions.put_imported(
        loading.project,
        these.kind,
        target,
        whole_of(value.get(these.time)),
        object_of(value.get("metadata")),
        asked or b"[]",
        renamed,
        b"{}",
        _imported(loading, there),
    )
    tally.new += done == "added"
    tally.changed += done == "replaced"
    tally.unchanged += done == "unchanged"
    loading.progress(these.name, tally.new + tally.changed + tally.unchanged + tally.skipped)


async def _asked_before(loading: Loading, these: Exchanges, id_: str) -> bytes | None:
    asked = await loading.store.completions.read_input(loading.project, these.kind, id_)
    return b"".join((b"[", b",".join(map(bytes, asked)), b"]")) if asked else None


async def _renamed(body: bytes, id_: str, target: str) -> bytes:
    return body if target == id_ else await asyncio.to_thread(with_members, body, {"id": target})


def _clash(loading: Loading, target: str, there: StoredCompletion | None, body: bytes) -> str | None:
    if not ids.plausible(target):
        return "this is no id that could be kept: letters, digits, _ and -, 100 at most."
    if there is None or there.body == body:
        return None
    if there.imported is None:
        return "one that was made here has this id and other content."
    if there.imported.get("source") != loading.source:
        return f"one that came from {there.imported.get('source')} has this id and other content."
    return None


def _imported(loading: Loading, there: StoredCompletion | None) -> dict[str, Any]:
    before = object_of(there.imported) if there is not None else {}
    is_again = before.get("source") == loading.source
    return {"source": loading.source, "at": before.get("at", loading.at) if is_again else loading.at}


def read_asked(archive: Archive, these: Exchanges, id_: str) -> bytes | None:
    """The list of messages or items that were sent, as JSON; None where it is not there or is none."""
    name = part_name(these.folder, id_, these.ending)
    if these.ending == ".jsonl":
        if not archive.path(name).is_file():
            return None
        content = b"[" + b",".join(archive.lines(name)) + b"]"
    else:
        whole = archive.read(name)
        if whole is None:
            return None
        content = whole
    try:
        return b"".join((b"[", b",".join(map(bytes, jsontext.elements(content))), b"]"))
    except jsontext.NotJson:
        return None
