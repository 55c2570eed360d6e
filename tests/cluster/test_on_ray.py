"""Ray itself, unmodified, in an environment of its own: a cluster of several nodes on this machine."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-clients" / "ray"
LIMIT_S = 700
ACTS = ["judged", "graded", "alone", "commands", "begun_here", "data", "hanging"]
"""All on one cluster, one after the other: in the last one its head hangs."""
Seen = Callable[[str], dict[str, Any]]

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def seen_in(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("cluster")
    acts = in_the_environment(folder, "tests.cluster.peers.ray_calls", str(folder), *ACTS)

    def of(act: str) -> dict[str, Any]:
        seen = acts[act]
        assert isinstance(seen, dict), seen
        return {**seen, "log": acts["log"]}

    return of


def in_the_environment(folder: Path, *module: str) -> dict[str, Any]:
    assert (ENVIRONMENT / ".ready").exists(), f"{ENVIRONMENT} is missing: make test-all"
    done = subprocess.run(
        [ENVIRONMENT / "bin" / "python", "-m", *module],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "FAIRMARK_HOME": str(folder),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_prestart_worker_first_driver": "0",  # processes that nobody asks for
        },
    )
    assert done.returncode == 0, done.stderr[-6000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "log": done.stderr}


def test_rows_are_graded_once_and_as_here_though_an_actor_and_a_node_are_killed(seen_in: Seen) -> None:
    seen = seen_in("graded")
    assert seen["right"] is True
    assert seen["losses"] >= 2
    assert seen["twins"] == [100, [1.0, 2 / 3, 2 / 3]]
    assert seen["surrogate"] == [0.0, 1.0]
    assert seen["late"] == [["error", True], ["error", True]]
    assert seen["handlers"] is True, "signals are the caller's"
    assert "was lost, and what it had goes to another" in seen["log"]


def test_a_cluster_that_is_lost_or_lacks_fairmark_ends_the_call_with_the_reason(seen_in: Seen) -> None:
    seen = seen_in("alone")
    assert seen["lost"].startswith("no process of the cluster answered for 3 s.")
    assert "No module named 'fairmark'" in seen["hopeless"]


def test_a_judges_limits_hold_for_all_actors_together_and_a_budget_is_spent_once(seen_in: Seen) -> None:
    seen = seen_in("judged")
    stats = seen["stats"]
    assert seen["actors"] == 2
    assert (seen["graded"], stats["asked"], seen["judged"]) == (120, 120, [120])
    assert stats["most_at_once"] <= 6
    assert stats["busiest_second"] <= 20 + 10, "permits of a second may be used in the next"
    graded, skipped = seen["cut"]
    assert graded + skipped == 100
    assert 20 <= graded <= 20 + 2 * 2 * 16, "what is under way when a budget is spent is brought to its end"
    assert seen["spent"] == 120 * graded
    assert seen["skipped"] == ["not asked: the budget of 2,400 tokens is spent."]
    assert "sk-secret-of-the-house" not in seen["log"]


def test_doctor_looks_at_each_machine_and_eval_grades_there(seen_in: Seen) -> None:
    seen = seen_in("commands")
    status, told, _ = seen["doctor"]
    assert status == 0
    assert "node " in told
    assert "ok    Fairmark         0.1.0\n" in told
    assert "ok    python graders   run\n" in told
    status, told, errors = seen["eval"]
    assert (status, seen["rows"]) == (0, 500), errors
    assert json.loads(told)["rows"] == 500
    status, told, errors = seen["nobody"]
    assert (status, told) == (2, "")
    assert "no Ray cluster at 127.0.0.1:1" in errors
    assert "Traceback" not in errors


def test_ray_data_grades_batches_of_every_format(seen_in: Seen) -> None:
    seen = seen_in("data")
    for form in ("numpy", "pandas", "pyarrow"):
        assert seen[form] == [51.0, 100, ["error", "r", "reward", "sample", "status"], "graded"], form
    assert seen["structs"] == [0.0, 1.0]


def test_a_cluster_that_is_begun_here_lives_on_after_the_thread_that_began_it(seen_in: Seen) -> None:
    seen = seen_in("begun_here")
    assert (seen["status"], seen["said"]) == (0, "1.0 1\n")


def test_a_head_that_hangs_ends_the_call_with_the_reason_and_the_process_ends_too(seen_in: Seen) -> None:
    seen = seen_in("hanging")
    assert seen["before"] == 1.0
    assert "does not answer: its head has said nothing for 2 s." in seen["told"]
    assert seen["after"] == 1.0, "it answers again, and so do we"
