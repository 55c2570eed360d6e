"""make demo: a server on loopback, and the demo eval worked off by it, with a judge too, the embedded model.

The server then runs on until Ctrl-C, so that you can look around; with --once it is stopped.
"""

import argparse
import contextlib
import http.client
import json
import os
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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fairmark.web.evals import demo

ROOT = Path(__file__).parents[1]
FAIRMARK = Path(sys.executable).with_name("fairmark")
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
            print("Starting the server …", flush=True)  # the first time, Python compiles it
            with serving(home, port) as (base, server):
                show(base, work_off(base, options.rows))
                if not options.once:
                    print("\nThe server runs until you press Ctrl-C.", flush=True)
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


def work_off(base: str, count: int) -> dict[str, Any]:
    """Creates the eval and a run of it, as any OpenAI client would, and waits for its end."""
    wanted, first = demo.read()
    criteria = [*wanted["testing_criteria"], JUDGE]
    source = first["data_source"]["source"]
    source["content"] = source["content"][:count]
    eval_ = call(f"{base}/v1/evals", {**wanted, "testing_criteria": criteria})
    run = call(f"{base}/v1/evals/{eval_['id']}/runs", first)
    print(
        f"\nGrading {len(source['content'])} rows by {len(criteria)} criteria, one of them a judge: "
        "a very small model on this machine …",
        flush=True,
    )
    told = 0
    while run["status"] in ("queued", "in_progress"):
        time.sleep(0.5)
        run = call(f"{base}/v1/evals/{eval_['id']}/runs/{run['id']}")
        graded = run["result_counts"]["total"]
        if graded > told:
            print(f"  {graded} of {len(source['content'])} rows", flush=True)
            told = graded
    return run


def show(base: str, run: dict[str, Any]) -> None:
    print(f"\nThe run {run['status']}. Per criterion:")
    for counts in run["per_testing_criteria_results"] or []:
        name = counts["testing_criteria"][:-37]  # without its uuid
        print(f"  {name:10} passed {counts['passed']:3}   failed {counts['failed']:3}   errors {counts['errored']:3}")
    for usage in run["per_model_usage"] or []:
        print(f"  {usage['model_name']} was asked {usage['invocation_count']} times: {usage['total_tokens']:,} tokens")
    print(f"\nThe report:   {run['report_url']}\nThe API:      {base}/docs")
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
