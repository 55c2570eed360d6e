"""Inside an environment that has Ray, for the benchmark `ray`: ACT COUNT, prints what was seen as JSON, last.

    python -m bench.ray_rows kills 20000     a run on three nodes, of which something is killed 20 times
    python -m bench.ray_rows pace 20480      one node against our own worker processes
    python -m bench.ray_rows memory 1000000  whether memory stays flat
    python -m bench.ray_rows repeats 200     actors begun and ended again and again: what is left of them
    python -m bench.ray_rows beside 30000    another project's grades beside a run, on one node and without it

The nodes are processes of this machine (ray.cluster_utils.Cluster): nothing here shows what a network costs.
"""

import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

import fairmark
from bench import neighbours
from bench.corpus import Writer
from bench.judge_server import JudgeServer
from bench.server import serving
from fairmark.cluster import chosen, on_ray

KILLS = 20
A_MINUTE, AT_ONCE = 2_400, 4
"""Of the judge: so little that it is reached."""
TEXTS = {
    "input": "{{sample.output_text}}", "reference": "{{item.reference}}"
}  # fmt: skip
ROUGE = {"type": "text_similarity", "name": "rouge", "evaluation_metric": "rouge_l", "pass_threshold": 0.5, **TEXTS}
EXACT = {"type": "string_check", "name": "exact", "operation": "eq", **TEXTS}
CODE = "def grade(sample, item):\n    return float(sample['output_text'] == item['reference'])\n"
PYTHON = {"type": "python", "name": "code", "source": CODE}
JUDGE = {
    "type": "score_model", "name": "fair", "model": "judge", "range": [0, 1],
    "input": [{"role": "user", "content": "How good is {{ sample.output_text }}?"}],
}  # fmt: skip
ALL = {
    "type": "multi", "name": "all", "graders": {"rouge": ROUGE, "code": PYTHON, "fair": JUDGE},
    "calculate_output": "rouge + code + fair",
}  # fmt: skip


def rows(count: int, words: tuple[int, int] = (5, 35)) -> Iterator[dict[str, Any]]:
    """Each with a number of its own, so that no two questions to a judge are the same."""
    writer = Writer(1)
    texts = [writer.text(writer.random.randint(*words)) for _ in range(512)]
    for number in range(count):
        reference, other = texts[number % 512], texts[(number + number % 3) % 512]
        yield {"item": {"reference": f"{number} {reference}"}, "sample": f"{number} {other}"}


def kills(count: int) -> dict[str, Any]:
    """Every row once, whatever is killed, and a judge's limits never passed."""
    from ray.cluster_utils import Cluster

    chance = random.Random(7)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    os.environ["RAY_ADDRESS"] = cluster.address
    on_ray.connect("auto")  # while there is but one node: this process ends with the one that it is connected to
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    seen: dict[str, Any] = {
        "rows": count,
        "kills": {"actor": 0, "process": 0, "node": 0},
        "limits": [A_MINUTE, AT_ONCE],
    }
    with JudgeServer(latency_ms=20) as url, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"HOUSE_KEY": "sk-house", "FAIRMARK_JUDGE_CACHE": "off"}
        Path("fairmark.toml").write_text(
            f'[providers.house]\nbase_url = "{url}/v1"\nkey_env = "HOUSE_KEY"\n[models."judge"]\nprovider = "house"\n'
            f"requests_per_minute = {A_MINUTE}\nconcurrency = {AT_ONCE}\n"
        )
        expected = [
            (rouge.reward, code.reward)
            for rouge, code in zip(
                fairmark.grade_stream(ROUGE, rows(count)), fairmark.grade_stream(PYTHON, rows(count)), strict=True
            )
        ]

        def kill(what: str) -> None:
            places = _well()
            if what == "node":
                cluster.remove_node(nodes.pop(chance.randrange(len(nodes))), allow_graceful=False)
                nodes.append(cluster.add_node(num_cpus=1))
            elif not places:
                what = "nobody was there"
            elif what == "actor":
                chance.choice(places).post.end()
            else:
                try:
                    os.kill(chance.choice(places).hello["pid"], signal.SIGKILL)
                except ProcessLookupError:
                    what = "nobody was there"
            seen["kills"][what] = seen["kills"].get(what, 0) + 1

        plan = ["actor"] * 7 + ["process"] * 8 + ["node"] * 5
        chance.shuffle(plan)
        at = {count * (1 + place) // (KILLS + 1): what for place, what in enumerate(plan)}
        began, right, wrong, errors = time.monotonic(), 0, 0, 0
        for number, result in enumerate(fairmark.grade_stream(ALL, rows(count), engine="ray", actors=3)):
            if number in at:
                kill(at[number])
            parts = result.sub_rewards
            wanted = (*expected[number], 0.75)
            is_right = result.status == "graded" and (parts["rouge"], parts["code"], parts["fair"]) == wanted
            right += is_right
            errors += result.status != "graded"
            wrong += result.status == "graded" and not is_right
            if errors == 1 and result.status != "graded":
                seen["first_error"] = result.error
        seen |= {"seconds": time.monotonic() - began, "results": number + 1, "right": right, "wrong": wrong}
        seen |= {"errors": errors, "losses": _dispatch().losses}
        seen["judge"] = json.loads(urllib.request.urlopen(f"{url}/stats").read())  # noqa: S310
        os.chdir("/")
    return seen


def pace(count: int) -> dict[str, Any]:
    """Rows a second by our own processes and by actors on the same machine, in turns."""
    works: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
        "string_check": (EXACT, (5, 35)),
        "rouge_l, short texts": (ROUGE, (5, 35)),
        "rouge_l, long texts": (ROUGE, (20, 300)),
        "python": (PYTHON, (5, 35)),
    }
    actors = len(os.sched_getaffinity(0))
    seen: dict[str, Any] = {"actors": actors}
    for name, (grader, words) in works.items():
        given = list(rows(count, words))
        fairmark.grade_many(grader, given[:4000], engine="ray", address="local", actors=actors)  # begun, and grown
        seen[name] = {"own": [], "ray": []}
        sides: dict[str, dict[str, Any]] = {"own": {}, "ray": {"engine": "ray", "address": "local", "actors": actors}}
        for _ in range(3):
            for side, more in sides.items():
                began = time.perf_counter()
                results = fairmark.grade_many(grader, given, **more)
                seen[name][side].append(count / (time.perf_counter() - began))
                assert all(result.status == "graded" for result in results)
    return seen


