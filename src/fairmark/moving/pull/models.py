"""The service's list of models, as it comes: it tells when each of them goes."""

from fairmark.errors import CannotRead
from fairmark.moving.pull.reader import SectionReader


async def pull_models(reader: SectionReader) -> None:
    try:
        content = await reader.service.object("models")
    except CannotRead as error:
        reader.journal.problem("list", "models", str(error))
        return
    reader.journal.solved("list", "models")
    await reader.write("models.json", content)
