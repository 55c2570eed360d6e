"""Which models there are: names and patterns -> a provider, the real name, what the model can do, what it costs.

Read from `fairmark.toml` (tables `providers`, `models`, `aliases`) and the environment. Keys come from the environment
only, and stand in nothing that is shown.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote, urlsplit

from fairmark import jsontext
from fairmark.errors import InvalidSettings, UnknownModel
from fairmark.judgement import Usage
from fairmark.outbound.secrets import hidden
from fairmark.settings import FILE, read_tables

OPENAI_URL = "https://api.openai.com/v1"
AZURE_VERSION = "2024-10-21"
ALIASES_VARIABLE = "FAIRMARK_MODEL_ALIASES"
LOCAL = "local"

Rung = Literal["json_schema", "tools", "json_object", "text"]
RUNGS: tuple[Rung, ...] = get_args(Rung)
# OpenAI's reasoning models: no temperature, but a reasoning effort.
_REASONING = ("o1*", "o3*", "o4*", "gpt-5*")


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenAI-compatible endpoint."""

    name: str
    base_url: str
    kind: Literal["openai", "azure", "local"] = "openai"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that must stand in no message and no log."""
    api_version: str = AZURE_VERSION
    url_from: str = ""
    """Where the address was set, for messages: OPENAI_BASE_URL, `fairmark.toml: providers.house.base_url`."""
    key_from: str = ""
    """The variable that has its key, or should have."""

    @property
    def is_openai(self) -> bool:
        """OpenAI's own service or Azure's, as opposed to something that is compatible with it."""
        host = urlsplit(self.base_url).hostname or ""
        return self.kind == "azure" or host.endswith((".openai.com", ".openai.azure.com"))

    def url(self, path: str, model: str) -> str:
        base = self.base_url.rstrip("/")
        if self.kind != "azure":
            return f"{base}/{path}"
        if path == "responses":  # deployments have no such path
            return f"{base}/openai/v1/responses"
        return f"{base}/openai/deployments/{quote(model, safe='')}/{path}?api-version={quote(self.api_version)}"

    @property
    def models_url(self) -> str:
        """Where it lists its models."""
        base = self.base_url.rstrip("/")
        return f"{base}/models" if self.kind != "azure" else f"{base}/openai/models?api-version={self.api_version}"

    def hide(self, text: str) -> str:
        """A message to people without our secrets, which servers like to repeat in their errors."""
        return hidden(text, self.secrets)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it is to be asked."""

    name: str
    """As graders call it."""
    provider: Provider
    real_name: str
    structured_output: Rung | None = None
    """The best way to a structured answer; None tries from the best on and remembers what works."""
    temperature: bool = True
    reasoning_effort: bool = False
    vision: bool | None = None
    audio: bool | None = None
    logprobs: bool | None = None
    price_in: float | None = None
    """Dollars for a million tokens of prompt; `price_cached` for those the provider had cached."""
    price_cached: float | None = None
    price_out: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None
    warning: str | None = None
    """What stands on every result of this model."""
    told: frozenset[str] = frozenset()
    """Which of these fields the user set; a pattern's others are guessed for each name that fits it."""

    @property
    def key(self) -> str:
        """Names the model among all; free of what changes from start to start."""
        return f"{self.provider.name} {self.provider.base_url} {self.real_name}"

    def cost(self, usage: Usage) -> float | None:
        if self.price_in is None and self.price_out is None:
            return None
        price_in, price_out = self.price_in or 0.0, self.price_out or 0.0
        price_cached = price_in if self.price_cached is None else self.price_cached
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return (fresh * price_in + usage.cached_tokens * price_cached + usage.completion_tokens * price_out) / 1e6