def memory(count: int) -> dict[str, Any]:
    """The peak of this process after a tenth of the rows, and after all of them."""
    seen: dict[str, Any] = {"rows": count}
    began = time.monotonic()
    for number, _ in enumerate(fairmark.grade_stream(EXACT, rows(count), engine="ray", address="local", actors=2), 1):
        if number in (count // 10, count):
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            actors = [_resident_mb(place.hello["pid"]) for place in _well()]
            seen[f"after {number}"] = {"caller_mb": peak, "actors_mb": actors, "seconds": time.monotonic() - began}
    return seen


def repeats(count: int) -> dict[str, Any]:
    """What this process has open and what runs beside it, before and after."""
    chosen.IDLE_S = 0.0  # whoever is not needed for a moment ends
    given = list(rows(64))

    def once() -> None:
        results = fairmark.grade_many(EXACT, given, engine="ray", address="local", actors=1)
        assert all(result.status == "graded" for result in results)
        assert _until_ended(), "actors are left"

    for _ in range(3):
        once()
    before, began = _taken(), time.monotonic()
    for _ in range(count):
        once()
    return {"repeats": count, "before": before, "after": _taken(), "seconds": time.monotonic() - began}


def _taken() -> dict[str, float]:
    own = psutil.Process()
    return {
        "processes": len(own.children(recursive=True)),
        "descriptors": own.num_fds(),
        "threads": own.num_threads(),
        "memory_mb": _resident_mb(own.pid),
    }


def _until_ended(within_s: float = 60.0) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any("ray::Outpost" in " ".join(child.cmdline()) for child in _children()):
            return True
        time.sleep(0.05)
    return False


def _children() -> Iterator[psutil.Process]:
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.cmdline()
            yield child


def beside(count: int) -> dict[str, Any]:
    """The p99 of one project's small grades while another's run is worked off, by actors and by our own processes."""
    seen: dict[str, Any] = {"rows": count}
    ray = ["--engine", "ray", "--address", "local", "--actors", "2"]
    for side, arguments in (("own", []), ("ray", ray)):
        with tempfile.TemporaryDirectory() as home:
            # The server's own environment names what is to be imported.
            environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
            with serving(Path(home), environment, arguments) as url:
                heavy, light = neighbours.key(home, "heavy"), neighbours.key(home, "light")
                neighbours.latencies(url, light, 1.0)
                alone = neighbours.latencies(url, light, 5.0)
                run = _started_run(url, heavy, count)
                found: dict[str, Any] = {"alone": alone, "beside": neighbours.latencies(url, light, 10.0)}
                found["run"] = _told(url, heavy, run)["result_counts"]
                seen[side] = found
    return seen


def _started_run(url: str, key: str, count: int) -> str:
    config = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
    criteria = [EXACT, ROUGE, {**PYTHON, "pass_threshold": 0.5}]
    made = _told(url, key, "/v1/evals", {"data_source_config": config, "testing_criteria": criteria})
    content = [{**row, "sample": {"output_text": row["sample"]}} for row in rows(count)]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": content}}
    where = f"/v1/evals/{made['id']}/runs"
    run = f"{where}/{_told(url, key, where, {'data_source': source})['id']}"
    until = time.monotonic() + 120.0
    while not _told(url, key, run)["result_counts"]["total"] and time.monotonic() < until:
        time.sleep(0.1)
    return run


def _told(url: str, key: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(  # noqa: S310  # our own server
        url + path,
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        return json.load(answer)


def _well() -> list[Any]:
    return [place for place in _dispatch()._places if place.is_well]  # noqa: SLF001


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024**2


def _dispatch() -> Any:
    (found,) = [machines._dispatch for machines in chosen._machines.values() if machines._dispatch is not None]  # noqa: SLF001
    return found


if __name__ == "__main__":
    acts = {"kills": kills, "pace": pace, "memory": memory, "repeats": repeats, "beside": beside}
    found = acts[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps(found), flush=True)
    os._exit(0)  # nodes that were just added may not have ended yet; they end with us
