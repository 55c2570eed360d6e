"""Style sheets, scripts and pictures, out of the package: read once, compressed once, kept by browsers for ever.

All have one version, the hash of all, in their address: a module finds those that it imports beside itself.
"""

import gzip
import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError

FOLDER = Path(__file__).parents[1] / "static"
ROUTE = "/static/{version}/{name:path}"
PREFIX = "/static/"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@cache
def files() -> dict[str, bytes]:
    """Name -> content. What has another ending is not served."""
    paths = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in _TYPES)
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}


@cache
def version() -> str:
    seen = hashlib.sha256()
    for name, content in files().items():
        seen.update(f"{name} {len(content)}\n".encode() + content)
    return seen.hexdigest()[:12]


def url(name: str) -> str:
    """Where the file is. An unknown name is a fault of ours, and told at once."""
    if name not in files():
        raise LookupError(f"there is no asset {name}")
    return f"{PREFIX}{version()}/{name}"


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(files()[name], 9, mtime=0)


async def serve(request: Request) -> Response:
    name = request.path_params["name"]
    content = files().get(name)
    if content is None:
        raise ApiError(404, "There is no such file.", code="not_found")
    # A page of the server's last version may still be open: it gets today's file, but is not to keep it.
    is_current = request.path_params["version"] == version()
    headers = {
        "cache-control": "public, max-age=31536000, immutable" if is_current else "no-cache",
        "x-content-type-options": "nosniff",
        "vary": "accept-encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        content = _compressed(name)
    return Response(content, headers=headers, media_type=_TYPES[Path(name).suffix])
