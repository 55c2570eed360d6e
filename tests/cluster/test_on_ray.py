"""Ray itself, unmodified, in an environment of its own: a cluster of several nodes on this machine."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import Postgres
from tests.store.conftest import MIGRATED, postgres

__all__ = ["postgres"]

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-clients" / "ray"
LIMIT_S = 500

pytestmark = pytest.mark.thorough


def on_a_cluster(folder: Path, act: str) -> dict[str, Any]:
    return in_the_environment(folder, "tests.cluster.peers.ray_calls", str(folder), act)


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
        },
    )
    assert done.returncode == 0, done.stderr[-6000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "log": done.stderr}


def test_rows_are_graded_once_and_as_here_though_an_actor_and_a_node_are_killed(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "graded")
    assert seen["right"] is True
    assert seen["losses"] >= 1
    assert seen["twins"] == [100, [1.0, 2 / 3, 2 / 3]]
    assert seen["surrogate"] == [0.0, 1.0]
    assert seen["late"] == [["error", True], ["error", True]]
    assert seen["handlers"] is True, "signals are the caller's"
    assert "was lost, and what it had goes to another" in seen["log"]


def test_a_cluster_that_is_lost_or_lacks_fairmark_ends_the_call_with_the_reason(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "alone")
    assert seen["lost"].startswith("no process of the cluster answered for 3 s.")
    assert "No module named 'fairmark'" in seen["hopeless"]


def test_a_judges_limits_hold_for_all_actors_together_and_a_budget_is_spent_once(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "judged")
    stats = seen["stats"]
    assert seen["actors"] == 2
    assert (seen["graded"], stats["asked"], seen["judged"]) == (200, 200, [120])
    assert stats["most_at_once"] <= 6
    assert stats["busiest_second"] <= 20 + 10, "permits of a second may be used in the next"
    graded, skipped = seen["cut"]
    assert graded + skipped == 100
    assert 20 <= graded <= 20 + 2 * 2 * 16, "what is under way when a budget is spent is brought to its end"
    assert seen["spent"] == 120 * graded
    assert seen["skipped"] == ["not asked: the budget of 2,400 tokens is spent."]
    assert "sk-secret-of-the-house" not in seen["log"]


def test_doctor_looks_at_each_machine_and_eval_grades_there(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "commands")
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


def test_ray_data_grades_batches_of_every_format(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "data")
    for form in ("numpy", "pandas", "pyarrow"):
        assert seen[form] == [51.0, 100, ["error", "r", "reward", "sample", "status"], "graded"], form
    assert seen["structs"] == [0.0, 1.0]


def test_a_cluster_that_is_begun_here_lives_on_after_the_thread_that_began_it(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "begun_here")
    assert (seen["status"], seen["said"]) == (0, "1.0 1\n")


def test_a_head_that_hangs_ends_the_call_with_the_reason_and_the_process_ends_too(tmp_path: Path) -> None:
    seen = on_a_cluster(tmp_path, "hanging")
    assert seen["before"] == 1.0
    assert "does not answer: its head has said nothing for 2 s." in seen["told"]
    assert seen["after"] == 1.0, "it answers again, and so do we"


def test_three_servers_lose_no_row_and_grade_none_twice_though_all_is_killed(
    tmp_path: Path, postgres: Postgres
) -> None:
    """The longer loop is in bench/ray.py."""
    database = postgres.new_database(MIGRATED)
    seen = in_the_environment(tmp_path, "bench.ray_servers", database, "240", "4")
    assert seen["kills"] == {"server": 1, "actor": 1, "node": 1, "process": 1}
    assert (seen["ended"], seen["statuses"], seen["reasons"]) == (True, {"completed": 6}, {})
    assert (seen["right"], seen["wrong"], seen["twice"], seen["miscounted"]) == (240, 0, 0, 0)
    a_minute, at_once = seen["limits"]
    judge = seen["judge"]
    assert 240 <= judge["asked"] <= 240 + 4 * 2 * 2 * 16, "what was under way at a server's actors is asked again"
    assert judge["busiest_minute"] <= a_minute
    assert judge["most_at_once"] <= 2 * at_once, "the judge goes on with what killed actors asked, and counts it"
    assert (seen["left_behind"], seen["tracebacks"]) == ([], 0)
