"""Packages for the project's own environments: by uv where it can, as pip is set up on the machine."""

import base64
import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with one wheel, of a package that no index has."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    files = {
        "fairmark_tried.py": "",
        "fairmark_tried-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: fairmark-tried\nVersion: 1.0\n",
        "fairmark_tried-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        for name, text in files.items()
    }
    files["fairmark_tried-1.0.dist-info/RECORD"] = "".join(
        f"{name},sha256={digest},{len(files[name])}\n" for name, digest in digests.items()
    )
    with zipfile.ZipFile(folder / "fairmark_tried-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return folder


def install(place: Path, *words: str, **settings: str) -> "tuple[int, str, bool]":
    """The exit code, what was said, and whether the package is there, in a new environment below the place."""
    new = place / "new"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", new], check=True)
    script = f'set -euo pipefail; . {ROOT}/scripts/apt.sh; . {ROOT}/scripts/packages.sh; packages "$@"'
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull} | settings
    done = subprocess.run(
        ["bash", "-c", script, "packages", new / "bin" / "python", *words],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr, bool(list(new.glob("lib/python*/site-packages/fairmark_tried.py")))


def project(place: Path, *programs: str) -> Path:
    """A folder whose .venv has these programs of ours."""
    folder = place / ".venv" / "bin"
    folder.mkdir(parents=True)
    for program in programs:
        (folder / program).write_text(f'#!/bin/sh\nexec {ROOT}/.venv/bin/{program} "$@"\n')
        (folder / program).chmod(0o755)
    return place


def test_uv_finds_what_pip_would_find(tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "empty").mkdir()
    settings = {
        "PIP_INDEX_URL": f"{tmp_path.as_uri()}/empty",
        "PIP_EXTRA_INDEX_URL": f"{tmp_path.as_uri()}/nothing {tmp_path.as_uri()}/neither",
        "PIP_FIND_LINKS": str(wheels),
    }
    found = install(project(tmp_path, "python", "uv"), "fairmark-tried==1.0", **settings)
    assert found == (0, "", True)


@pytest.mark.thorough
def test_pip_installs_where_there_is_no_uv(tmp_path: Path, wheels: Path) -> None:
    found = install(project(tmp_path, "python"), "fairmark-tried==1.0", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    assert found == (0, "  by pip\n", True)


@pytest.mark.thorough
def test_pip_is_asked_too_before_a_package_is_given_up(tmp_path: Path, wheels: Path) -> None:
    folder = project(tmp_path, "python", "uv")
    code, told, is_there = install(folder, "fairmark-tried==2.0", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    assert (code != 0, is_there) == (True, False)
    assert told.index("fairmark-tried==2.0") < told.index("  by pip") < told.rindex("fairmark-tried==2.0")
