"""fairmark reward check: what it prints, and its exit codes."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.judges.faults import Answer, FaultServer

EXACT = "examples/exact.json"


def test_a_fit_grader_ends_with_0(fairmark: Run) -> None:
    done = fairmark("reward", "check", EXACT, "examples/capitals.jsonl", "--trainer", "trl", "--batch", "64")
    assert done.returncode == 0, done.stdout
    assert "s for 64 rows" in done.stdout
    assert "LOOK" not in done.stdout


def test_something_to_look_at_ends_with_1_also_as_json(fairmark: Run, tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(
        "".join(json.dumps({"item": {"answer": "x"}, "sample": "x"}) + "\n" for _ in range(3)) + "no JSON\n"
    )
    done = fairmark("reward", "check", EXACT, str(data), "--rows", "3", "--json")
    assert done.returncode == 1
    (first, *_) = json.loads(done.stdout)["findings"]
    assert (first["question"], first["ok"], first["mean"]) == ("rewards", False, 1.0)
    assert fairmark("reward", "check", EXACT, str(data)).returncode == 2


def test_mistakes_end_with_2_and_words(fairmark: Run) -> None:
    done = fairmark("reward", "check", EXACT, "examples/capitals.jsonl", "--trainer", "trll")
    assert (done.returncode, done.stdout) == (2, "")
    assert '--trainer: found "trll". Use one of: trl, verl, ' in done.stderr
    done = fairmark("reward", "check", '{"type": "custom", "name": "by hand"}', "examples/capitals.jsonl")
    assert (done.returncode, "cannot be a reward" in done.stderr) == (2, True)


def test_answers_are_sampled_from_a_model_for_groups_to_compare(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"question": q, "answer": "4"}) + "\n" for q in ("2+2?", "8/2?")))
    server.script(*[Answer(text) for text in ("4", "5", "6", "4", "4", "5")])
    env = {"FAIRMARK_HOME": str(tmp_path), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
    done = fairmark("reward", "check", EXACT, str(data), "--sample", "small", "--answers", "3", "--json", env=env)
    found = {finding["question"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["answers"]["words"].startswith("6 by small")
    assert found["signal"]["groups"] == 2
    assert found["rewards"]["mean"] == 0.5
    assert len(server.requests) == 6
    assert {request.body["temperature"] for request in server.requests} == {1.0}


def test_what_only_sampling_needs_is_refused_without_it(fairmark: Run) -> None:
    done = fairmark("reward", "check", EXACT, "examples/capitals.jsonl", "--answers", "3")
    assert (done.returncode, "--sample names the model" in done.stderr) == (2, True)


def test_a_judge_that_says_something_else_the_second_time_is_found_out_although_its_answers_are_cached(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    judge = {
        "type": "score_model", "name": "tone", "model": "gpt", "range": [0, 1],
        "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
    }  # fmt: skip
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps({"item": {"answer": text}, "sample": text}) + "\n" for text in ("a", "b")))
    env = {"FAIRMARK_HOME": str(tmp_path), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
    server.always(Answer('{"steps": [], "result": 0.5}'))
    for results in ((0.1, 0.2, 0.8, 0.9), (0.3, 0.4)):  # those of the first time are known by then
        server.script(*[Answer(json.dumps({"steps": [], "result": result})) for result in results])
        before = len(server.requests)
        done = fairmark("reward", "check", json.dumps(judge), str(data), "--json", env=env)
        found = {finding["question"]: finding for finding in json.loads(done.stdout)["findings"]}
        assert (found["sameness"]["ok"], found["sameness"]["different"]) == (False, 2)
        assert len(server.requests) - before >= len(results)
