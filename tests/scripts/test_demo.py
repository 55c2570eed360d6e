"""make demo: the server, the example eval, and where to look."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_grades_the_example_by_real_graders_and_tells_where_to_look() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo", "--once", "--rows", "3", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "The run completed." in done.stdout
    assert "exact      passed   2   failed   1   errors   0" in done.stdout
    assert "smollm2 was asked 3 times" in done.stdout
    assert f"http://127.0.0.1:{port}/evals/eval_" in done.stdout
