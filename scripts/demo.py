"""make demo: a server on loopback, and the demo eval worked off by it, with a judge too, the embedded model.

The server then runs on until Ctrl-C, so that you can look around, and the packages that graders import most are
installed meanwhile: the example needs none. With --once it is stopped.
"""

import argparse
import contextlib
import http.client
import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fairmark.web.evals import demo

ROOT = Path(__file__).parents[1]
FAIRMARK = Path(sys.executable).with_name("fairmark")
IMAGE = ["make", "--no-print-directory", ".venv/.image"]
"""Does nothing where it is there."""
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Not by a proxy that the environment names: the server is on this machine."""
JUDGE = {
    "type": "label_model",
    "name": "judge",
    "model": "local/smollm2",
    "input": [
        {
            "role": "user",
            "content": "Question: {{ item.question }}\nAnswer: {{ sample.output_text }}\nIs the answer right?",
        }
    ],
    "labels": ["right", "wrong"],
    "passing_labels": ["right"],
    "sampling_params": {"temperature": 0, "max_completions_tokens": 600},
}


class DemoFailed(Exception):
    """The demo cannot go on. The message says why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--port",
        type=int,
        choices=range(65536),
        metavar="PORT",
        default=8000,
        help="where to serve; where it is taken, any free one",
    )
    parser.add_argument("--once", action="store_true", help="stop the server when the eval is done")
    parser.add_argument("--rows", type=int, default=8, help="how many of the 24 rows of the example to grade")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # by way of every `finally`
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory()) if options.once else str(ROOT / "demo")
        try:
            port = free_port(options.port)
            where = f" at http://127.0.0.1:{port}" if port else ""
            print(f"Starting the server{where} …", flush=True)  # the first time, Python compiles it
            with serving(home, port) as (base, server):
                eval_ = new_eval(base)
                page = f"{base}/evals/{eval_['id']}"
                print(f"\nThe page:     {page}", flush=True)
                if has_browser():
                    webbrowser.open(page)
                show(base, page, work_off(base, eval_, options.rows))
                if not options.once:
                    print("\nThe server runs until you press Ctrl-C.", flush=True)
                    stack.enter_context(subprocess.Popen(IMAGE, cwd=ROOT))
                    server.wait()
        except DemoFailed as why:
            print(f"The demo failed: {why}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            pass
    return 0


def free_port(wished: int) -> int:
    """The port to ask the server for: 0, which is any, where another program has the one that was wished for."""
    try:
        socket.create_server(("127.0.0.1", wished)).close()
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        print(f"127.0.0.1:{wished}: {reason}. The demo takes a free port instead.", flush=True)
        return 0
    return wished


@contextlib.contextmanager
def serving(home: str, port: int = 0) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server of our own with its data in `home`: its address and its process. It is stopped afterwards."""
    # Its database too, whatever the environment and fairmark.toml say.
    command = [str(FAIRMARK), "serve", "--port", str(port), "--db", f"sqlite:///{home}/fairmark.db"]
    environment = {**os.environ, "FAIRMARK_HOME": home}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield address(server), server
        finally:
            server.send_signal(signal.SIGTERM)


def address(server: "subprocess.Popen[str]") -> str:
    """Where the server listens, in its own words: whatever else answers on this machine is somebody else's."""
    assert server.stdout is not None  # noqa: S101  # a pipe was asked for
    for line in server.stdout:
        print(line, end="", flush=True)
        told = re.fullmatch(r"Fairmark serves on (http://\S+)\n", line)
        if told:
            threading.Thread(target=pass_on, args=[server.stdout], daemon=True).start()
            return told[1]
    raise DemoFailed("the server did not start; its own words are above.")


def pass_on(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, end="", flush=True)


def has_browser() -> bool:
    """Whether somebody sits before a screen that this could open a window on: not in CI, not over a plain terminal."""
    if os.environ.get("CI") or not sys.stdout.isatty():
        return False
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def new_eval(base: str) -> dict[str, Any]:
    """As any OpenAI client would create it."""
    wanted, _ = demo.read()
    return call(f"{base}/v1/evals", {**wanted, "testing_criteria": [*wanted["testing_criteria"], JUDGE]})


def work_off(base: str, eval_: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Creates two runs of the eval and waits for their ends. The judge is asked once about answers that both have."""
    _, wanted = demo.read()
    runs = []
    for body in wanted:
        source = body["data_source"]["source"]
        source["content"] = source["content"][:count]
        runs.append(follow(base, call(f"{base}/v1/evals/{eval_['id']}/runs", body), len(source["content"])))
    return runs


def follow(base: str, run: dict[str, Any], rows: int) -> dict[str, Any]:
    criteria = len(demo.read()[0]["testing_criteria"]) + 1
    judge = "one of them a judge: a very small model on this machine"
    print(f"\n{run['name']}: {rows} rows by {criteria} criteria, {judge} …", flush=True)
    told = 0
    while run["status"] in ("queued", "in_progress"):
        time.sleep(0.5)
        run = call(f"{base}/v1/evals/{run['eval_id']}/runs/{run['id']}")
        graded = run["result_counts"]["total"]
        if graded > told:
            print(f"  {graded} of {rows} rows", flush=True)
            told = graded
    return run


def show(base: str, page: str, runs: list[dict[str, Any]]) -> None:
    for run in runs:
        print(f"\n{run['name']}: the run {run['status']}. Per criterion:")
        for counts in run["per_testing_criteria_results"] or []:
            name = counts["testing_criteria"][:-37]  # without its uuid
            outcome = f"passed {counts['passed']:3}   failed {counts['failed']:3}   errors {counts['errored']:3}"
            print(f"  {name:10} {outcome}")
        for usage in run["per_model_usage"] or []:
            asked = f"{usage['invocation_count']} times: {usage['total_tokens']:,} tokens"
            print(f"  {usage['model_name']} was asked {asked}")
    sides = "&".join(f"{letter}={run['id']}" for letter, run in zip("ab", runs, strict=True))
    print(f"\nThe report:   {runs[0]['report_url']}\nCompared:     {page}/compare?{sides}\nThe API:      {base}/docs")
    print("Any OpenAI client:  OpenAI(base_url=" + f'"{base}/v1", api_key="any")', flush=True)


def call(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """What our server answers. Raises DemoFailed."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310  # loopback
    try:
        with DIRECTLY.open(request, timeout=60) as answer:
            parsed: dict[str, Any] = json.load(answer)
            return parsed
    except urllib.error.HTTPError as error:
        raise DemoFailed(f"{url} answered {error.code}: {error.read(2000).decode(errors='replace')}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DemoFailed(f"{url}: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
