"""The process that runs a model: how it is asked not to think aloud, and that it ends with its caller."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairmark.judges import gguf, local_process


def is_there(pid: int) -> bool:
    """Whether it runs: a process that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_there(pid)


PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
from fairmark.judges.local import LocalModels

async def main():
    models = LocalModels(Path(sys.argv[1]))
    starting = asyncio.create_task(models.endpoint("smollm2"))
    if sys.argv[2] == "started":
        await starting
    else:
        while "smollm2" not in models._running:
            await asyncio.sleep(0)
    print(models._running["smollm2"]._process.pid, flush=True)
    if sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[3] == "raises":
        raise SystemExit("enough")

asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["killed", "raises", "returns"])
@pytest.mark.parametrize("when", ["started", "starting"])
def test_it_ends_with_its_parent_however_that_ends(when: str, end: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PARENT, str(tmp_path), when, end], capture_output=True, check=False
    )
    assert done.stderr == (b"enough\n" if end == "raises" else b"")
    assert wait_until_gone(int(done.stdout))


def test_a_thinking_model_is_asked_not_to() -> None:
    embedded = gguf.embedded()
    assert embedded
    code = (
        "import json, sys, urllib.request, xllamacpp\n"
        "sys.path.insert(0, sys.argv[1]); import local_process\n"
        "Params = xllamacpp.CommonParams\n"
        "def thinking():\n"
        "    params = Params()\n"
        "    params.chat_template = '{% if enable_thinking is defined and not enable_thinking %}SILENT{% else %}ALOUD'"
        "'{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}'\n"
        "    return params\n"
        "xllamacpp.CommonParams = thinking\n"
        "server = local_process.serve(json.loads(sys.argv[2]))\n"
        "body = json.dumps({'messages': [{'role': 'user', 'content': '!'}]}).encode()\n"
        "url = server.listening_address + '/apply-template'\n"
        "headers = {'Authorization': 'Bearer k', 'Content-Type': 'application/json'}\n"
        "print(urllib.request.urlopen(urllib.request.Request(url, body, headers)).read().decode())\n"
    )
    order = {
        "model": str(embedded), "name": "smollm2", "key": "k", "threads": 1, "context_tokens": 256, "at_once": 1,
        "embeds": False,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(local_process.__file__).parent), json.dumps(order)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["prompt"] == "SILENT!"
