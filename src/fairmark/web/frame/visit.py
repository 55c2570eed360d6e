"""Who looks at a page, and what only their browser knows: the session, the token against forged requests."""

import hmac
import secrets
from dataclasses import dataclass
from urllib.parse import quote, unquote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from fairmark.serving.access import OPEN_PROJECT, Visitor, cookie

SEED_COOKIE = "fairmark_seed"
"""A random text for browsers without a session, to which their tokens are bound."""
FLASH_COOKIE = "fairmark_flash"
"""What the next page is to say. It is gone once it was said."""
FLASH_LENGTH = 600


@dataclass(slots=True)
class Visit:
    """One request for a page."""

    visitor: Visitor | None
    """None on pages that need nobody, such as the one to sign in."""
    session: str | None
    seed: str
    is_new: bool
    """Whether the seed is one that the browser does not have yet."""
    flash: str
    nonce: str
    """Makes the style sheets that our editor writes welcome to the browser, and no others."""
    flash_shown: bool = False

    @property
    def project(self) -> str | None:
        return None if self.visitor is None else self.visitor.project

    @property
    def is_admin(self) -> bool:
        """Keys of the project that also an open server has look after everybody's keys."""
        return self.project == OPEN_PROJECT

    @property
    def by_key(self) -> bool:
        """Whether the request itself had a key in a header, which no page of another site can bring about."""
        return self.visitor is not None and self.visitor.key_id is not None and self.session is None

    def token(self) -> str:
        """A new form of the same secret each time: who sees many compressed pages must not guess it from their size."""
        pad = secrets.token_bytes(32)
        return (pad + _xor(pad, self._secret())).hex()

    def knows(self, token: str) -> bool:
        """Whether the token is one of this browser's."""
        try:
            masked = bytes.fromhex(token)
        except ValueError:
            return False
        return len(masked) == 64 and hmac.compare_digest(_xor(masked[:32], masked[32:]), self._secret())

    def _secret(self) -> bytes:
        return hmac.digest((self.session or self.seed).encode("latin-1", "replace"), b"forged requests", "sha256")


def begin(scope: Scope) -> Visit:
    """The visit of a request that the gate has let in, or refuses just now."""
    headers = dict(scope["headers"])
    seed = cookie(headers, SEED_COOKIE)
    flash = unquote(cookie(headers, FLASH_COOKIE) or "")[:FLASH_LENGTH]
    known = seed if seed and 32 <= len(seed) <= 64 else None
    made = Visit(
        scope.get("visitor"),
        scope.get("session"),
        known or secrets.token_urlsafe(32),
        known is None and scope.get("session") is None,
        flash,
        secrets.token_urlsafe(16),
    )
    scope["visit"] = made
    return made


def visit(request: Request) -> Visit:
    current: Visit = request.scope["visit"]
    return current


def form(request: Request) -> FormData:
    """The fields that were posted; none where the body is no form."""
    data: FormData = request.scope["form"]
    return data


def field(request: Request, name: str) -> str:
    """A field's text; empty where there is none."""
    value = form(request).get(name)
    return value if isinstance(value, str) else ""


def above_zero(text: str) -> float | None:
    """What somebody wrote into a field for a number above 0; None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not 0 < number < 1e15:
        return None
    return int(number) if number.is_integer() else number


def redirect(to: str, flash: str = "") -> Response:
    """See there, after something was done here. `flash` is what the page there says about it, once."""
    answer = RedirectResponse(to, 303)
    if flash:
        answer.set_cookie(FLASH_COOKIE, quote(flash[:FLASH_LENGTH]), max_age=60, httponly=True, samesite="lax")
    return answer


def is_partial(request: Request) -> bool:
    """Whether HTMX asks for a part of the page that it already shows."""
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-history-restore-request") != "true"


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
