"""One project does its worst; what does another's request for a grade take meanwhile?

Both talk to one `fairmark serve` on loopback, each with a key of its own. The neighbour's requests go on and on, two at
a time, while the other asks for one small grade after another, a hundred a second at most. Beside the time, the memory
of the server and its processes.
"""

import contextlib
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import process
from bench.report import Line, Report, Required
from bench.server import EXACT, SIMILAR, pids, serving

LIMIT_MS = 100.0
RUN, REWARDS = "/v1/fine_tuning/alpha/graders/run", "/v1/rewards"
SMALL = {"grader": EXACT, "model_sample": "Paris", "item": {"answer": "Paris"}}


def main(quick: bool) -> Report:
    seconds = 1.0 if quick else 8.0
    lines: list[Line] = []
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url:
        heavy, light = key(folder, "heavy"), key(folder, "light")
        ask(url, light, RUN, SMALL)
        alone = latencies(url, light, seconds)
        raw["alone"] = alone
        for name, (path, body) in neighbours().items():
            with _going_on(url, heavy, path, body) as answers:
                beside = latencies(url, light, seconds)
            raw[name] = {**beside, "neighbour's answers": dict(answers), "peak_mb": _memory_mb(url)}
            required = Required("at most", LIMIT_MS)
            lines.append(Line(f"p99 beside {name}", beside["p99"], "ms", alone["p99"], "alone", required))
        name = "10,000 short rows"
        path, body = neighbours()[name]
        reading = f"/v1/evals/{new_eval(url, light)}"
        raw["reading, alone"] = alone = latencies(url, light, seconds, reading)
        with _going_on(url, heavy, path, body):
            raw["reading, beside"] = beside = latencies(url, light, seconds, reading)
        lines.append(Line(f"p99 of reading an eval, beside {name}", beside["p99"], "ms", alone["p99"], "alone"))
        lines.append(Line("memory of the server at its highest", _memory_mb(url), "MB"))
    about = (
        f"graders/run of one project, {seconds:g} s beside each of another's requests, in one server; both on the same"
        " cores as the load."
    )
    return Report("neighbours", about, lines, raw)


