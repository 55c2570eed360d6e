"""The peers: other libraries doing the same work, each in a virtual environment of its own.

A peer is a script NAME.py that takes a data file and prints its mean scores as JSON, and NAME.txt with the exact
versions it runs on; judges/NAME.py asks a model. Its environment is made when first needed and again when NAME.txt
changes.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import process

FOLDER = Path(__file__).parent
ENVIRONMENTS = process.ROOT / ".venv-bench"
INSTALL_LIMIT_S = 900


class PeerUnavailable(Exception):
    """The peer cannot be installed here."""


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    """As its package is called."""
    remark: str = ""
    same_scores: bool = True
    """Whether its ROUGE-L has to equal ours to the last digits."""

    @property
    def script(self) -> Path:
        return FOLDER / f"{self.name.replace('-', '_')}.py"


# The loop needs only what our own environment has.
LOOP = Peer("bare loop")
PEERS = [
    Peer("autoevals", "has no ROUGE; its scorer interface around rouge-score"),
    Peer("azure-ai-evaluation", "evaluate() with its RougeScoreEvaluator"),
    Peer("ragas", "evaluate() with its RougeScore, which stems the words first: other scores", same_scores=False),
    Peer("deepeval", "evaluate() with a custom metric around rouge-score"),
    Peer("inspect-ai", "a task whose answers are already there; a scorer around rouge-score"),
]


def run(peer: Peer, data: Path, limit_s: float) -> process.Run:
    """The peer's whole process on a data file, in an empty home and folder. Raises ProcessFailed, PeerUnavailable."""
    if peer is LOOP:
        python, script = Path(sys.executable), FOLDER / "loop.py"
    else:
        python, script = _environment(peer) / "bin" / "python", peer.script
    with tempfile.TemporaryDirectory() as folder:
        # -I: the script's own folder must not hide the package of the same name.
        return process.run([python, "-I", script, data], limit_s, _home(folder), Path(folder))


def run_judge(peer: Peer, url: str, calls: int, at_once: int, limit_s: float) -> process.Run:
    """The peer's judge against a server, as `run`. Raises ProcessFailed, PeerUnavailable."""
    python = _environment(peer) / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        script = FOLDER / "judges" / peer.script.name
        return process.run([python, "-I", script, url, str(calls), str(at_once)], limit_s, _home(folder), Path(folder))


def _home(folder: str) -> Mapping[str, str]:
    return {"HOME": folder, "XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder}


def _environment(peer: Peer) -> Path:
    pins_file = peer.script.with_suffix(".txt")
    pins = pins_file.read_text()
    folder = ENVIRONMENTS / peer.script.stem
    ready = folder / "installed.txt"
    if ready.exists() and ready.read_text() == pins:
        return folder
    print(f"  installing {peer.name} …", file=sys.stderr)
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], capture_output=True, check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-r", pins_file],
            capture_output=True,
            check=True,
            timeout=INSTALL_LIMIT_S,
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise PeerUnavailable(f"could not be installed ({type(error).__name__})") from error
    ready.write_text(pins)
    return folder