class ModelRegistry:
    """The configured models. A name is looked for in this order: an exact name, an exact alias, `provider/name`,
    a pattern, an alias's pattern, and at last the provider that the environment names. Patterns that begin with a
    provider's name describe what is asked for by `provider/name`; no other pattern does."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        entries: Mapping[str, Model],
        aliases: Mapping[str, str],
        default: Provider | None,
    ) -> None:
        self.providers = providers
        self.entries = entries
        self.aliases = aliases
        self.default = default

    def resolve(self, name: str) -> Model:
        """The model of this name. Raises UnknownModel."""
        seen = [name]
        while True:
            target = self._find(seen[-1])
            if isinstance(target, Model):
                return replace(target, name=name)
            if target is None or target in seen:
                raise UnknownModel(self._unknown(name, seen, target))
            seen.append(target)

    def by_name_alone(self, name: str) -> Model | None:
        """The model, where nothing but its name says that there is one: its provider is asked for any. None where the
        file has the model itself, or nobody knows of it."""
        try:
            model = self.resolve(name)
        except UnknownModel:
            return None
        reached: Model | str | None = name
        while isinstance(reached, str):
            if reached in self.entries:
                return None
            reached = self._find(reached)
        return model

    def _find(self, name: str) -> Model | str | None:
        """The model, another name for it, or nothing."""
        if name in self.entries:
            return self._named(self.entries[name], name)
        if name in self.aliases:
            return self.aliases[name]
        provider, slash, rest = name.partition("/")
        of_provider = bool(slash and rest) and provider in self.providers
        for pattern, entry in self.entries.items():
            # "*" does not mean what another provider is asked for by its name.
            if fnmatchcase(name, pattern) and (not of_provider or pattern.startswith(f"{provider}/")):
                return self._named(entry, name)
        if of_provider:
            return _guessed(name, self.providers[provider], rest)
        for pattern, target in self.aliases.items():
            if fnmatchcase(name, pattern) and target != name:
                return target
        return None if self.default is None or "{" in name else _guessed(name, self.default, name)

    @staticmethod
    def _named(entry: Model, name: str) -> Model:
        if entry.real_name:
            return replace(entry, name=name)
        guessed = _guessed(name, entry.provider, name.removeprefix(f"{entry.provider.name}/"))
        better = {field: getattr(guessed, field) for field in _GUESSED if field not in entry.told}
        return replace(entry, name=name, real_name=guessed.real_name, **better)

    def _unknown(self, name: str, seen: list[str], again: str | None) -> str:
        if again is not None:
            return f"model {jsontext.quote(name)}: its aliases go in a circle: {' → '.join([*seen, again])}."
        via = f" (alias of {jsontext.quote(name)})" if len(seen) > 1 else ""
        listed = ", ".join([*self.entries, *self.aliases, *(f"{provider}/…" for provider in self.providers)])
        return (
            f"unknown model {jsontext.quote(seen[-1])}{via}. Configured: {listed or 'none'}. Set OPENAI_API_KEY, or "
            f"name the model or an alias for it in {FILE}."
        )


_GUESSED = ("temperature", "reasoning_effort", "warning")


def _guessed(name: str, provider: Provider, real_name: str) -> Model:
    """A model that nobody described: what is known of OpenAI's names, the best of every other."""
    reasoning = provider.is_openai and any(fnmatchcase(real_name, pattern) for pattern in _REASONING)
    concurrency = warning = None
    if provider.kind == "local":
        from fairmark.judges.gguf import EMBEDDED
        from fairmark.judges.local import AT_ONCE, WARNING

        concurrency = AT_ONCE
        warning = WARNING if real_name == EMBEDDED else None
    return Model(
        name, provider, real_name, temperature=not reasoning, reasoning_effort=reasoning or not provider.is_openai,
        concurrency=concurrency, warning=warning,
    )  # fmt: skip


def read_registry(file: Path | None = None, environment: Mapping[str, str] | None = None) -> ModelRegistry:
    """The registry out of the file and the environment. Raises InvalidSettings."""
    file = Path(FILE) if file is None else file
    environment = os.environ if environment is None else environment
    tables = read_tables(file)
    providers = dict(_from_environment(environment))
    default = next(iter(providers), None)
    providers[LOCAL] = Provider(LOCAL, "", "local")
    for name, table in _tables(file, tables, "providers"):
        providers[name] = _provider(f"{file}: providers.{name}", name, table, environment)
    entries = {
        name: _model(f'{file}: models."{name}"', name, table, providers)
        for name, table in _tables(file, tables, "models")
    }
    aliases = _aliases(file, tables.get("aliases", {}), environment.get(ALIASES_VARIABLE, ""))
    return ModelRegistry(providers, entries, aliases, providers[default] if default else None)


