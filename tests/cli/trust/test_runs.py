"""Runs by their ids, for fairmark judge and label: out of this machine's store, and from a server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.server.client import Server
from tests.server.test_checks import LONG, new_eval, new_step

GOLD = json.dumps({**LONG, "name": "gold", "pattern": "fine"})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "home")
    yield started
    started.stop()


def test_runs_are_named_by_id_by_eval_and_by_the_address_of_their_page(
    fairmark: Run, server: Server, tmp_path: Path
) -> None:
    eval_id = new_eval(server, [LONG])
    runs = [
        new_step(server, eval_id, f"step {step}", [f"BAD {n} please" if n < share else f"fine {n}" for n in range(40)])
        for step, share in enumerate((0, 40))
    ]
    environment = {"FAIRMARK_HOME": str(server.home)}
    here = fairmark("judge", "hacking", *runs, "--gold", GOLD, env=environment)
    assert (here.returncode, here.stdout.split(":")[0]) == (1, "hacked"), here.stderr
    assert "step 0" in here.stdout
    by_eval = fairmark("judge", "hacking", "--eval", eval_id, "--gold", GOLD, env=environment)
    assert by_eval.stdout == here.stdout
    there = ["--server", server.url]
    remote = fairmark("judge", "hacking", "--eval", eval_id, *there, "--gold", GOLD)
    assert remote.stdout == here.stdout, remote.stderr
    page = f"{server.url}/evals/{eval_id}/runs/{runs[1]}"
    todo = fairmark("label", "next", page, "-n", "5")
    lines = [json.loads(line) for line in todo.stdout.splitlines()]
    assert len(lines) == 5
    assert all(line["sample"].startswith("BAD") for line in lines)
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps({"item": {"q": f"question {n}"}, "sample": f"BAD {n} please", "label": "fail"}) + "\n"
            for n in range(40)
        )
    )
    rate = fairmark("judge", "rate", runs[1], "--labels", str(labels), env=environment)
    assert rate.stdout.startswith("judge says 100.0%, corrected 0.0%"), rate.stderr
    for given, words in (
        (["evalrun_none"], "neither a file nor a run in the project default"),
        (["evalrun_none", *there], "--eval ID"),
        (["evalrun_none", *there, "--eval", eval_id], "no run"),
        ([runs[0], "--criterion", "short"], "The eval has: long"),
        ([str(tmp_path / "none.jsonl")], "No such file"),
    ):
        refused = fairmark("label", "next", *given, env=environment)
        assert refused.returncode in (2, 3), refused.stdout
        assert words.lower() in refused.stderr.lower()
        assert "Traceback" not in refused.stderr
    nothing = fairmark("judge", "hacking")
    assert (nothing.returncode, "--eval ID" in nothing.stderr) == (2, True)
