"""make demo: the server, the example eval, and where to look."""

import http.server
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts import demo

ROOT = Path(__file__).parents[2]


class Stranger(http.server.BaseHTTPRequestHandler):
    """Another program's server, which says yes to everything."""

    asked: list[str]

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.asked.append(self.requestline)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.mark.thorough
def test_the_demo_grades_the_example_by_real_graders_on_a_server_of_its_own() -> None:
    """The port it would like is another program's, as is the proxy that the environment names."""
    Stranger.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        port = stranger.server_address[1]
        threading.Thread(target=stranger.serve_forever).start()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "scripts.demo", "--once", "--rows", "3", "--port", str(port)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": "", "http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""},
                capture_output=True,
                text=True,
                timeout=300,
                check=True,
            )
        finally:
            stranger.shutdown()
    assert Stranger.asked == []
    assert f"127.0.0.1:{port}: address already in use. The demo takes a free port instead.\n" in done.stdout
    assert "The first run: the run completed." in done.stdout
    assert "Another prompt: the run completed." in done.stdout
    assert "exact      passed   2   failed   1   errors   0" in done.stdout
    assert "exact      passed   3   failed   0   errors   0" in done.stdout
    assert "smollm2 was asked 3 times" in done.stdout
    base = done.stdout.partition("Fairmark serves on ")[2].partition("\n")[0]
    assert base != f"http://127.0.0.1:{port}"
    assert f"The report:   {base}/evals/eval_" in done.stdout
    assert f"Compared:     {base}/evals/eval_" in done.stdout
    # The page's address comes before anything is graded.
    assert done.stdout.index(f"The page:     {base}/evals/eval_") < done.stdout.index("The first run: 3 rows")


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (True, {"DISPLAY": ":0"}, True),
        (True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        (True, {}, False),
        (True, {"DISPLAY": ":0", "CI": "true"}, False),
        (False, {"DISPLAY": ":0"}, False),
    ],
)
def test_a_browser_is_opened_only_where_somebody_sees_it(
    terminal: bool, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert demo.has_browser() is expected


def test_a_port_that_is_free_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert demo.free_port(port) == 0
    assert demo.free_port(port) == port


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("echo fairmark.db: another server uses it. >&2; exit 2", "the server did not start; its own words are above."),
        ("echo Fairmark serves on http://127.0.0.1:$PORT; exec sleep 60", "http://127.0.0.1:{port}/v1/evals: "),
    ],
)
def test_a_server_that_fails_is_told_in_one_line(
    server: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    program = tmp_path / "fairmark"
    program.write_text(f"#!/bin/sh\n{server}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PORT", str(port))
    monkeypatch.setattr(demo, "FAIRMARK", program)
    monkeypatch.setattr(sys, "argv", ["demo", "--once", "--port", "0"])
    monkeypatch.setattr("signal.signal", lambda number, handler: None)  # ours, which outlives the demo
    assert demo.main() == 1
    assert f"The demo failed: {told.format(port=port)}" in capfd.readouterr().err
