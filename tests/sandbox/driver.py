"""Grades a list of attacks as whoever started it, and tells what came of each and what was left behind.

Run by path with the interpreter under test. Standard input: JSON, a list of `{"key", "kind", "source", "item",
"sample", "endless"}`. Standard output: a line of JSON for each, then one with what is left. The work is done in two
children, of which one has those that last until their deadline, with a shorter one: whatever they leave behind becomes
a child of this process, so none can hide.
"""

import ctypes
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

SECRET_NAME = "FAIRMARK_ATTACK_SECRET"  # noqa: S105  # the name only
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 5.0
"""How long processes may take to vanish after the service has ended."""
AT_ONCE = 4
ENDLESS_S = "2"
"""The deadline of those that wait for it: no honest grade has to be in time there."""
RUNNERS = int(os.environ["FAIRMARK_SANDBOX_RUNNERS"])


def main() -> None:
    cases = json.load(sys.stdin)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = mounts()
    statuses = [in_a_child(cases, endless) for endless in (False, True)]
    left = {
        "status": max(statuses, key=abs),
        "processes": processes_left(),
        "mounts": sorted(mounts() - before),
        "files": [str(path) for folder in ("/tmp", "/dev/shm") for path in Path(folder).glob("fairmark-attack*")],  # noqa: S108
        "temporary": os.listdir(tempfile.gettempdir()),  # noqa: PTH208
        "sysv": sysv_left(),
    }
    print(json.dumps({"left": left}), flush=True)  # noqa: T201


def in_a_child(cases: list[dict[str, Any]], endless: bool) -> int:
    """How the child ended that has graded those that last until their deadline, or the others."""
    child = os.fork()
    if child == 0:
        if endless:
            os.environ |= dict.fromkeys(["FAIRMARK_PYTHON_TIMEOUT_S", "FAIRMARK_FUNCTION_TIMEOUT_S"], ENDLESS_S)
        grade_all([case for case in cases if case["endless"] == endless], RUNNERS if endless else AT_ONCE)
        sys.exit()  # the ordinary way out: what is to be cleaned up at the end is cleaned up
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def grade_all(cases: list[dict[str, Any]], at_once: int) -> None:
    import fairmark

    def grade(case: dict[str, Any]) -> dict[str, Any]:
        item = {**case["item"], **bait}
        if "deep" in item:
            for _ in range(900):
                item["deep"] = [item["deep"]]
        spec = {"type": case["kind"], "name": case["key"], "source": case["source"]}
        started = time.monotonic()
        try:
            result = fairmark.grade(spec, sample=case["sample"], item=item)
        except fairmark.InvalidGrader as error:
            answer: dict[str, Any] = {"invalid": True, "error": str(error)}
        except Exception as error:  # the test shows it
            answer = {"crashed": f"{type(error).__name__}: {error}"}
        else:
            answer = {
                "reward": result.reward,
                "flags": {k: v for k, v in result.errors.items() if v and not k.endswith("_details")},
                "error": result.error,
                "printed": len(result.printed or ""),
            }
        answer["took_s"] = time.monotonic() - started
        return {"key": case["key"], **answer}

    with lay_out_bait() as bait, ThreadPoolExecutor(at_once) as threads:
        for answer in threads.map(grade, cases):
            print(json.dumps(answer), flush=True)  # noqa: T201  # by one thread: text streams are for one


@contextmanager
def lay_out_bait() -> Iterator[dict[str, Any]]:
    """Things of the host that an attack can reach when nothing holds it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bait-")))
        folder.chmod(0o755)
        file = folder / "secret.txt"
        file.write_text("secret")
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(str(folder / "socket"))
        local.listen(64)
        abstract = f"fairmark-bait-{os.getpid()}"
        unnamed = stack.enter_context(socket.socket(socket.AF_UNIX))
        unnamed.bind("\0" + abstract)
        unnamed.listen(64)
        yield {
            "host_file": str(file),
            "folder": str(folder),
            "secret_name": SECRET_NAME,
            "port": listening.getsockname()[1],
            "udp_port": datagrams.getsockname()[1],
            "unix_path": str(folder / "socket"),
            "abstract": abstract,
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
        }


def processes_left() -> list[str]:
    """What still runs of all that was started; it is ended here, by its number."""
    patience = time.monotonic() + PATIENCE_S
    while time.monotonic() < patience:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return []
    left = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    told = [f"{pid} {Path(f'/proc/{pid}/cmdline').read_text()[:200]!r}" for pid in left]
    for pid in left:
        os.kill(int(pid), 9)
    return told


def mounts() -> set[str]:
    """But for the small disks of other tests, which come and go meanwhile."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if " - tmpfs small-disk " not in line}


def sysv_left() -> list[str]:
    """Objects of System V under the attacks' key (decimal there)."""
    found = []
    for kind in ("shm", "sem", "msg"):
        path = Path("/proc/sysvipc") / kind
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        found += [f"{kind}: {line}" for line in lines if line.split()[0] == str(0x00FA12AC)]
    return found


if __name__ == "__main__":
    main()