def neighbours() -> dict[str, tuple[str, Any]]:
    """Requests that held everybody up once."""
    picks = random.Random(1)
    words = ["".join(picks.choices("abcdefghijklmnopqrstuvwxyz", k=picks.randint(2, 9))) for _ in range(3000)]

    def text(chars: int) -> str:
        return " ".join(picks.choices(words, k=chars // 7))

    def similar(metric: str) -> dict[str, Any]:
        return {**SIMILAR, "name": metric, "evaluation_metric": metric}

    metrics = ("fuzzy_match", "bleu", "gleu", "meteor", "rouge_l")
    many = {f"{metric}{number}": similar(metric) for number in range(8) for metric in metrics}
    multi = {"type": "multi", "name": "many", "graders": many, "calculate_output": " + ".join(many)}
    long_row = {"item": {"answer": text(45_000)}, "model_sample": text(45_000)}
    rows = [{"item": {"answer": text(45_000)}, "sample": text(45_000)} for _ in range(200)]
    values = [[number, {"a": str(number), "b": [number, number + 1]}] for number in range(220_000)]
    million = {"item": {"a": "x" * 1_000_000, "answer": ""}, "model_sample": ""}
    return {
        "a template of 200,000 variables": (
            RUN,
            {**SMALL, "grader": {**EXACT, "input": "{{item.answer}}" * 200_000}},
        ),
        "a template of 2,000 variables, new each time": (
            RUN,
            {**SMALL, "grader": {**EXACT, "input": "{{item.answer}}" * 2_000 + "N"}},
        ),
        "200 rows of 2 x 45 kB by METEOR": (REWARDS, {"grader": similar("meteor"), "rows": rows}),
        "a multi of 40 metrics on 2 x 45 kB": (RUN, {"grader": multi, **long_row}),
        "BLEU on 2 x 45 kB": (RUN, {"grader": similar("bleu"), **long_row}),
        "fuzzy_match on 2 x 1 MB": (
            RUN,
            {"grader": similar("fuzzy_match"), "item": {"answer": text(1_000_000)}, "model_sample": text(1_000_000)},
        ),
        "{{item.a}} x 1,000 on 1 MB": (RUN, {"grader": {**EXACT, "input": "{{item.a}}" * 1_000}, **million}),
        "{{item.a}} x 15 on 1 MB": (RUN, {"grader": {**EXACT, "input": "{{item.a}}" * 15}, **million}),
        "an item of 10 MB, a million values": (RUN, {**SMALL, "item": {"answer": "Paris", "values": values}}),
        "a reward for such an item": (
            REWARDS,
            {"grader": EXACT, "rows": [{"item": {"answer": "Paris", "values": values}, "sample": "Paris"}]},
        ),
        "an item of 10 MB, one text": (RUN, {**SMALL, "item": {"answer": "Paris", "text": "x y " * 2_500_000}}),
        "10,000 short rows": (
            REWARDS,
            {"grader": EXACT, "rows": [{"item": {"answer": "a"}, "sample": "b"}] * 10_000},
        ),
    }


def key(home: str, project: str) -> str:
    command = [sys.executable, "-m", "fairmark", "keys", "create", "--project", project]
    return process.run(command, 60, env={"FAIRMARK_HOME": home}).stdout.strip()


def new_eval(url: str, key: str) -> str:
    config = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
    body = json.dumps({"data_source_config": config, "testing_criteria": [EXACT]})
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    connection.request("POST", "/v1/evals", body, {"Authorization": f"Bearer {key}"})
    made: str = json.load(connection.getresponse())["id"]
    connection.close()
    return made


def ask(url: str, key: str, path: str, body: Any = None, connection: http.client.HTTPConnection | None = None) -> int:
    own = connection or http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    own.request("GET" if sent is None else "POST", path, sent, headers)
    answer = own.getresponse()
    answer.read()
    if connection is None:
        own.close()
    return answer.status


@contextlib.contextmanager
def _going_on(url: str, key: str, path: str, body: Any) -> Iterator[dict[str, int]]:
    """The neighbour asks again and again, two at a time, in processes of his own."""
    answers: Counter[str] = Counter()
    with tempfile.NamedTemporaryFile("w") as file, contextlib.ExitStack() as stack:
        json.dump(body, file)
        file.flush()
        command = [sys.executable, "-m", "bench.neighbours", url, key, path, file.name]
        asking = [
            stack.enter_context(subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, cwd=process.ROOT))
            for number in range(2)
        ]
        for each in asking:
            assert each.stdout is not None
            each.stdout.readline()  # it has begun
        try:
            yield answers
        finally:
            for each in asking:
                each.terminate()
            for each in asking:
                answers += Counter(json.loads(each.communicate()[0]))


def go_on(url: str, key: str, path: str, file: str, number: str) -> None:
    """Until it is told to end; then it tells what was answered, and how often."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    text = Path(file).read_text()
    answers: Counter[int] = Counter()
    print("asking", flush=True)
    while not ended.is_set():
        text_now = text.replace('N"', f'{number}.{answers.total()}"')
        answers[ask(url, key, path, text_now.encode())] += 1
    print(json.dumps(answers))


def latencies(url: str, key: str, seconds: float, read: str | None = None) -> dict[str, float]:
    """What a small grade takes, one after the other, a hundred a second at most; or to read what has this path."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    path, body = (RUN, json.dumps(SMALL).encode()) if read is None else (read, None)
    took: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        status = ask(url, key, path, body, connection)
        took.append(1000 * (time.perf_counter() - began))
        if status != 200:
            raise process.ProcessFailed(f"{path} was answered with {status}")
        time.sleep(max(0.0, 0.01 - took[-1] / 1000))
    connection.close()
    took.sort()
    return {"asked": len(took), "p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100], "max": took[-1]}


def _memory_mb(url: str) -> float:
    """The server's own peak."""
    return float(Path(f"/proc/{pids[url]}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    go_on(*sys.argv[1:])