def _from_environment(environment: Mapping[str, str]) -> Iterable[tuple[str, Provider]]:
    """The variables that OpenAI's and Azure's own packages read."""
    key, url = _secret(environment, "OPENAI_API_KEY"), environment.get("OPENAI_BASE_URL")
    if key or url:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        for header, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
            if environment.get(variable):
                headers[header] = environment[variable]
        base = _checked_url("OPENAI_BASE_URL", url or OPENAI_URL)
        provider = Provider("openai", base, headers=headers, secrets=(key,) if key else ())
        yield "openai", replace(provider, url_from="OPENAI_BASE_URL", key_from="OPENAI_API_KEY")
    endpoint = environment.get("AZURE_OPENAI_ENDPOINT")
    if endpoint:
        key, token = _secret(environment, "AZURE_OPENAI_API_KEY"), _secret(environment, "AZURE_OPENAI_AD_TOKEN")
        headers = {"api-key": key} if key else {"Authorization": f"Bearer {token}"} if token else {}
        version = environment.get("OPENAI_API_VERSION") or AZURE_VERSION
        secrets = tuple(secret for secret in (key, token) if secret)
        base = _checked_url("AZURE_OPENAI_ENDPOINT", endpoint)
        variable = "AZURE_OPENAI_AD_TOKEN" if token and not key else "AZURE_OPENAI_API_KEY"
        yield "azure", Provider("azure", base, "azure", headers, secrets, version, "AZURE_OPENAI_ENDPOINT", variable)


def _secret(environment: Mapping[str, str], variable: str) -> str:
    """Its value, free of the blanks and line ends that files and shells leave around it; "" where there is none."""
    value = environment.get(variable, "").strip()
    if not value.isprintable():
        raise InvalidSettings(f"{variable}: it holds characters that no header can. It takes a key on one line.")
    return value


