"""Inside an environment that has Ray: Fairmark on a cluster of several nodes on this machine, some of which are killed.

python -m tests.cluster.peers.ray_calls FOLDER ACT...      prints what was seen in each act as JSON, last
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ray
from bench.judge_server import JudgeServer
from ray.cluster_utils import Cluster

import fairmark
from fairmark import ray as fairmark_ray
from fairmark.cluster import chosen, dispatch, on_ray
from fairmark.cluster.outpost import Outpost
from fairmark.errors import ClusterLost, ClusterUnusable
from fairmark.settings import settings
from fairmark.work import eventloop

ROUGE = {
    "type": "text_similarity", "name": "rouge", "input": "{{sample.output_text}}", "reference": "{{item.r}}",
    "evaluation_metric": "rouge_l", "pass_threshold": 0.5,
}  # fmt: skip
PYTHON = {
    "type": "python", "name": "code",
    "source": "def grade(sample, item):\n    return float(sample['output_text'] == item['r'])\n",
}  # fmt: skip
BOTH = {
    "type": "multi", "name": "both", "graders": {"rouge": ROUGE, "code": PYTHON}, "calculate_output": "rouge + code"
}  # fmt: skip


def rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"item": {"r": f"alpha {number} gamma"}, "sample": f"alpha {number} {'beta' if number % 3 else 'gamma'}"}


def dispatched() -> dispatch.Dispatch:
    (found,) = [machines._dispatch for machines in chosen._machines.values() if machines._dispatch is not None]
    return found


def places() -> list[Any]:
    return dispatched()._places


def well() -> list[Any]:
    return [place for place in places() if place.is_well]


def grade_while(count: int, at: dict[int, Callable[[], None]]) -> list[float]:
    """All rows; after so many results something happens."""
    rewards = []
    for number, result in enumerate(fairmark.grade_stream(BOTH, rows(count), engine="ray", actors=2)):
        if number in at:
            at[number]()
        assert result.status == "graded", result.error
        rewards.append(result.reward)
    return rewards


def beside_the_head(cluster: Cluster) -> Any:
    """A node of one core, which acts have in turn until one of them kills it."""
    found = next(iter(cluster.worker_nodes), None) or cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    return found


def graded(cluster: Cluster) -> dict[str, Any]:
    """Rows as on this machine, through losses of an actor and of a node."""
    expected = [result.reward for result in fairmark.grade_many(BOTH, rows(3000))]
    more = beside_the_head(cluster)
    seen: dict[str, Any] = {}
    handler = signal.getsignal(signal.SIGTERM)  # the cluster of this test has set its own

    def kill() -> None:
        os.kill(well()[0].hello["pid"], signal.SIGKILL)

    def remove() -> None:
        cluster.remove_node(more, allow_graceful=False)

    seen["right"] = grade_while(3000, {100: kill, 1000: remove}) == expected
    seen["losses"] = dispatched().losses

    async def twins() -> tuple[int, list[float]]:
        many = await fairmark.agrade_many(ROUGE, rows(100), engine="ray", actors=2)
        stream = fairmark.agrade_stream(ROUGE, rows(3), engine="ray", actors=2)
        return len(many), [result.reward async for result in stream]

    seen["twins"] = asyncio.run(twins())
    surrogate = [{"item": {"r": "\ud83d"}, "sample": "a"}, {"item": {"r": "a"}, "sample": "a"}]
    seen["surrogate"] = [
        result.reward for result in fairmark.grade_many({**PYTHON, "name": "odd"}, surrogate, engine="ray", actors=2)
    ]
    seen["handlers"] = signal.getsignal(signal.SIGTERM) == handler
    loops = {**PYTHON, "name": "endless", "source": "def grade(sample, item):\n    while True: pass\n"}
    seen["late"] = [
        (result.status, result.errors["unresponsive_reward_error"])
        for result in fairmark.grade_many(loops, rows(2), engine="ray", actors=2, deadline_s=2)
    ]
    return seen


def judged(cluster: Cluster) -> dict[str, Any]:
    """A judge's limits, held by two actors together; a secret that reaches them and stands nowhere else."""
    beside_the_head(cluster)
    with JudgeServer(latency_ms=30) as url:
        os.environ["HOUSE_KEY"] = "sk-secret-of-the-house"
        os.environ["FAIRMARK_JUDGE_CACHE"] = "off"
        settings.cache_clear()
        Path("fairmark.toml").write_text(
            f'[providers.house]\nbase_url = "{url}/v1"\nkey_env = "HOUSE_KEY"\n'
            '[models."judge"]\nprovider = "house"\nrequests_per_minute = 1200\nconcurrency = 6\n'
            "price_in = 1\nprice_out = 1\n"
        )
        grader = {
            "type": "score_model", "name": "fair", "model": "judge", "range": [0, 1],
            "input": [{"role": "user", "content": "How good is {{ sample.output_text }}?"}],
        }  # fmt: skip
        results = fairmark.grade_many(grader, rows(120), engine="ray", actors=2)
        stats = json.loads(urllib.request.urlopen(f"{url}/stats").read())  # noqa: S310
        budget = fairmark.Budget(tokens=2400)
        cut = fairmark.grade_many(grader, rows(100), engine="ray", actors=2, budget=budget)
    return {
        "graded": sum(result.reward == 0.75 for result in results),
        "judged": [
            result.judgements[0].output != "" and result.judgements[0].usage.total_tokens for result in results[:1]
        ],
        "stats": stats,
        "actors": len({place.hello["pid"] for place in well()}),
        "cut": [sum(result.status == status for result in cut) for status in ("graded", "skipped")],
        "spent": budget.spent_tokens,
        "skipped": sorted({result.skipped for result in cut if result.skipped}),
    }


