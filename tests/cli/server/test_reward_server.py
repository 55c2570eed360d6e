"""fairmark reward-server: what it says when it starts, and when it cannot. What it answers is in another test."""

import json
import os
import signal
import urllib.request
from pathlib import Path

import pytest

from tests import command
from tests.cli.conftest import ROOT, Run


def test_an_address_that_others_can_reach_needs_a_key(fairmark: Run) -> None:
    done = fairmark("reward-server", "--grader", "examples/exact.json", "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "0.0.0.0: others can reach this address, and there is no key. Set FAIRMARK_REWARD_KEY, or serve on 127.0.0.1.\n"
    )


def test_a_bad_grader_never_starts_a_server(fairmark: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"type": "string_check", "operation": "equals"}))
    done = fairmark("reward-server", "--grader", str(file))
    assert done.returncode == 2
    assert f'{file}: $.operation: unknown operation "equals"' in done.stderr


def test_a_grader_that_this_machine_cannot_run_never_starts_a_server(fairmark: Run, tmp_path: Path) -> None:
    """Every row of a training run would be 0."""
    judge = {"type": "score_model", "name": "tone", "model": "unheard-of", "input": [{"role": "user", "content": "?"}]}
    code = {"type": "python", "name": "code", "source": "import unheard_of\n\ndef grade(sample, item):\n    return 1\n"}
    arguments = []
    for grader in (judge, code):
        file = tmp_path / f"{grader['name']}.json"
        file.write_text(json.dumps(grader))
        arguments += ["--grader", str(file)]
    done = fairmark("reward-server", *arguments, "--port", "0", env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert 'tone: $.model: unknown model "unheard-of".' in done.stderr
    assert "code: $.source: it imports unheard_of" in done.stderr


def test_a_machine_without_a_sandbox_never_starts_a_server_of_code(fairmark: Run, tmp_path: Path) -> None:
    file = tmp_path / "code.json"
    grader = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1\n"}
    file.write_text(json.dumps(grader))
    without = {"FAIRMARK_HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = fairmark("reward-server", "--grader", str(file), "--port", "0", env=without)
    assert (done.returncode, done.stdout) == (2, "")
    assert "code: $: its code cannot be run here" in done.stderr


def test_a_grader_may_be_named_by_its_key(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}
    done = fairmark("reward-server", "--grader", "key:exact-match", env=home)
    assert (done.returncode, done.stderr) == (2, '$.key: there is no registered grader "exact-match".\n')
    fairmark("graders", "import", "examples/graders.json", env=home)
    arguments = ["reward-server", "--grader", "key:exact-match", "--port", "0"]
    with (tmp_path / "complaint").open("w") as complained:
        process = command.start(arguments, cwd=tmp_path, env={"PATH": os.environ["PATH"], **home}, stderr=complained)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}]
        body = json.dumps({"turns": turns, "metadata": {"answer": "Paris"}}).encode()
        request = urllib.request.Request(f"{url}/score", body, {"content-type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  # our own server
            assert json.load(answer)["reward"] == 1.0
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_two_graders_of_one_name_are_refused(fairmark: Run) -> None:
    done = fairmark("reward-server", "--grader", "examples/exact.json", "--grader", "examples/exact.json")
    assert done.returncode == 2
    assert "another grader has it. Rename it." in done.stderr


def test_a_misspelt_field_is_told_before_anything_is_served(fairmark: Run, tmp_path: Path) -> None:
    grader = json.loads((ROOT / "examples" / "exact.json").read_text())
    file = tmp_path / "misspelt.json"
    file.write_text(json.dumps({**grader, "refrence": "x"}))
    done = fairmark("reward-server", "--grader", str(file), "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    told = f"warning: {grader['name']}: $.refrence: unknown field, kept but not used. Did you mean reference?\n"
    assert done.stderr.startswith(told)


def test_a_port_that_is_taken_is_told(fairmark: Run) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = fairmark("reward-server", "--grader", "examples/exact.json", "--port", port)
    assert done.returncode == 2
    assert f"127.0.0.1:{port}: address already in use" in done.stderr


@pytest.mark.parametrize(("ending", "cold"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_it_tells_its_addresses_and_a_signal_is_a_good_end(ending: signal.Signals, cold: bool, tmp_path: Path) -> None:
    arguments = ["reward-server", "--grader", str(ROOT / "examples" / "exact.json"), "--port", "0"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with (tmp_path / "complaint").open("w") as complained:
        process = command.start(arguments, cwd=tmp_path, env=env, stderr=complained, cold=cold)
    assert process.stdout is not None
    said = [process.stdout.readline(), process.stdout.readline()]
    process.send_signal(ending)
    process.wait(60)
    rest, complaint = process.stdout.read(), (tmp_path / "complaint").read_text()
    process.stdout.close()
    name = json.loads((ROOT / "examples" / "exact.json").read_text())["name"]
    url = said[0].split()[-1]
    assert said[0] == f"Fairmark scores on {url}\n"
    assert said[1].startswith(f"  {url}/")
    assert said[1].endswith(f"  {name} (string_check)\n")
    assert (process.returncode, rest, complaint) == (0, "", "")
