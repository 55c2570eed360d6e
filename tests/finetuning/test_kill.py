"""Servers that are killed while they work on jobs: the next one goes on, and nothing is done or told twice."""

import asyncio
import json
import random
import signal
import time
from collections import Counter
from typing import Any

from fairmark.store import ids
from tests.finetuning.test_engine import EXACT
from tests.server.client import Server
from tests.store.conftest import Place
from tests.thoroughness import is_whole

JOBS = "/v1/fine_tuning/jobs"
KILLS = 30 if is_whole() else 4
LONGEST_LIFE_S = 0.7
"""In which a job comes about to its end, on a machine that has nothing else to do."""
ROWS = 66
"""More than are graded in one go."""
SLOWER = {
    "type": "python",
    "name": "slower",
    "source": "import time\ndef grade(sample, item):\n    time.sleep(0.008)\n    return float(item['n'] % 2)\n",
}
MULTI = {"type": "multi", "graders": {"e": EXACT, "s": SLOWER}, "calculate_output": "(e + s) / 2"}


def row(number: int) -> bytes:
    messages = [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": "Paris"}]
    return json.dumps({"messages": messages, "answer": "Paris", "n": number}).encode()


def create(server: Server) -> dict[str, Any]:
    file = server.upload(b"\n".join(map(row, range(ROWS))), purpose="fine-tune").json()["id"]
    method = {"type": "reinforcement", "reinforcement": {"grader": MULTI}}
    answer = server.post(JOBS, {"model": "m/m", "training_file": file, "validation_file": file, "method": method})
    assert answer.status == 200, answer.body
    job: dict[str, Any] = answer.json()
    return job


def check(server: Server, job: dict[str, Any]) -> None:
    """A job that has ended is whole, and there is one of everything."""
    done = server.get(f"{JOBS}/{job['id']}").json()
    assert (done["status"], done["error"]["code"]) == ("failed", "no_trainer")
    told = server.get(f"{JOBS}/{job['id']}/events?limit=100").json()["data"]
    twice = [text for text, count in Counter(event["message"] for event in told).items() if count > 1]
    assert twice == []
    assert len(told) == 10
    (data,) = [event["data"] for event in told if event["type"] == "metrics"]
    assert (data["train_mean_reward"], data["full_valid_mean_reward"]) == (0.75, 0.75)
    assert data["baseline"]["train"]["graded"] == ROWS
    runs = server.get(f"/v1/evals/{done['eval_id']}/runs").json()["data"]
    assert [run["result_counts"]["passed"] for run in runs] == [ROWS, ROWS]
    assert done["result_files"] == [ids.made_by(job["id"], "file-", "bundle")]


async def test_a_job_outlives_servers_that_are_killed_at_any_moment(place: Place) -> None:
    chance = random.Random(len(str(place.url)))
    environment = {} if place.url is None else {"FAIRMARK_DB": place.url}
    jobs: list[dict[str, Any]] = []

    def live(seconds: float, begins: bool) -> None:
        server = Server(place.home, environment)
        if begins:
            jobs.append(create(server))
        time.sleep(seconds)
        server.stop(signal.SIGKILL)

    def end() -> None:
        server = Server(place.home, environment)
        until = time.monotonic() + 120
        while any(server.get(f"{JOBS}/{job['id']}").json()["status"] == "validating_files" for job in jobs):
            assert time.monotonic() < until
            time.sleep(0.1)
        for job in jobs:
            check(server, job)
        evals = server.get("/v1/evals?limit=100").json()["data"]
        assert len(evals) == len(jobs)
        assert len(server.get("/v1/files").json()["data"]) == 4 * len(jobs)
        server.stop()
        contents = sorted(path.name for path in (place.home / "files").iterdir())
        assert len(contents) == 4 * len(jobs), contents

    for number in range(KILLS):  # every second one finds what the one before has left, and nothing else to do
        await asyncio.to_thread(live, chance.uniform(0.0, LONGEST_LIFE_S), begins=number % 2 == 0)
    await asyncio.to_thread(end)
    assert "Traceback" not in (place.home.parent / f"{place.home.name}.log").read_text()
