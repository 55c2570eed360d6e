"""What a wheel and an sdist hold, built here and now, offline."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BINARY = "fairmark/metrics/_rouge.abi3.so"

# Before 3.11.4 there is no such choice; from 3.12 on one must be made.
FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}

# What a wheel's own files say when they are put before those of this checkout.
ASK = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from fairmark.metrics import rouge\n"
    "assert rouge.__file__.startswith(sys.argv[1]), rouge.__file__\n"
    "print(rouge.NATIVE, rouge.scores('a b c k', 'A b \\u212a')['rouge_l'])\n"
)


def build(kind: str, folder: Path, root: Path = ROOT, environment: dict[str, str] | None = None) -> tuple[Path, str]:
    """The file that was built, and what was said meanwhile."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder],
        cwd=root,
        env={name: value for name, value in os.environ.items() if name not in {"CC", "CFLAGS", "LDFLAGS"}}
        | (environment or {}),
        check=True,
        capture_output=True,
        text=True,
    )
    (built,) = folder.glob("fairmark-*")
    return built, done.stdout + done.stderr


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def answer(wheel: Path, folder: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - just built from this checkout
    done = subprocess.run([sys.executable, "-c", ASK, folder], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_wheel_has_the_compiled_core_for_every_python_from_3_11_on(tmp_path: Path) -> None:
    wheel, _ = build("wheel", tmp_path / "dist")
    assert wheel.name.split("-")[2:4] == ["cp311", "abi3"]
    assert "any" not in wheel.stem.split("-")[4]
    assert {BINARY, "fairmark/metrics/_rouge.pyi"} <= files(wheel)
    assert not [name for name in files(wheel) if name.endswith(".c")]
    # Neither hides a package that is really called that: test_harmony.py.
    theirs = {name for name in files(wheel) if not name.startswith("fairmark")}
    assert theirs == {"adaptive_harmony/StringThread.py", "adaptive_harmony/StringTurn.py"}
    assert answer(wheel, tmp_path / "unpacked") == "True 0.8571428571428571"


@pytest.mark.parametrize("variable", ["CC", "CFLAGS"])
def test_a_wheel_made_without_a_working_compiler_says_so_and_does_with_python(variable: str, tmp_path: Path) -> None:
    wheel, said = build("wheel", tmp_path / "dist", environment={variable: "/nonexistent"})
    assert wheel.name.endswith("-py3-none-any.whl")
    # Not even the one that an editable install has put into this checkout.
    assert not [name for name in files(wheel) if name.endswith((".so", ".c"))]
    assert "built without its compiled core" in said
    assert "/nonexistent" in said
    assert answer(wheel, tmp_path / "unpacked") == "False 0.8571428571428571"


@pytest.mark.thorough
def test_an_sdist_has_all_that_the_compiled_core_is_made_of(tmp_path: Path) -> None:
    sdist, _ = build("sdist", tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if name.endswith(".so")]
        archive.extractall(tmp_path, **FILTER)  # noqa: S202 - just built from this checkout
    (root,) = tmp_path.glob("fairmark-*")
    wheel, _ = build("wheel", tmp_path / "again", root)
    assert BINARY in files(wheel)
