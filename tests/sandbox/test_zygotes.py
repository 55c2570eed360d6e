"""How bubblewrap is started, by whom."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sandbox.users import environment, run_as, without_mounts

GRADE = (
    "import fairmark\n"
    "result = fairmark.grade({'type': 'python', 'source': 'import os\\ndef grade(s, i): return os.getuid()'})\n"
    "print(result.reward, result.error)\n"
)


def test_root_gives_root_up_and_an_ordinary_user_stays_who_he_is(tmp_path: Path) -> None:
    done = run_as("root", [sys.executable, "-c", GRADE], "", environment(tmp_path))
    assert done.stdout == f"{float(os.getuid() or 65534)} None\n"


def test_root_that_may_not_mount_works_as_an_ordinary_user_would(tmp_path: Path) -> None:
    """As in a container. Who is not root already is that user, and the test is the one above."""
    command = [sys.executable, "-c", GRADE]
    done = subprocess.run(
        without_mounts(command) if os.getuid() == 0 else command,
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr) == (f"{float(os.getuid() or 65534)} None\n", "")