def commands(cluster: Cluster) -> dict[str, Any]:
    """`fairmark doctor` and `fairmark eval` as somebody would call them."""
    Path("grader.json").write_text(json.dumps(BOTH))
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(500)))
    told = ["--engine", "ray", "--address", cluster.address]
    run = ["eval", "rows.jsonl", "--grader", "grader.json", "-o", "out.jsonl", "--json", *told]
    seen: dict[str, Any] = {}
    for name, arguments in {"doctor": ["doctor", *told], "eval": run, "nobody": [*run[:-1], "127.0.0.1:1"]}.items():
        done = subprocess.run(
            [sys.executable, "-m", "fairmark", *arguments], check=False, capture_output=True, text=True, timeout=300
        )
        seen[name] = [done.returncode, done.stdout, done.stderr]
        if name == "eval":
            seen["rows"] = len(Path("out.jsonl").read_text().splitlines())
            Path("out.jsonl").unlink()
    return seen


def data(cluster: Cluster) -> dict[str, Any]:
    """Ray Data, in each of its formats."""
    from ray.data import from_items

    cluster.add_node(num_cpus=3)
    cluster.wait_for_nodes()
    seen: dict[str, Any] = {}
    given = [{"r": str(number), "sample": "1" if number % 2 else str(number)} for number in range(100)]
    grader = {"type": "string_check", "input": "{{sample.output_text}}", "reference": "{{item.r}}", "operation": "eq"}
    for form in ("numpy", "pandas", "pyarrow"):
        graded = from_items(given).map_batches(
            fairmark_ray.Grade, fn_constructor_args=(grader,), concurrency=1, batch_size=32, batch_format=form
        )
        taken = sorted(graded.take_all(), key=lambda row: int(row["r"]))
        seen[form] = [sum(row["reward"] for row in taken), len(taken), sorted(taken[0]), taken[0]["status"]]
    nested = [{"item": {"r": "a", "deep": {"list": [1, 2]}}, "sample": "a"}, {"item": {"r": "b"}, "sample": "a"}]
    structs = from_items(nested).map_batches(fairmark_ray.Grade, fn_constructor_args=(grader,), concurrency=1)
    seen["structs"] = sorted(row["reward"] for row in structs.take_all())
    return seen


