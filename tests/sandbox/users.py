"""Commands as the user who runs the tests, and as an ordinary one.

Root can become anybody. The interpreter and the checkout may lie in folders that only root may enter, such as a home;
for the ordinary user they are then made reachable at their own paths, in mounts that only that command sees.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

User = Literal["root", "ordinary"]

NOBODY = 65534
CHECKOUT = Path(__file__).resolve().parents[2]
USERS: list[User] = ["root", "ordinary"] if os.getuid() == 0 else ["ordinary"]
"""Those that the tests can be. Who is not root cannot become root; the tests then cover the ordinary user alone."""

LIMITS = {
    "FAIRMARK_PYTHON_TIMEOUT_S": "3",
    "FAIRMARK_PYTHON_MEMORY_MB": "256",
    "FAIRMARK_PYTHON_DISK_MB": "16",
    "FAIRMARK_FUNCTION_TIMEOUT_S": "3",
    "FAIRMARK_FUNCTION_MEMORY_MB": "256",
    "FAIRMARK_FUNCTION_DISK_MB": "16",
    "FAIRMARK_SANDBOX_RUNNERS": "16",
}
"""Small, so that an attack on a sandbox that does not hold is small too."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """A service's environment: what it needs, and a secret."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(CHECKOUT / "src"),
        "FAIRMARK_ATTACK_SECRET": "the secret of the service",
        **LIMITS,
        **more,
    }


def home_of(user: User) -> Path:
    """An empty folder that the user may write to, at a place that everybody may reach."""
    home = Path(tempfile.mkdtemp(prefix="fairmark-home-", dir="/tmp"))
    if user == "ordinary" and os.getuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    return home


def command_as(user: User, command: list[str]) -> list[str]:
    """The command, to be run as this user."""
    if user == "root" or os.getuid() != 0:
        return command
    become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    return within_reach([*become, *command])


def without_mounts(command: list[str]) -> list[str]:
    """The command, to be run by root as a container has it: without the right to mount."""
    return within_reach(["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", *command])


def within_reach(command: list[str]) -> list[str]:
    """The command, where everybody may reach the interpreter and the checkout."""
    script = [*_opened_up([Path(sys.base_prefix).resolve(), Path(sys.prefix), CHECKOUT]), 'exec "$@"']
    return ["unshare", "--mount", "--propagation", "private", "bash", "-ec", "\n".join(script), "-", *command]


def _opened_up(needed: list[Path]) -> Iterable[str]:
    """Shell lines that make paths reachable: a closed folder is covered by an open one with the paths in it."""
    closed: dict[Path, list[Path]] = {}
    for path in sorted(set(needed)):
        above = next((folder for folder in [*reversed(path.parents), path] if not folder.stat().st_mode & 0o001), None)
        if above is not None:
            closed.setdefault(above, []).extend([path] if above != path else sorted(path.iterdir()))
    for folder, wanted in closed.items():
        paths = [path for path in wanted if path.is_dir() and not set(path.parents) & set(wanted)]
        # Held open by descriptor: once their folder is covered there is no other way to them.
        for number, path in enumerate(paths, 10):
            yield f"exec {number}<{shlex.quote(str(path))}"
        yield f"mount -t tmpfs -o mode=0755 none {shlex.quote(str(folder))}"
        for number, path in enumerate(paths, 10):
            yield f"mkdir -p {shlex.quote(str(path))}"
            yield f"mount --no-canonicalize --bind /proc/self/fd/{number} {shlex.quote(str(path))}"
            yield f"exec {number}<&-"


def run_as(user: User, command: list[str], given: str, settings: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command with this environment, in its home: settings that lie about elsewhere are not read."""
    return subprocess.run(
        command_as(user, command),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=settings,
        cwd=settings["HOME"],
        timeout=120,
    )
