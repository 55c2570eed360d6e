"""The project's own set-up: what its stages install, and in which versions."""

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LINES = [line for line in (ROOT / "requirements" / "pins.txt").read_text().splitlines() if not line.startswith("#")]
PINS: dict[str, str] = {
    canonicalize_name(name): version for name, _, version in (line.partition("==") for line in LINES)
}


def needed(requirement: str, seen: set[str]) -> None:
    """Adds the packages that a requirement brings along on this machine, by what is installed here."""
    wanted = Requirement(requirement)
    environments = [{"extra": extra} for extra in ("", *wanted.extras)]
    if canonicalize_name(wanted.name) in seen:
        return
    seen.add(canonicalize_name(wanted.name))
    for further in metadata.requires(wanted.name) or []:
        marker = Requirement(further).marker
        if marker is None or any(marker.evaluate(environment) for environment in environments):
            needed(further, seen)


@pytest.mark.parametrize("extra", ["", "server", "local", "test"])
def test_every_package_that_a_stage_brings_along_is_pinned(extra: str) -> None:
    seen: set[str] = set()
    for requirement in EXTRAS[extra] if extra else PROJECT["dependencies"]:
        needed(requirement, seen)
    assert sorted(seen - PINS.keys()) == []
    installed = {name: metadata.version(name) for name in seen}
    assert installed == {name: PINS[name] for name in seen}


def test_pins_are_versions_and_no_addresses() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_the_demo_brings_along_nothing_that_only_tests_and_lint_need() -> None:
    run: set[str] = set()
    for requirement in [*PROJECT["dependencies"], *EXTRAS["server"], *EXTRAS["local"]]:
        needed(requirement, run)
    for package in ("pytest", "hypothesis", "playwright", "mypy", "ruff", "nltk", "numpy"):
        assert package not in run


@pytest.mark.parametrize(
    ("target", "stages"),
    [
        ("demo", ["venv", "run"]),
        ("lint", ["venv", "lint"]),
        ("test", ["venv", "run", "image", "test"]),
        ("setup", ["venv", "run", "image", "lint", "test"]),
    ],
)
def test_a_target_runs_the_stages_that_it_uses(target: str, stages: list[str]) -> None:
    command = ["make", "--always-make", "--dry-run", target]
    plan = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"scripts/setup.sh (\w+)", plan) == stages


def test_only_the_stage_of_the_tests_installs_a_compiler_and_a_browser() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text()
    run, test = (script.partition(f"stage_{name}() {{")[2].partition("\n}\n")[0] for name in ("run", "test"))
    for package in ("gcc", "curl", "postgresql", "chromium"):
        assert package not in run
        assert package in test


def test_an_unknown_stage_is_refused_with_those_there_are() -> None:
    done = subprocess.run(["bash", "scripts/setup.sh", "tset"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "setup.sh STAGE: one of venv, run, image, lint, test\n")
