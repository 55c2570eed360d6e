"""Stored chat completions, and of each its messages: the list does not have them."""

from collections.abc import Iterator

from fairmark.errors import CannotRead
from fairmark.moving.archive import part_name
from fairmark.moving.pull.disk import on_disk
from fairmark.moving.pull.pages import ListedObject, in_path, read_head
from fairmark.moving.pull.reader import ASC, Listing, SectionReader
from fairmark.moving.pull.service import SIZES, Pace


async def pull_completions(reader: SectionReader) -> None:
    reader.tally.at("completions")
    await reader.read_once(
        Listing("completions", "completions", "completions.jsonl", "chat/completions", keep=reader.is_wanted)
    )

    async def one(id_: str) -> None:
        if not await on_disk(reader.archive.path(_name(id_)).exists):
            await _messages(reader, id_)

    await reader.each(_ids(reader), one)


def _name(id_: str) -> str:
    return part_name("messages", id_, ".json")


def _ids(reader: SectionReader) -> Iterator[str]:
    for line in reader.archive.lines("completions.jsonl"):
        yield str(read_head(line).id)


async def _messages(reader: SectionReader, id_: str) -> None:
    """What was asked does not change any more: read once it is read for good."""
    messages: list[ListedObject] = []
    after, pace = None, Pace(SIZES)
    while True:
        try:
            page = await reader.service.page(f"chat/completions/{in_path(id_)}/messages", ASC, after, pace)
        except CannotRead as error:
            reader.journal.problem("messages", id_, str(error))
            return
        messages += page.objects
        if not page.has_more or page.objects[-1].id == after:
            break
        after = page.objects[-1].id
    reader.journal.solved("messages", id_)
    content = b"[" + b",\n".join(message.raw for message in messages) + b"]\n"
    await reader.write(_name(id_), content)
    reader.tally.count("messages", len(messages), len(content))
