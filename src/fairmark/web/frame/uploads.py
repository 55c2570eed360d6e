"""Files that forms bring along: kept among the project's files, whole or not at all."""

from functools import partial

from starlette.datastructures import UploadFile
from starlette.requests import Request

from fairmark.refusals import invalid
from fairmark.serving.upload import base_name, finished
from fairmark.serving.wire import project, state
from fairmark.store import File, ids
from fairmark.store.base.contents import NewContent
from fairmark.web.frame.show import ago, size
from fairmark.web.frame.visit import form

PURPOSE = "evals"
FILES_SHOWN = 100


def uploaded(request: Request, name: str) -> UploadFile | None:
    """The file of this field of the form; None where nobody chose any."""
    upload = form(request).get(name)
    return upload if isinstance(upload, UploadFile) and upload.filename else None


async def keep(request: Request, upload: UploadFile) -> File:
    """Raises ApiError for an empty one."""
    files = state(request).store.files
    file_id = ids.new_file()
    content = NewContent(files.content(file_id))
    name = base_name(upload.filename or "")
    try:
        written = await finished(partial(_copy, upload, content))
        if not written:
            raise invalid(f"“{name}” is empty.", "file")
        return await files.create(project(request), file_id, name, PURPOSE, written, None)
    except BaseException:
        await finished(content.discard)
        raise


def _copy(upload: UploadFile, content: NewContent) -> int:
    content.open()
    written = 0
    while piece := upload.file.read(1_000_000):
        content.write(piece)
        written += len(piece)
    content.finish()
    return written


async def choices(request: Request) -> list[tuple[str, str]]:
    """The project's files for a menu, the newest first: id and words."""
    listed = await state(request).store.files.list(project(request), PURPOSE, FILES_SHOWN)
    return [(file.id, f"{file.filename}, {size(file.bytes)}, {ago(file.created_at)}") for file in listed.data]
