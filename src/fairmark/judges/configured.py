"""The models that have a name here: those that the settings configure, and those on this machine."""

from pathlib import Path

from fairmark.errors import UnknownModel
from fairmark.judges.local import LocalModels
from fairmark.judges.models import LOCAL, ModelRegistry, read_registry

_PATTERN = frozenset("*?[")


def configured(folder: Path) -> dict[str, str]:
    """Name -> provider, of all that have a name; patterns have none. `folder` has the models of this machine."""
    registry = read_registry()
    models = {name: entry.provider.name for name, entry in registry.entries.items() if not _PATTERN & set(name)}
    for alias in registry.aliases:
        owner = None if _PATTERN & set(alias) else owner_of(registry, alias)
        if owner is not None:
            models[alias] = owner
    for name in LocalModels(folder).available():
        models[f"{LOCAL}/{name}"] = LOCAL
    return models


def owner_of(registry: ModelRegistry, name: str) -> str | None:
    try:
        return registry.resolve(name).provider.name
    except UnknownModel:
        return None
