"""make demo: a server on loopback, and the demo eval worked off by it, with a judge too, the embedded model.

The server then runs on until Ctrl-C, so that you can look around; with --once it is stopped.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from fairmark.web.evals import demo

ROOT = Path(__file__).parents[1]
FAIRMARK = Path(sys.executable).with_name("fairmark")
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--once", action="store_true", help="stop the server when the eval is done")
    parser.add_argument("--rows", type=int, default=24, help="how many rows of the example to grade")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory()) if given.once else str(ROOT / "demo")
        serve(given.port, home, given.rows, given.once)
    return 0


def serve(port: int, home: str, rows: int, once: bool) -> None:
    environment = {**os.environ, "FAIRMARK_HOME": home}
    with subprocess.Popen([FAIRMARK, "serve", "--port", str(port)], env=environment) as server:
        try:
            base = f"http://127.0.0.1:{port}"
            wait_for(f"{base}/readyz", server)
            run = work_off(base, rows)
            show(base, run)
            if not once:
                print("\nThe server runs until you press Ctrl-C.", flush=True)
                server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            server.send_signal(signal.SIGTERM)


def wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(300):
        if server.poll() is not None:
            sys.exit("The server did not start; its own words are above.")
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310  # loopback
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    sys.exit("The server was not ready within 30 s.")


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
    while run["status"] in ("queued", "in_progress"):
        time.sleep(0.5)
        run = call(f"{base}/v1/evals/{eval_['id']}/runs/{run['id']}")
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
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310  # loopback
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
        return found


if __name__ == "__main__":
    sys.exit(main())
