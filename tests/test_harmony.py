"""`adaptive_harmony` as users' files import it: ours where there is no other, and never in front of another."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fairmark

OURS = Path(__file__).parents[1] / "src" / "adaptive_harmony"
REAL = "class StringThread:\n    who = 'theirs'\n"
ASK = """\
import sys
sys.path[:] = [*sys.argv[1:], *sys.path]
before = 'fairmark' in sys.modules
from adaptive_harmony import StringThread
import json
who = getattr(StringThread, 'who', None) or StringThread.__module__
print(json.dumps([before, who]))
"""


def ask(code: str, *paths: Path) -> object:
    done = subprocess.run([sys.executable, "-c", code, *paths], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_a_users_file_may_import_the_thread_before_anything_of_fairmark() -> None:
    assert ask(ASK) == [False, fairmark.StringThread.__module__]


def test_the_thread_is_one_class_by_all_its_names() -> None:
    from adaptive_harmony import StringThread, StringTurn

    assert StringThread is fairmark.StringThread
    thread = StringThread([("user", "2+2?"), ("assistant", "4")], {"expected": "4"})
    assert (thread.completion(), thread.messages()) == ("4", [StringTurn("user", "2+2?")])


@pytest.mark.parametrize("name", ["adaptive_harmony.py", "adaptive_harmony/__init__.py"])
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_real_package_is_taken_wherever_it_stands(name: str, first: str, tmp_path: Path) -> None:
    real = tmp_path / "site" / name
    real.parent.mkdir(parents=True)
    real.write_text(REAL)
    paths = [tmp_path / "site", OURS.parent]
    assert ask(ASK, *(paths if first == "theirs" else reversed(paths))) == [False, "theirs"]


def test_a_real_package_is_taken_when_both_are_installed_into_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "adaptive_harmony"
    folder.mkdir()
    for path in OURS.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    (folder / "__init__.py").write_text(REAL)
    assert ask(ASK, tmp_path) == [False, "theirs"]
