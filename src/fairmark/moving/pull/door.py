"""Which hosted service is read: its address, how it wants its key, and what stands in every query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from fairmark import jsontext
from fairmark.errors import InvalidData

OPENAI = "https://api.openai.com/v1"
DATED = "2025-04-01-preview"
Auth = Literal["bearer", "api-key"]


@dataclass(frozen=True)
class Door:
    """Where to ask. It holds no key: what is here may be written down."""

    source: Literal["openai", "azure"]
    base_url: str
    auth: Auth
    query: tuple[tuple[str, str], ...] = ()

    def headers(self, key: str, environment: Mapping[str, str]) -> dict[str, str]:
        if self.auth == "api-key":
            return {"api-key": key}
        headers = {"Authorization": f"Bearer {key}"}
        if self.source == "openai":
            for name, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
                if environment.get(variable):
                    headers[name] = environment[variable]
        return headers


def openai_door(base_url: str = OPENAI) -> Door:
    """OpenAI, or a region of it: a project that is pinned to one answers only there. Raises InvalidData."""
    url = _checked(base_url)
    return Door("openai", url if urlsplit(url).path else f"{url}/v1", "bearer")


def azure_door(endpoint: str, api_version: str | None = None, auth: Auth | None = None) -> Door:
    """A resource, or a Foundry project (`…/api/projects/NAME`); both also with `/openai`, `/openai/v1` behind.

    A dated `api_version` leads to the older paths, `v1` and `preview` and none to the newer ones. Raises InvalidData.
    """
    url = _checked(endpoint)
    if auth is None:
        auth = "bearer" if "/api/projects/" in url else "api-key"
    is_dated = bool(api_version and re.match(r"\d{4}-\d\d-\d\d", api_version))
    if url.endswith("/openai") and not api_version:
        api_version, is_dated = DATED, True
    root = url.removesuffix("/v1").removesuffix("/openai")
    base = f"{root}/openai" if is_dated else f"{root}/openai/v1"
    return Door("azure", base, auth, (("api-version", api_version),) if api_version else ())


def _checked(address: str) -> str:
    """An address that can be asked and written down. Raises InvalidData."""
    try:
        parts = urlsplit(address.strip())
        _ = parts.port
    except ValueError:
        raise InvalidData(f"--base-url: {jsontext.quote(address)} is no address.") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        # Not shown: there may be a key in it.
        raise InvalidData(
            "--base-url: it has a user, a query or a fragment. It takes an address without: https://HOST/v1."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidData(f"--base-url: found {jsontext.quote(address)}. It takes https://HOST/v1.")
    return address.strip().rstrip("/")
