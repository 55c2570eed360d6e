"""What the processes on other machines have to know of this one's settings: variables of their environment.

Keys go this way and no other, so that they stand in no order and no log. What belongs to a machine stays there: where
its data lives, and what only a server reads.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from fairmark.errors import InvalidSettings
from fairmark.judges.models import ALIASES_VARIABLE
from fairmark.settings import FILE, TEXT, Settings, read_tables

OF_GRADES = ("sandbox", "python_", "function_", "judge_", "endpoint_allow")
"""How the names of settings begin that matter to whoever grades."""
OF_PROVIDERS = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID",
    "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_VERSION",
)  # fmt: skip
RUNNERS = "FAIRMARK_SANDBOX_RUNNERS"
_NAMED = re.compile(r"\$\{(\w+)\}")


def variables(environment: Mapping[str, str] | None = None, file: Path | None = None) -> dict[str, str]:
    """Name -> value. Raises InvalidSettings."""
    environment = os.environ if environment is None else environment
    file = Path(FILE) if file is None else file
    names = {f"FAIRMARK_{field.name.upper()}" for field in fields(Settings) if field.name.startswith(OF_GRADES)}
    names |= {*OF_PROVIDERS, ALIASES_VARIABLE, *_named_in(read_tables(file))}
    told = {name: environment[name] for name in sorted(names) if environment.get(name)}
    told.setdefault(RUNNERS, "2")  # two a core, and each process has one
    try:
        told[TEXT] = environment.get(TEXT) or file.read_text()
    except OSError:
        pass  # there is none
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{file}: not TOML: {error}") from None
    return told


def _named_in(tables: Mapping[str, object]) -> Iterator[str]:
    """The variables that the file's providers name."""
    providers = tables.get("providers")
    for provider in providers.values() if isinstance(providers, dict) else ():
        if not isinstance(provider, dict):
            continue
        if isinstance(provider.get("key_env"), str):
            yield provider["key_env"]
        headers = provider.get("headers")
        for value in headers.values() if isinstance(headers, dict) else ():
            if isinstance(value, str):
                yield from _NAMED.findall(value)