def _tables(file: Path, tables: Mapping[str, Any], name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    section = tables.get(name, {})
    if not isinstance(section, dict):
        raise InvalidSettings(f"{file}: {name}: found {jsontext.describe(section)}. It takes a table.")
    for key, table in section.items():
        if not isinstance(table, dict):
            raise InvalidSettings(f"{file}: {name}.{key}: found {jsontext.describe(table)}. It takes a table.")
        yield key, table


_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Keys belong into the environment; one that stands in the file nevertheless is not shown either.
_SECRET_HEADER = re.compile("authorization|key|token|secret", re.IGNORECASE)
_PROVIDER_KEYS = {"base_url": str, "key_env": str, "kind": str, "headers": dict, "organization": str, "project": str,
                  "api_version": str}  # fmt: skip


def _provider(where: str, name: str, table: dict[str, Any], environment: Mapping[str, str]) -> Provider:
    _check_keys(where, table, _PROVIDER_KEYS)
    if not name or "/" in name or name == LOCAL:
        raise InvalidSettings(f"{where}: a provider needs a name of its own, without a slash.")
    kind = table.get("kind", "openai")
    if kind not in ("openai", "azure"):
        raise InvalidSettings(f"{where}.kind: found {jsontext.describe(kind)}. Use one of: openai, azure.")
    if "base_url" not in table:
        raise InvalidSettings(f'{where}.base_url: missing. It takes a URL such as "http://127.0.0.1:8000/v1".')
    headers: dict[str, str] = {}
    secrets: list[str] = []
    variable = table.get("key_env")
    if variable is not None:
        key = _secret(environment, variable)
        if key:
            secrets.append(key)
            headers |= {"api-key": key} if kind == "azure" else {"Authorization": f"Bearer {key}"}
    if "organization" in table:
        headers["OpenAI-Organization"] = table["organization"]
    if "project" in table:
        headers["OpenAI-Project"] = table["project"]
    for header, value in table.get("headers", {}).items():
        if not isinstance(value, str):
            raise InvalidSettings(f"{where}.headers.{header}: found {jsontext.describe(value)}. It takes a string.")
        used = {name: _secret(environment, name) for name in _VARIABLE.findall(value)}
        headers[header] = filled = _VARIABLE.sub(lambda match: _secret(environment, match[1]), value)
        if not filled.isprintable():
            raise InvalidSettings(f"{where}.headers.{header}: it holds characters that no header can.")
        if any(used.values()) or _SECRET_HEADER.search(header):
            secrets += filter(None, (filled, *used.values()))
    base = _checked_url(f"{where}.base_url", table["base_url"])
    version = table.get("api_version", AZURE_VERSION)
    return Provider(name, base, kind, headers, tuple(secrets), version, f"{where}.base_url", variable or "")


_MODEL_KEYS: dict[str, type | tuple[type, ...]] = {
    "provider": str, "model": str, "structured_output": str,
    "temperature": bool, "reasoning_effort": bool, "vision": bool, "audio": bool, "logprobs": bool,
    "price_in": (int, float), "price_cached": (int, float), "price_out": (int, float),
    "requests_per_minute": (int, float), "tokens_per_minute": (int, float), "concurrency": int,
}  # fmt: skip


def _model(where: str, name: str, table: dict[str, Any], providers: Mapping[str, Provider]) -> Model:
    _check_keys(where, table, _MODEL_KEYS)
    fields = dict(table)
    provider = fields.pop("provider", None)
    if provider not in providers:
        mistake = "missing" if provider is None else f"unknown provider {jsontext.quote(provider)}"
        raise InvalidSettings(f"{where}.provider: {mistake}. Use one of: {', '.join(providers)}.")
    rung = fields.get("structured_output")
    if rung is not None and rung not in RUNGS:
        raise InvalidSettings(
            f"{where}.structured_output: found {jsontext.quote(rung)}. Use one of: {', '.join(RUNGS)}."
        )
    for key, value in fields.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 <= value < float("inf"):
            raise InvalidSettings(f"{where}.{key}: found {value}. It takes a number, 0 or more.")
    is_pattern = any(char in name for char in "*?[")
    real_name = fields.pop("model", "" if is_pattern else name.removeprefix(f"{provider}/"))
    guessed = _guessed(name, providers[provider], real_name or name)
    return replace(guessed, real_name=real_name, told=frozenset(fields), **fields)


def _aliases(file: Path, table: Any, variable: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise InvalidSettings(f"{file}: aliases: found {jsontext.describe(table)}. It takes a table.")
    for name, target in table.items():
        if not isinstance(target, str) or not target:
            shown = jsontext.describe(target)
            raise InvalidSettings(f'{file}: aliases."{name}": found {shown}. It takes the name of a model.')
    found_aliases = dict(table)
    for pair in filter(None, (part.strip() for part in variable.split(","))):
        name, equals, target = pair.partition("=")
        if not equals or not name.strip() or not target.strip():
            raise InvalidSettings(f"{ALIASES_VARIABLE}: found {jsontext.quote(pair)}. It takes NAME=MODEL,NAME=MODEL.")
        found_aliases[name.strip()] = target.strip()
    return found_aliases


def _check_keys(where: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key not in known:
            raise InvalidSettings(f"{where}.{key}: unknown. Use: {', '.join(known)}.")
        wanted = known[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            words = {str: "a string", bool: "true or false", int: "a whole number", dict: "a table"}
            raise InvalidSettings(
                f"{where}.{key}: found {jsontext.describe(value)}. It takes {words.get(wanted, 'a number')}."
            )


# What is asked of a provider is appended: twice, it would be a page that no provider has.
_QUESTION_PATH = re.compile(r"/(chat/completions|completions|responses|embeddings)/*$")


def _checked_url(where: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        good = good and "@" not in parts.netloc and not parts.query and not parts.fragment
    except ValueError:  # brackets without an address, a port that is none
        good = False
    if not good or " " in url or not url.isprintable():
        # A password or a key may stand before the "@" or after the "?".
        shown = jsontext.quote(url.rpartition("@")[2].partition("?")[0])
        raise InvalidSettings(f"{where}: found {shown}. It takes a URL: https://host/v1.")
    base = _QUESTION_PATH.sub("", url)
    if base != url:
        raise InvalidSettings(f"{where}: found {jsontext.quote(url)}. It takes what stands before that path: {base}.")
    return url
