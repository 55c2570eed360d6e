"""The page's modules by themselves, in a document outside of any browser: tests/web/static, by Node's own runner."""

import subprocess
from pathlib import Path

import pytest

STATIC = Path(__file__).with_name("static")


@pytest.mark.parametrize("file", sorted(STATIC.rglob("*.test.js")), ids=lambda file: file.name)
def test_the_module_does_what_its_tests_say(file: Path) -> None:
    # By itself, without the runner's processes: one file is one process anyway.
    done = subprocess.run(["node", file], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert "\n# fail 0\n" in done.stdout or "\nℹ fail 0\n" in done.stdout, done.stdout[-2000:]
