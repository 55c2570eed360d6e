"""The page's modules by themselves, in a document outside of any browser: tests/web/static, by Node's own runner."""

import re
import subprocess
from pathlib import Path

import pytest

STATIC = Path(__file__).with_name("static")


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess[str]:
    """All files in one process: to start it and to read a document's code takes longer than most of them."""
    call = ["node", "--test-reporter=tap", str(STATIC / "all.js")]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("file", sorted(STATIC.rglob("*.test.js")), ids=lambda file: file.name)
def test_the_module_does_what_its_tests_say(done: subprocess.CompletedProcess[str], file: Path) -> None:
    parts = re.split(r"^((?:not )?ok \d+ - all of .*\n)", done.stdout, flags=re.MULTILINE)
    shares = {end.split()[-1]: share + end for share, end in zip(parts[::2], parts[1::2], strict=False)}
    name = file.relative_to(STATIC).as_posix()
    assert name in shares, done.stdout[-20_000:] + done.stderr
    assert re.search(r"^not ok ", shares[name], re.MULTILINE) is None, shares[name][-20_000:]
    assert len(re.findall(r"^ok ", shares[name], re.MULTILINE)) > 1, "it has no test"


def test_nothing_goes_wrong_beside_the_tests(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert "\n# fail 0\n" in done.stdout, done.stdout[-2000:]
