"""Which machines grade, as commands are told."""

from enum import StrEnum
from typing import NamedTuple

from fairmark.errors import InvalidData


class EngineName(StrEnum):
    """Who grades."""

    local = "local"
    ray = "ray"


ENGINE_HELP = "local: this machine grades; ray: the machines of a Ray cluster."
ADDRESS_HELP = "Of the Ray cluster: host:port; auto finds it, local starts one here."
ACTORS_HELP = "Processes of the cluster that grade; without it, one a core."


class EngineChoice(NamedTuple):
    """As `grade_many` takes them."""

    engine: str | None = None
    address: str = "auto"
    actors: int | None = None


def read_machines(
    engine: EngineName, address: str | None, actors: int | None, workers: int | None = None
) -> EngineChoice:
    """Raises InvalidData for options that do not go together."""
    if engine is EngineName.local:
        for option, value in (("--address", address), ("--actors", actors)):
            if value is not None:
                raise InvalidData(f"{option}: it is for a cluster. Use it with --engine ray.")
        return EngineChoice()
    if workers is not None:
        raise InvalidData("--workers: it counts processes of this machine. With --engine ray use --actors.")
    if address == "":
        raise InvalidData("--address: found nothing. It takes host:port, auto or local.")
    return EngineChoice("ray", address or "auto", actors)
