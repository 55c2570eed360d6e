"""What an import on a server is asked for, checked: whose key is used, where it is sent, which folder is read.

A key is never in a request: it is named, and it is one of those that the server's settings name. It goes only where it
belongs: to the provider that it is configured for, or to OpenAI's and Azure's own hosts. Whoever could name another
address would be given the key there, or would have the server look at addresses that only the server can reach.
"""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidData, InvalidSettings
from fairmark.judges.models import ModelRegistry
from fairmark.moving.archive import part_name
from fairmark.moving.load import OnClash
from fairmark.moving.pull import SECTIONS
from fairmark.moving.pull.door import OPENAI, Door, azure_door, openai_door
from fairmark.refusals import invalid, missing, wrong_type

ImportSource = Literal["openai", "azure", "archive", "file"]
ASKED_FOR: tuple[ImportSource, ...] = ("openai", "azure", "archive")
ON_CLASH: tuple[OnClash, ...] = get_args(OnClash)
FOLDER = "imports"
KEY_OF = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY"}
_HOSTS = {
    "openai": re.compile(r"(?:[a-z0-9-]+\.)?api\.openai\.com"),
    "azure": re.compile(r"[a-z0-9-]+\.(?:openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)"),
}
_ARCHIVE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FIELDS = ("source", "base_url", "key_env", "archive", "only", "since", "on_clash", "api_version", "auth")


class ImportRequest(msgspec.Struct, frozen=True):
    """What is to be imported. It may be written down and shown: there is no key in it."""

    source: ImportSource
    archive: str
    """The folder's name below the project's own; of a new pull it is made."""
    on_clash: OnClash = "skip"
    base_url: str | None = None
    key_env: str | None = None
    api_version: str | None = None
    auth: Literal["key", "bearer"] | None = None
    only: tuple[str, ...] = SECTIONS
    since: float = 0
    file: str | None = None
    """The name of an uploaded file."""
    name: str | None = None
    """What its eval is to be called."""
    accept_drafts: bool = False
    judge: str | None = None
    """Who judges where an accepted draft names nobody."""

    def dump(self) -> dict[str, Any]:
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return {key: value for key, value in dumped.items() if value is not None}

    @classmethod
    def read(cls, dumped: Mapping[str, Any]) -> "ImportRequest":
        return msgspec.convert(dict(dumped), cls)

    def door(self) -> Door:
        """Raises InvalidData."""
        if self.source == "openai":
            return openai_door(self.base_url or OPENAI)
        return azure_door(self.base_url or "", self.api_version, "api-key" if self.auth == "key" else self.auth)


class Asking(NamedTuple):
    """Who asks for an import, and what this server knows."""

    project: str
    is_admin: bool
    """Whether they look after the server: its keys read all that their owner has."""
    import_keys: str
    registry: ModelRegistry
    environment: Mapping[str, str] = os.environ

    def keys(self) -> dict[str, bool]:
        """The variables that they may name -> whether there is something in it. Raises InvalidSettings."""
        names = dict.fromkeys([*KEY_OF.values(), *self._of_providers()] if self.is_admin else [])
        for owner, name in listed_keys(self.import_keys):
            if owner == self.project or (owner is None and self.is_admin):
                names[name] = None
        return {name: bool(self.environment.get(name, "").strip()) for name in names}

    def _of_providers(self) -> list[str]:
        return [provider.key_from for provider in self.registry.providers.values() if provider.key_from]

    def check_key(self, name: str) -> None:
        """Raises ApiError."""
        keys = self.keys()
        if name not in keys:
            if not keys:
                raise ApiError(
                    403,
                    f"key_env: the project {self.project} may use no key of this server. Whoever looks after it lists "
                    f"one: FAIRMARK_IMPORT_KEYS={self.project}=NAME.",
                    param="key_env",
                    code="not_admin",
                )
            shown = jsontext.quote(name)
            raise invalid(
                f"key_env: found {shown}. It takes the name of a variable that this server's settings name: "
                f"{', '.join(keys)}. FAIRMARK_IMPORT_KEYS lists more.",
                "key_env",
            )
        if not keys[name]:
            raise invalid(f"key_env: the server's environment has no {name}.", "key_env", "key_missing")

    def check_address(self, door: Door, key_env: str) -> None:
        """Whether the key may be sent there. Raises ApiError."""
        origin = _origin(door.base_url)
        own = [provider.base_url for provider in self.registry.providers.values() if provider.key_from == key_env]
        if origin in map(_origin, own):
            return
        belongs_to_another = key_env not in (*KEY_OF.values(), *(name for _, name in listed_keys(self.import_keys)))
        scheme, host, port = origin
        if scheme == "https" and port == 443 and _HOSTS[door.source].fullmatch(host) and not belongs_to_another:
            return
        hosts = {"openai": "api.openai.com and its regions", "azure": "Azure's hosts"}[door.source]
        also = "".join(f", {address}" for address in own)
        raise invalid(
            f"base_url: {key_env} is not sent to {jsontext.quote(door.base_url)}. It goes to {hosts} over https{also}. "
            "For another address, use fairmark import on your own machine.",
            "base_url",
            "address_not_allowed",
        )


