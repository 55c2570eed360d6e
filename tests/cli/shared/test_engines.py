"""Which machines grade, as commands are told, and options that do not go together."""

import pytest

from fairmark.cli.shared.engines import EngineChoice, EngineName, read_machines
from fairmark.errors import InvalidData


def test_the_cluster_is_found_unless_somebody_names_one() -> None:
    assert read_machines(EngineName.local, None, None) == EngineChoice(None, "auto", None)
    assert read_machines(EngineName.local, None, None, workers=3) == EngineChoice(None, "auto", None)
    assert read_machines(EngineName.ray, None, None) == EngineChoice("ray", "auto", None)
    assert read_machines(EngineName.ray, "10.0.0.1:6379", 4) == EngineChoice("ray", "10.0.0.1:6379", 4)


@pytest.mark.parametrize(
    ("engine", "address", "actors", "workers", "told"),
    [
        (EngineName.local, "auto", None, None, "--address: it is for a cluster. Use it with --engine ray."),
        (EngineName.local, None, 2, None, "--actors: it is for a cluster. Use it with --engine ray."),
        (EngineName.ray, None, None, 2, "--workers: it counts processes of this machine. With --engine ray use"),
        (EngineName.ray, "", None, None, "--address: found nothing."),
    ],
)
def test_options_that_do_not_go_together_are_told(
    engine: EngineName, address: str | None, actors: int | None, workers: int | None, told: str
) -> None:
    with pytest.raises(InvalidData) as error:
        read_machines(engine, address, actors, workers)
    assert str(error.value).startswith(told)
