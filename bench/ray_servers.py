"""Inside an environment that has Ray, for the benchmark `ray` and tests/cluster/test_ray_servers.py: three servers on
one PostgreSQL and one Ray cluster of three nodes, of which something is killed again and again.

    python -m bench.ray_servers DATABASE ROWS KILLS      prints what was seen as JSON, last

Killed are servers, with all their processes and without a word, and begun anew; the process of a server that
answers, which its own supervisor begins anew; actors; whole nodes; and the limiter of judges.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from ray.cluster_utils import Cluster

from bench.judge_server import JudgeServer, stats
from bench.ray_rows import CODE, JUDGE, ROUGE, TEXTS

SERVERS, ACTORS, RUNS = 3, 2, 6
A_MINUTE, AT_ONCE = 900, 3
"""Of the judge: so little that it is reached."""
START_WITHIN_S, MOVE_WITHIN_S, END_WITHIN_S = 180.0, 120.0, 900.0
CRITERIA = [
    {"type": "string_check", "name": "exact", "operation": "eq", **TEXTS},
    {"type": "python", "name": "code", "source": CODE, "pass_threshold": 0.5},
    ROUGE,
    {**JUDGE, "pass_threshold": 0.5},
]
CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
KINDS = ["server", "actor", "node", "process", "server", "actor", "limiter"]


def rows(run: int, count: int) -> Iterator[dict[str, Any]]:
    """No two questions to the judge are the same. Each third is right; all are alike enough for ROUGE."""
    for number in range(count):
        right = f"run {run} row {number} of many rows"
        said = right if number % 3 == 0 else f"{right} more"
        yield {"item": {"reference": right}, "sample": {"output_text": said}}


class Server:
    """`fairmark serve --engine ray`, started again and again in one place."""

    def __init__(self, database: str, address: str, folder: Path, number: int) -> None:
        self._command = [sys.executable, "-m", "fairmark", "serve", "--port", "0", "--db", database]
        self._command += ["--engine", "ray", "--address", address, "--actors", str(ACTORS)]
        self._folder = folder
        self.log = folder / f"server-{number}.log"
        self.url = ""
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def wait_for_start(self) -> None:
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        assert "http://" in first, f"{first}{self.log.read_text()[-4000:]}"
        self.url = first.split()[-1]

    def processes(self) -> list[psutil.Process]:
        """Its own and those below it, but for Ray's."""
        try:
            own = psutil.Process(self._process.pid)
            return [own, *own.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        for process in self.processes():
            _kill(process.pid)
        self._process.wait()

    def kill_process(self) -> bool:
        members = [process for process in self.processes() if "fairmark.server.member" in _words(process)]
        return bool(members) and _kill(members[0].pid)

    def stop(self) -> list[int]:
        """What is left of it, which is nothing."""
        pids = [process.pid for process in self.processes()]
        self._process.terminate()
        self._process.wait(120)
        _until(lambda: not any(map(psutil.pid_exists, pids)), 30)
        return [pid for pid in pids if psutil.pid_exists(pid)]


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _until(is_so: Callable[[], bool], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not (so := is_so()) and time.monotonic() < until:
        time.sleep(0.2)
    return so


class House:
    """The servers, and what is asked of whichever answers."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers

    def ask(self, path: str, body: Any = None) -> Any:
        """Asked of one after the other, as whatever stands before several servers does; what is posted has an id of its
        own, so that nothing is made twice."""
        until = time.monotonic() + START_WITHIN_S
        while True:
            for server in self.servers:
                request = urllib.request.Request(  # noqa: S310  # our own servers
                    server.url + path,
                    None if body is None else json.dumps(body).encode(),
                    {"content-type": "application/json"},
                )
                try:
                    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                        return json.load(answer)
                except urllib.error.HTTPError as error:
                    if error.code < 500:
                        raise
                except OSError:
                    pass  # it is being begun anew
            if time.monotonic() > until:
                raise TimeoutError(path)
            time.sleep(0.2)

    def done(self, runs: list[str]) -> int:
        """Rows in the store."""
        counts = (self.ask(run)["result_counts"] for run in runs)
        return sum(count["passed"] + count["failed"] + count["errored"] for count in counts)


class Hunt:
    """Kills what it is told to."""

    def __init__(self, cluster: Cluster, house: House, seed: int = 7) -> None:
        self._cluster = cluster
        self._house = house
        self._nodes = [cluster.add_node(num_cpus=3) for _ in range(2)]
        self._chance = random.Random(seed)
        self.killed: Counter[str] = Counter()

    def kill(self, what: str) -> None:
        server = self._chance.choice(self._house.servers)
        if what == "server":
            server.kill()
            server.start()
            server.wait_for_start()
        elif what == "node":
            self._cluster.remove_node(self._nodes.pop(self._chance.randrange(2)), allow_graceful=False)
            self._nodes.append(self._cluster.add_node(num_cpus=3))
        elif what == "process":
            what = what if server.kill_process() else "nobody was there"
        else:
            name = {"actor": "ray::Outpost", "limiter": "ray::ClusterLimiter"}[what]
            found = [process.pid for process in psutil.Process().children(recursive=True) if name in _words(process)]
            what = what if found and _kill(self._chance.choice(found)) else "nobody was there"
        self.killed[what] += 1


def hunt(database: str, count: int, kills: int) -> dict[str, Any]:
    """Every row graded once, whatever is killed, and a judge's limits never passed."""
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 3, "include_dashboard": False, "no_monitor": True}
    )
    with JudgeServer(latency_ms=20) as judge, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"HOUSE_KEY": "sk-house", "FAIRMARK_JUDGE_CACHE": "off", "FAIRMARK_HOME": str(folder / "home")}
        (folder / "fairmark.toml").write_text(
            f'[providers.house]\nbase_url = "{judge}/v1"\nkey_env = "HOUSE_KEY"\n[models."judge"]\nprovider = "house"\n'
            f"requests_per_minute = {A_MINUTE}\nconcurrency = {AT_ONCE}\n"
        )
        # While there is but one node: Ray ends whoever is connected to one together with it, as later ones may be.
        house = House([Server(database, cluster.address, folder, number) for number in range(SERVERS)])
        for server in house.servers:
            server.wait_for_start()
        hunted = Hunt(cluster, house)
        made = house.ask("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": CRITERIA})
        where = f"/v1/evals/{made['id']}/runs"
        runs = []
        for number in range(RUNS):
            source = {"type": "file_content", "content": list(rows(number, count // RUNS))}
            runs.append(f"{where}/{house.ask(where, {'data_source': {'type': 'jsonl', 'source': source}})['id']}")
        began, total = time.monotonic(), count // RUNS * RUNS
        for number in range(kills):
            wanted = total * (number + 1) // (kills + 2)
            moved = _until(lambda: house.done(runs) >= wanted, MOVE_WITHIN_S)  # noqa: B023  # called at once
            assert moved, f"nothing moves: {house.done(runs)} of {wanted} rows"
            hunted.kill(KINDS[number % len(KINDS)])
        ended = _until(lambda: all(_has_ended(house.ask(run)) for run in runs), END_WITHIN_S)
        seen = {
            "rows": total,
            "kills": dict(hunted.killed),
            "limits": [A_MINUTE, AT_ONCE],
            "ended": ended,
            "seconds": time.monotonic() - began,
            **_looked_at(house, runs, count // RUNS),
            "judge": stats(judge),
        }
        seen["left_behind"] = [pid for server in house.servers for pid in server.stop()]
        seen["tracebacks"] = sum(server.log.read_text().count("Traceback") for server in house.servers)
        os.chdir("/")
    cluster.shutdown()
    return seen


def _has_ended(run: dict[str, Any]) -> bool:
    return run["status"] not in ("queued", "in_progress")


def _looked_at(house: House, runs: list[str], count: int) -> dict[str, Any]:
    """What the servers tell of the runs, row by row."""
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    right = wrong = twice = miscounted = 0
    for run in runs:
        told = house.ask(run)
        statuses[told["status"]] += 1
        if told["error"]:
            reasons[told["error"]["message"]] += 1
        passed = -(-count // 3)
        wanted = {"total": count, "passed": passed, "failed": count - passed, "errored": 0, "skipped": 0}
        miscounted += told["result_counts"] != wanted
        indexes: Counter[int] = Counter()
        after, has_more = "", True
        while has_more:
            page = house.ask(f"{run}/output_items?limit=100{after}")
            for item in page["data"]:
                number = item["datasource_item_id"]
                indexes[number] += 1
                is_same = float(number % 3 == 0)
                exact, code, rouge, fair = (result["score"] for result in item["results"])
                is_right = (exact, code, fair) == (is_same, is_same, 0.75) and (rouge == 1.0) == bool(is_same)
                right, wrong = right + is_right, wrong + (not is_right)
            after, has_more = f"&after={page['last_id']}", page["has_more"]
        twice += sum(times - 1 for times in indexes.values())
        right -= len(set(indexes) - set(range(count)))
    return {
        "statuses": dict(statuses), "reasons": dict(reasons), "right": right, "wrong": wrong, "twice": twice,
        "miscounted": miscounted,
    }  # fmt: skip


if __name__ == "__main__":
    found = hunt(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(found), flush=True)
    os._exit(0)  # nodes that were just added may not have ended yet; they end with us