def listed_keys(setting: str) -> list[tuple[str | None, str]]:
    """(project, variable) of the setting `import_keys`; no project for whoever looks after the server.
    Raises InvalidSettings."""
    listed: list[tuple[str | None, str]] = []
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        owner, equals, name = entry.rpartition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or (equals and not owner.strip()):
            raise InvalidSettings(
                f"import_keys: found {jsontext.quote(entry)}. It takes NAME or PROJECT=NAME, with commas between."
            )
        listed.append((owner.strip() or None, name))
    return listed


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or (443 if parts.scheme == "https" else 80)


def folder_of(home: Path, project: str) -> Path:
    """Where a project's archives are."""
    return home / part_name(FOLDER, project)


def read_request(body: Mapping[str, Any], asking: Asking, new_archive: str) -> ImportRequest:
    """What a body asks for. `new_archive` is the name for a pull that names none. Raises ApiError."""
    _check_fields(body)
    source = _choice(body, "source", ASKED_FOR)
    on_clash = read_on_clash(body)
    archive = _text(body, "archive")
    if archive is not None and not _ARCHIVE.fullmatch(archive):
        raise invalid(
            f"archive: found {jsontext.quote(archive)}. It takes the name of a folder in {FOLDER}/{asking.project} of "
            "the server's home: letters, digits, dots, _ and -.",
            "archive",
        )
    api_version, base_url = _text(body, "api_version"), _text(body, "base_url")
    auth = None if body.get("auth") is None else _choice(body, "auth", ("key", "bearer"))
    only, since, key_env = _sections(body.get("only")), _since(body.get("since")), _text(body, "key_env")
    if source == "archive":
        if archive is None:
            raise missing(
                "archive", f"It takes the name of a folder in {FOLDER}/{asking.project} of the server's home."
            )
        return ImportRequest(source, archive, on_clash)
    key_env = key_env or KEY_OF[source]
    asking.check_key(key_env)
    request = ImportRequest(
        source=source,
        archive=archive or new_archive,
        on_clash=on_clash,
        base_url=base_url or _address(source, asking.environment),
        key_env=key_env,
        api_version=api_version,
        auth=auth,
        only=only,
        since=since,
    )
    try:
        door = request.door()
    except InvalidData as error:
        raise invalid(str(error).replace("--base-url", "base_url"), "base_url") from None
    asking.check_address(door, key_env)
    return request


def read_on_clash(fields: Mapping[str, Any]) -> OnClash:
    """Raises ApiError."""
    on_clash: OnClash = _choice(fields, "on_clash", ON_CLASH, "skip")
    return on_clash


def _check_fields(body: Mapping[str, Any]) -> None:
    for name in body:
        if name in ("key", "api_key"):
            raise invalid(
                f"{name}: keys are not sent. Set it in the server's environment, and name the variable: key_env.", name
            )
        if name not in _FIELDS:
            near = jsontext.nearest(name, _FIELDS)
            raise invalid(
                f"{jsontext.quote(name)}: unknown.{near} It takes {', '.join(_FIELDS)}.", name, "unknown_parameter"
            )


def _address(source: ImportSource, environment: Mapping[str, str]) -> str:
    if source == "openai":
        return environment.get("OPENAI_BASE_URL") or OPENAI
    endpoint = environment.get("AZURE_OPENAI_ENDPOINT")
    if not endpoint:
        raise missing("base_url", "It takes the resource's address: https://NAME.openai.azure.com.")
    return endpoint


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    return value or None


def _choice(body: Mapping[str, Any], name: str, allowed: tuple[Any, ...], otherwise: str | None = None) -> Any:
    value = body.get(name, otherwise)
    if value not in allowed:
        mistake = "missing" if value is None else f"found {jsontext.describe(value)}"
        code = "missing_required_parameter" if value is None else "invalid_value"
        raise invalid(f"{name}: {mistake}. Use one of: {', '.join(allowed)}.", name, code)
    return value


def _sections(only: Any) -> tuple[str, ...]:
    if only is None:
        return SECTIONS
    if isinstance(only, str):
        only = [word.strip() for word in only.split(",") if word.strip()]
    if not isinstance(only, list) or not only or any(word not in SECTIONS for word in only):
        raise invalid(
            f"only: found {jsontext.describe(only)}. It takes a list of some of {', '.join(SECTIONS)}.", "only"
        )
    return tuple(section for section in SECTIONS if section in only)


def _since(since: Any) -> float:
    if since is None or since == "":
        return 0
    if isinstance(since, (int, float)) and not isinstance(since, bool) and 0 <= since < 1e11:
        return float(since)
    try:
        time = datetime.fromisoformat(since)
    except (TypeError, ValueError):
        raise invalid(
            f'since: found {jsontext.describe(since)}. It takes a date, "2026-01-31", or seconds.', "since"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
