"""The settings: `fairmark.toml`, then the environment, each over the one before. Read once, when first needed."""

import os
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from fairmark import jsontext
from fairmark.errors import InvalidSettings

FILE = "fairmark.toml"
TABLES = ("providers", "models", "aliases")
"""What stands in the file besides single settings; whoever needs a table reads it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is the key in the file and, in capitals after FAIRMARK_, the environment's variable."""

    home: Path | None = None
    """Where images and data live; without it, the user's data directory."""
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    sandbox_isolation: Literal["auto", "per_grader", "per_grade"] = "auto"
    sandbox_runners: int = 0
    """How many grades of untrusted code run at once; 0 means two a core. As many again for owners who have none."""
    sandbox_timeouts: int = 3
    """After how many timeouts in a row a grader is given up for its call or run; 0 is never."""
    python_timeout_s: float = 120.0
    python_memory_mb: int = 2048
    python_disk_mb: int = 1024
    function_timeout_s: float = 10.0
    function_memory_mb: int = 512
    function_disk_mb: int = 64
    judge_concurrency: int = 64
    """How many questions are under way at once at each model; four times as many for one project, at all models."""
    judge_timeout_s: float = 60.0
    """What one attempt may take."""
    judge_deadline_s: float = 300.0
    """What a question may take with all its retries."""
    judge_retries: int = 6
    judge_cache: Literal["on", "off", "read_only", "refresh"] = "on"
    """refresh asks anew and stores what it gets."""
    judge_cache_mb: int = 1024
    endpoint_allow: str = ""
    """Which private addresses `endpoint` graders may ask: hosts, host:port and networks, with commas between."""
    db: str = ""
    """The server's database, as a URL; without it, a SQLite file in the home."""
    runs_at_once: int = 256
    """How many runs the server works on at once; a project that has none under way begins one all the same."""
    max_body_mb: int = 64
    """How long the JSON of a request may be."""
    max_file_mb: int = 512
    request_timeout_s: float = 30.0
    """What a client may take to send a request, and a second more for every 64 kB of it."""
    rate_limit_per_minute: int = 0
    """Requests a minute for each key of the server; 0 is no limit."""
    trusted_proxies: str = ""
    """Who may tell the server for whom they ask (X-Forwarded-…): addresses and networks, with commas between."""

    @property
    def data_folder(self) -> Path:
        if self.home is not None:
            return self.home
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        return Path(base) / "fairmark"


@cache
def settings() -> Settings:
    """The settings of this process. Raises InvalidSettings."""
    return read(Path(FILE), dict(os.environ))


def read_tables(file: Path) -> dict[str, Any]:
    """The whole file: single settings, and tables such as `models`. Empty where there is none."""
    try:
        content = file.read_bytes()
    except OSError:  # there is none, or we may not look
        return {}
    import tomllib  # most have no such file

    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{file}: not TOML: {error}") from None


def read(file: Path, environment: dict[str, str]) -> Settings:
    table = read_tables(file)
    known = [field.name for field in fields(Settings)] + list(TABLES)
    for name in table:
        if name not in known:
            near = jsontext.nearest(name, known)
            raise InvalidSettings(f"{file}: {name}: unknown.{near} There are: {', '.join(known)}.")
    given = {name: (f"{file}: {name}", value) for name, value in table.items() if not isinstance(value, dict)}
    types = get_type_hints(Settings)
    for field in fields(Settings):
        variable = f"FAIRMARK_{field.name.upper()}"
        if environment.get(variable):
            given[field.name] = (variable, environment[variable])
    return Settings(**{name: _convert(*given[name], types[name]) for name in types if name in given})


def _convert(where: str, value: Any, wanted: Any) -> Any:
    allowed = get_args(wanted)
    if wanted in (int, float):
        try:
            number = wanted(value)
        except (TypeError, ValueError):
            number = -1
        if isinstance(value, bool) or not 0 <= number < float("inf"):
            raise InvalidSettings(f"{where}: found {jsontext.describe(value)}. It takes a number, 0 or more.")
        return number
    if not isinstance(value, str):
        raise InvalidSettings(f"{where}: found {jsontext.describe(value)}. It takes a string.")
    if wanted is str:
        return value
    if Path in allowed:
        return Path(value).expanduser()
    if value not in allowed:
        raise InvalidSettings(f"{where}: found {jsontext.quote(value)}. Use one of: {', '.join(allowed)}.")
    return value