def begun_here(cluster: Cluster) -> dict[str, Any]:
    """A cluster that the call itself begins, and that lives as long as its process."""
    row = {"item": {"r": "a"}, "sample": "a"}
    call = f"fairmark.grade_many({ROUGE!r}, [{row!r}], engine='ray', address='local', actors=1)"
    code = f"import fairmark, ray; graded = {call}; print(graded[0].reward, len(ray.nodes()))"
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=200, env=environment
    )
    return {"said": done.stdout, "status": done.returncode}


def alone(cluster: Cluster) -> dict[str, Any]:
    """What is told where a cluster cannot be used."""
    seen: dict[str, Any] = {}
    fairmark.grade_many(ROUGE, rows(5), engine="ray", actors=1)  # it works
    hello_within_s, dispatch.HELLO_WITHIN_S = dispatch.HELLO_WITHIN_S, 1.0
    dispatched()._timeout_s = 3

    def lose_all() -> None:
        ray.kill(places()[0].post._actor)
        places()[0].post._make = lambda: ray.remote(num_cpus=64)(Outpost).remote(None, {})

    try:
        for number, _ in enumerate(fairmark.grade_stream(ROUGE, rows(200_000), engine="ray", actors=1)):
            if number == 100:
                lose_all()
        seen["lost"] = "it ended"
    except ClusterLost as error:
        seen["lost"] = str(error)
    finally:
        dispatch.HELLO_WITHIN_S = hello_within_s
    chosen.chosen("ray", "auto", 2, lambda *order: [])._grade = NotThere()  # type: ignore[union-attr]
    try:
        fairmark.grade_many(ROUGE, rows(5), engine="ray", actors=2)
    except ClusterUnusable as error:
        seen["hopeless"] = str(error)
    return seen


def hanging(cluster: Cluster) -> dict[str, Any]:
    """A head that says nothing for a while, when the processes of an earlier call are let go of."""
    (head,) = (found.process.pid for found in cluster.head_node.all_processes["gcs_server"])
    on_ray.ANSWER_WITHIN_S = 2.0
    seen: dict[str, Any] = {}

    def grade() -> float:
        (result,) = fairmark.grade_many(ROUGE, rows(1), engine="ray", actors=1)
        return result.reward

    seen["before"] = grade()
    (machines,) = chosen._machines.values()
    eventloop.call(machines._end)
    os.kill(head, signal.SIGSTOP)
    os.environ["FAIRMARK_RAY_TIMEOUT_S"] = "3"
    settings.cache_clear()
    try:
        grade()
    except ClusterLost as error:
        seen["told"] = str(error)
    finally:
        os.kill(head, signal.SIGCONT)
    del os.environ["FAIRMARK_RAY_TIMEOUT_S"]
    settings.cache_clear()
    seen["after"] = grade()
    return seen


class NotThere:
    """Cannot be read by whoever gets it."""

    def __reduce__(self) -> Any:
        return _raise, ()


def _raise() -> None:
    raise ModuleNotFoundError("No module named 'fairmark'")


def let_go() -> None:
    """Of the processes that the calls of an act have begun: the cores are the next act's."""
    for machines in chosen._machines.values():
        eventloop.call(machines._end)
    chosen._machines.clear()


def played(act: str, cluster: Cluster) -> Any:
    """What was seen, or, as a text, what was raised; the next act is played all the same."""
    try:
        return globals()[act](cluster)
    except Exception:
        return traceback.format_exc()
    finally:
        let_go()


def main(folder: Path, acts: list[str]) -> None:
    os.chdir(folder)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "no_monitor": True}
    )
    os.environ["RAY_ADDRESS"] = cluster.address
    asyncio.run(
        asyncio.to_thread(on_ray.connect, "auto")
    )  # while there is but one node: this process ends with the one that it is connected to
    try:
        seen = {act: played(act, cluster) for act in acts}
    finally:
        ray.shutdown()
        cluster.shutdown()
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
