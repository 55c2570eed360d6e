"""The settings: `fairmark.toml`, then the environment, each over the one before. Read once, when first needed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from fairmark import jsontext
from fairmark.errors import InvalidSettings

FILE = "fairmark.toml"
TEXT = "FAIRMARK_TOML"
"""The variable that holds the text of the file instead, for processes on machines that do not have it."""
TABLES = ("providers", "models", "aliases")
"""What stands in the file besides single settings; whoever needs a table reads it."""
PREFIX = "FAIRMARK_"
SECRET_PREFIX = "FAIRMARK_SECRET_"  # noqa: S105  # the names of secrets, and none of them
"""Begins the variables whose values graders' headers may name."""
VARIABLES = {
    "FAIRMARK_API_KEY": True,
    "FAIRMARK_DEBUG": False,
    "FAIRMARK_MODEL_ALIASES": False,
    "FAIRMARK_REWARD_KEY": True,
    TEXT: True,
    "FAIRMARK_URL": False,
    "OPENAI_API_KEY": True,
    "OPENAI_BASE_URL": False,
    "OPENAI_ORG_ID": False,
    "OPENAI_PROJECT_ID": False,
    "OPENAI_API_VERSION": False,
    "AZURE_OPENAI_ENDPOINT": False,
    "AZURE_OPENAI_API_KEY": True,
    "AZURE_OPENAI_AD_TOKEN": True,
    "XDG_DATA_HOME": False,
}
"""The variables that are read besides those of single settings, and whether each is a secret."""


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
    judge_give_up_s: float = 900.0
    """How long a run goes on asking models that answer none of its rows."""
    judge_retries: int = 6
    judge_cache: Literal["on", "off", "read_only", "refresh"] = "on"
    """refresh asks anew and stores what it gets."""
    judge_cache_mb: int = 1024
    endpoint_allow: str = ""
    """Which private addresses `endpoint` graders may ask: hosts, host:port and networks, with commas between."""
    import_keys: str = ""
    """More variables of the environment whose keys imports may use, with commas between: NAME for whoever looks after
    the server, PROJECT=NAME for that project."""
    db: str = ""
    """The server's database, as a URL; without it, a SQLite file in the home."""
    engine: Literal["local", "ray"] = "local"
    """Where the server has the rows of its runs graded: by itself, or on a Ray cluster."""
    ray_address: str = "auto"
    ray_actors: int = 0
    """How many processes of the cluster grade; 0 means one for each of its cores."""
    ray_timeout_s: float = 120.0
    """After how long without any process of the cluster that answers a call or run is given up."""
    runs_at_once: int = 256
    """How many runs the server works on at once; a project that has none under way begins one all the same."""
    max_body_mb: int = 64
    """How long the JSON of a request may be."""
    max_file_mb: int = 512
    request_timeout_s: float = 30.0
    """What a client may take to send a request, and a second more for every 64 kB of it."""
    rate_limit_per_minute: int = 0
    """Requests a minute for each key of the server; 0 is no limit."""
    job_baseline_s: float = 3600.0
    """How long the baseline of a reinforcement job may be graded; what is not graded then is left out of it."""
    completion_timeout_s: float = 600.0
    """How long a model behind the server may say nothing when it is asked through the server; six times as much for a
    whole answer."""
    completion_concurrency: int = 512
    """How many such questions are passed on at once; half as many for one project."""
    completion_days: float = 30.0
    """How long completions are stored; 0 is until they are deleted."""
    completion_mb: int = 10
    """How long a completion may be, with its input, to be stored."""
    completions_at_most: int = 1_000_000
    """How many completions of one project are stored; then no more are."""
    completions_at_most_mb: int = 10_000
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
    """The whole file: single settings, and tables such as `models`. Empty where there is none. Raises InvalidSettings,
    for a name that nobody reads too: whoever mistyped it believes that it is set."""
    text = os.environ.get(TEXT) if file == Path(FILE) else None
    try:
        content = file.read_bytes() if text is None else text.encode()
    except OSError:  # there is none, or we may not look
        return {}
    import tomllib  # most have no such file

    try:
        tables = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{file}: not TOML: {error}") from None
    known = [field.name for field in fields(Settings)] + list(TABLES)
    for name in tables:
        if name not in known:
            near = jsontext.nearest(name, known)
            raise InvalidSettings(f"{file}: {name}: unknown.{near} There are: {', '.join(known)}.")
    return tables


def read(file: Path, environment: Mapping[str, str]) -> Settings:
    types = get_type_hints(Settings)
    values = _given(file, environment)
    return Settings(**{name: _convert(*values[name], types[name]) for name in types if name in values})


def _given(file: Path, environment: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    """What somebody has set: by name, where it stands and what it is. An empty variable is none."""
    table = read_tables(file)
    values = {name: (f"{file}: {name}", value) for name, value in table.items() if not isinstance(value, dict)}
    for field in fields(Settings):
        variable = variable_of(field.name)
        if environment.get(variable):
            values[field.name] = (variable, environment[variable])
    return values


def variable_of(name: str) -> str:
    """The environment's name of a setting."""
    return PREFIX + name.upper()


class Origin(NamedTuple):
    """A value, and where it comes from. Secrets are not in it."""

    name: str
    value: Any
    source: Literal["default", "file", "environment"]
    place: str
    """The file's path or the variable's name; nothing for a default."""


def origins(file: Path, environment: Mapping[str, str]) -> list[Origin]:
    """Every setting, then the tables of the file, then those of the other variables that are set. Raises
    InvalidSettings."""
    current, given, told = read(file, environment), _given(file, environment), []
    stands = TEXT if file == Path(FILE) and os.environ.get(TEXT) else str(file.absolute())
    for field in fields(Settings):
        place, _ = given.get(field.name, ("", None))
        in_environment = place == variable_of(field.name)
        source: Literal["default", "file", "environment"] = (
            "environment" if in_environment else "file" if place else "default"
        )
        value = str(current.data_folder) if field.name == "home" else getattr(current, field.name)
        told.append(Origin(field.name, _readable(value), source, stands if source == "file" else place))
    tables = read_tables(file)
    told += [Origin(name, sorted(tables[name]), "file", stands) for name in TABLES if tables.get(name)]
    for variable, value in environment.items():
        if value and (variable in VARIABLES or variable.startswith(SECRET_PREFIX)):
            shown = HIDDEN if VARIABLES.get(variable, True) else _readable(value)
            told.append(Origin(variable, shown, "environment", variable))
    return told


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """What to tell of variables that look like ours and that nobody reads: whoever set one believes that it holds."""
    from difflib import get_close_matches  # mistakes are rare

    known = [field.name.upper() for field in fields(Settings)]
    known += [variable.removeprefix(PREFIX) for variable in VARIABLES if variable.startswith(PREFIX)]
    told = []
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name != variable and name not in known and not variable.startswith(SECRET_PREFIX):
            near = get_close_matches(name, known, n=1, cutoff=0.6)
            told.append(f"{variable}: nobody reads it." + (f" Did you mean {PREFIX}{near[0]}?" if near else ""))
    return told


HIDDEN = "***"


def _readable(value: Any) -> Any:
    return _without_password(value) if isinstance(value, str) else value


def _without_password(url: str) -> str:
    """A URL as people may read it, without what stands after the user's name or in the query."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    user, at, place = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    place, question, _ = place.partition("?")
    return f"{scheme}://{name}{colon and f':{HIDDEN}'}{at}{place}{question and f'?{HIDDEN}'}"


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
