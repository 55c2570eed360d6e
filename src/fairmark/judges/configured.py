"""The models that have a name here: those that the settings configure, and those on this machine."""

from pathlib import Path

from fairmark.errors import UnknownModel
from fairmark.judges.local import LocalModels
from fairmark.judges.models import LOCAL, Registry, read_registry

_PATTERN = frozenset("*?[")


def configured(folder: Path) -> dict[str, str]:
    """Name -> provider, of all that have a name; patterns have none. `folder` has the models of this machine."""
    registry = read_registry()
    found = {name: entry.provider.name for name, entry in registry.entries.items() if not _PATTERN & set(name)}
    for alias in registry.aliases:
        owner = None if _PATTERN & set(alias) else owner_of(registry, alias)
        if owner is not None:
            found[alias] = owner
    for name in LocalModels(folder).available():
        found[f"{LOCAL}/{name}"] = LOCAL
    return found


def owner_of(registry: Registry, name: str) -> str | None:
    try:
        return registry.resolve(name).provider.name
    except UnknownModel:
        return None
