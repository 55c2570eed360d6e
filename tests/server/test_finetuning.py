"""Fine-tuning jobs over HTTP: what is taken and refused, and what becomes of them."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import EXACT, Answer, Server, wait_for

JOBS = "/v1/fine_tuning/jobs"
PYTHON = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return float(item['points'])\n"}


def row(question: str = "Capital of France?", answer: str | None = None, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    messages += [] if answer is None else [{"role": "assistant", "content": answer}]
    return {"messages": messages, **more}


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in rows)


CAPITALS = [
    {**row("France?", "Paris"), "answer": "Paris"},
    {**row("Italy?", "Milan"), "answer": "Rome"},
    {**row("Spain?"), "answer": "Madrid"},
]


def upload(server: Server, content: bytes, purpose: str = "fine-tune") -> str:
    file_id: str = server.upload(content, purpose=purpose).json()["id"]
    return file_id


def method(grader: Any = EXACT, **more: Any) -> dict[str, Any]:
    return {"type": "reinforcement", "reinforcement": {"grader": grader, **more}}


def body(server: Server, content: bytes | None = None, grader: Any = EXACT, **more: Any) -> dict[str, Any]:
    file_id = upload(server, lines(*CAPITALS) if content is None else content)
    return {"model": "some/model", "training_file": file_id, "method": method(grader), **more}


def created(server: Server, given: dict[str, Any]) -> dict[str, Any]:
    answer = server.post(JOBS, given)
    assert answer.status == 200, answer.body
    job: dict[str, Any] = answer.json()
    return job


def ended(server: Server, job: dict[str, Any]) -> dict[str, Any]:
    wait_for(lambda: server.get(f"{JOBS}/{job['id']}").json()["status"] != "validating_files", 60)
    found: dict[str, Any] = server.get(f"{JOBS}/{job['id']}").json()
    return found


def events(server: Server, job: dict[str, Any]) -> list[dict[str, Any]]:
    """The oldest first."""
    listed: list[dict[str, Any]] = server.get(f"{JOBS}/{job['id']}/events?limit=100").json()["data"]
    return listed[::-1]


def problems(server: Server, job: dict[str, Any]) -> list[str]:
    return [event["message"] for event in events(server, job) if event["level"] == "error"]


def test_a_job_is_checked_graded_bundled_and_ends_without_a_trainer(server: Server) -> None:
    valid = upload(server, lines({**row("Peru?", "Lima"), "answer": "Lima"}))
    job = created(server, body(server, validation_file=valid, suffix="mine", seed=7, metadata={"team": "a"}))
    assert job["object"] == "fine_tuning.job"
    assert job["status"] == "validating_files"
    assert (job["model"], job["seed"], job["user_provided_suffix"]) == ("some/model", 7, "mine")
    assert (job["metadata"], job["validation_file"], job["error"]) == ({"team": "a"}, valid, None)
    auto = dict.fromkeys(
        ["batch_size", "learning_rate_multiplier", "n_epochs", "eval_interval", "eval_samples", "compute_multiplier"],
        "auto",
    )
    reinforcement = job["method"]["reinforcement"]
    assert reinforcement == {"grader": EXACT, "hyperparameters": {**auto, "reasoning_effort": "default"}}
    done = ended(server, job)
    assert (done["status"], done["error"]["code"], done["error"]["param"]) == ("failed", "no_trainer", None)
    assert (done["fine_tuned_model"], done["trained_tokens"]) == (None, None)
    assert done["finished_at"] >= done["created_at"]
    (bundle,) = done["result_files"]
    assert bundle in done["error"]["message"]
    told = events(server, job)
    assert [event["level"] for event in told] == ["info"] * 8 + ["error"]
    assert "the training file has 3 rows (2 with an answer)" in told[2]["message"]
    (metrics,) = [event for event in told if event["type"] == "metrics"]
    data = metrics["data"]
    assert (data["step"], data["train_mean_reward"], data["full_valid_mean_reward"]) == (0, 0.5, 1.0)
    assert (data["total_steps"], data["completion_tokens_mean"]) == (None, None)
    means = {"train_reward_mean": 0.5, "valid_reward_mean": 1.0}
    assert data["scores"] == {**means, "graders": [{"name": "exact", "type": "string_check", **means}]}
    assert data["baseline"]["train"]["graded"] == 2
    runs = server.get(f"/v1/evals/{done['eval_id']}/runs").json()["data"]
    assert [run["result_counts"]["total"] for run in runs] == [2, 1]
    assert [run["id"] for run in runs] == [data["baseline"][part]["run_id"] for part in ("train", "valid")]
    file = server.get(f"/v1/files/{bundle}").json()
    assert (file["purpose"], file["filename"]) == ("fine-tune-results", f"{job['id']}.zip")
    assert server.get(f"{JOBS}/{job['id']}/checkpoints").json()["data"] == []


def test_the_parts_of_a_multi_grader_have_their_means(server: Server) -> None:
    half = {"type": "python", "name": "half", "source": "def grade(sample, item):\n    return 0.5\n"}
    multi = {"type": "multi", "name": "both", "graders": {"e": EXACT, "h": half}, "calculate_output": "e + h"}
    done = ended(server, created(server, body(server, grader=multi)))
    assert done["error"]["code"] == "no_trainer"
    (metrics,) = [event["data"] for event in events(server, done) if event["type"] == "metrics"]
    assert metrics["train_mean_reward"] == 1.0
    assert metrics["full_valid_mean_reward"] is None
    assert [(each["name"], each["train_reward_mean"]) for each in metrics["scores"]["graders"]] == [
        ("exact", 0.5),
        ("half", 0.5),
    ]


def test_answers_may_stand_in_a_file_of_their_own(server: Server) -> None:
    answers = upload(server, lines("Paris", {"sample": {"output_text": "Rome"}}, None), "evals")
    done = ended(server, created(server, body(server, answers_file=answers)))
    (metrics,) = [event["data"] for event in events(server, done) if event["type"] == "metrics"]
    assert (metrics["train_mean_reward"], metrics["baseline"]["train"]["rows"]) == (1.0, 2)
    short = upload(server, lines("Paris"), "evals")
    done = ended(server, created(server, body(server, answers_file=short)))
    assert done["error"]["code"] == "invalid_training_file"
    assert "fewer lines" in done["error"]["message"]


def test_without_answers_there_is_no_baseline_and_no_reward(server: Server) -> None:
    done = ended(server, created(server, body(server, lines({**row(), "answer": "Paris"}))))
    assert (done["error"]["code"], done["eval_id"]) == ("no_trainer", None)
    told = events(server, done)
    assert not [event for event in told if event["type"] == "metrics"]
    assert any("There is no baseline" in event["message"] for event in told)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there are no rows"),
        (b"\n\n", "there are no rows"),
        (b"PK\x03\x04\x00\x00", "line 1: not JSON"),
        (b'[{"messages": []}]', "line 1: found a list"),
        (b'{"messages": [{"role": "user", "content": "x"}]}\n{"messages"', "line 2: not JSON"),
        (lines({"prompt": "x"}, {"prompt": "y"}), "2 rows, lines 1, 2: messages: missing"),
        (lines(row(), {"messages": []}), "line 2: messages: empty"),
        (lines({"messages": [{"role": "human", "content": "x"}]}), 'messages[0].role: found "human"'),
        (lines({"messages": [{"role": "user", "content": 1}]}), "messages[0].content: found a number"),
        (lines({"messages": [{"role": "assistant", "content": "x"}]}), "nothing that a model could answer"),
        (lines({**row(), "tools": [{"type": "web_search"}]}), "tools[0]"),
        (
            lines(*(row(str(n)) for n in range(9)), *([] for _ in range(9))),
            "9 rows, lines 10, 11, 12, 13, 14 and 4 more",
        ),
        (b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
    ],
)
def test_rows_that_are_none_are_told_with_their_lines(server: Server, content: bytes, message: str) -> None:
    job = created(server, body(server, content, {**EXACT, "reference": "x"}))
    done = ended(server, job)
    assert (done["status"], done["error"]["code"]) == ("failed", "invalid_training_file")
    assert done["error"]["param"] == "training_file"
    assert message in done["error"]["message"]
    assert any(message in each for each in problems(server, job))
    assert done["result_files"] == []
    assert done["eval_id"] is None


def test_what_is_wrong_is_told_in_few_events_however_many_rows(server: Server) -> None:
    content = lines(*({"messages": [{"role": f"role {n}", "content": "x"}]} for n in range(500)))
    job = created(server, body(server, content, {**EXACT, "reference": "x"}))
    ended(server, job)
    told = problems(server, job)
    assert len(told) == 22
    assert "480 more problems are not told apart" in told[-2]


def test_a_path_that_no_row_has_is_told_and_is_no_reward(server: Server) -> None:
    job = created(server, body(server, grader={**EXACT, "reference": "{{ item.anwser }}"}))
    done = ended(server, job)
    assert (done["error"]["code"], done["error"]["param"]) == ("invalid_grader", "method.reinforcement.grader")
    assert "{{ item.anwser }}" in done["error"]["message"]
    assert "It has: messages, answer" in done["error"]["message"]
    assert not [event for event in events(server, job) if event["type"] == "metrics"]
    inside = {"type": "multi", "graders": {"a": {**EXACT, "reference": "{{ item.anwser }}"}}, "calculate_output": "a"}
    assert ended(server, created(server, body(server, grader=inside)))["error"]["code"] == "invalid_grader"


def test_a_path_that_some_rows_lack_is_the_files_fault(server: Server) -> None:
    done = ended(server, created(server, body(server, lines(*CAPITALS, row()))))
    assert done["error"]["code"] == "invalid_training_file"
    assert "line 4: {{ item.answer }}" in done["error"]["message"]


def test_code_that_fails_on_every_answer_is_no_reward_of_0(server: Server) -> None:
    job = created(server, body(server, grader=PYTHON))
    done = ended(server, job)
    assert (done["error"]["code"], done["result_files"]) == ("grader_failed", [])
    told = events(server, job)
    assert not [event for event in told if event["type"] == "metrics"]
    assert any("2 of 2 answers" in event["message"] and "points" in event["message"] for event in told)


def test_rows_that_cannot_be_graded_do_not_count_in_the_mean(server: Server) -> None:
    rows = [{**row("a", "x"), "points": 1}, {**row("b", "x")}, {**row("c", "x"), "points": 0}]
    job = created(server, body(server, lines(*rows), PYTHON))
    assert ended(server, job)["error"]["code"] == "no_trainer"
    told = events(server, job)
    (metrics,) = [event["data"] for event in told if event["type"] == "metrics"]
    assert metrics["train_mean_reward"] == 0.5
    assert (metrics["baseline"]["train"]["graded"], metrics["baseline"]["train"]["errored"]) == (2, 1)
    assert [event["level"] for event in told if "could not be graded" in event["message"]] == ["warn"]


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"model": None}, "model", "missing_required_parameter"),
    ({"model": ""}, "model", "invalid_value"),
    ({"model": 1}, "model", "invalid_type"),
    ({"training_file": None}, "training_file", "missing_required_parameter"),
    ({"training_file": "file-0"}, "training_file", "file_not_found"),
    ({"training_file": "\x00"}, "training_file", "file_not_found"),
    ({"validation_file": "file-0"}, "validation_file", "file_not_found"),
    ({"answers_file": "file-0"}, "answers_file", "file_not_found"),
    ({"validation_answers_file": "file-0"}, "validation_file", "invalid_value"),
    ({"suffix": ""}, "suffix", "invalid_value"),
    ({"suffix": "x" * 65}, "suffix", "invalid_value"),
    ({"seed": -1}, "seed", "invalid_value"),
    ({"seed": 2147483648}, "seed", "invalid_value"),
    ({"seed": 1.5}, "seed", "invalid_type"),
    ({"seed": True}, "seed", "invalid_type"),
    ({"metadata": {"k": 1}}, "metadata.k", "invalid_type"),
    ({"hyperparameters": {"n_epochs": 1}}, "hyperparameters", "invalid_value"),
    ({"trainingfile": "x"}, "trainingfile", "unknown_parameter"),
    ({"integrations": {}}, "integrations", "invalid_type"),
    ({"integrations": [{"type": "mlflow"}]}, "integrations[0].type", "invalid_value"),
    ({"integrations": [{"type": "wandb"}]}, "integrations[0].wandb", "missing_required_parameter"),
    ({"integrations": [{"type": "wandb", "wandb": {}}]}, "integrations[0].wandb.project", "missing_required_parameter"),
    ({"integrations": [{"type": "wandb", "wandb": {"project": "p"}}] * 6}, "integrations", "invalid_value"),
    ({"method": None}, "method", "unsupported_method"),
    ({"method": {"type": "supervised", "supervised": {}}}, "method.type", "unsupported_method"),
    ({"method": {"type": "dpo"}}, "method.type", "unsupported_method"),
    ({"method": {"type": "reinforcement"}}, "method.reinforcement", "missing_required_parameter"),
    ({"method": {**method(), "dpo": {}}}, "method.dpo", "invalid_value"),
    ({"method": method(None)}, "method.reinforcement.grader", "missing_required_parameter"),
    ({"method": method([])}, "method.reinforcement.grader", "invalid_type"),
    ({"method": method({"type": "nothing"})}, "method.reinforcement.grader.type", "invalid_value"),
    ({"method": method({**EXACT, "operation": "is"})}, "method.reinforcement.grader.operation", "invalid_value"),
    (
        {"method": method({**EXACT, "input": "{{ sample.text }}"})},
        "method.reinforcement.grader.input",
        "invalid_variable",
    ),
    (
        {"method": method({"type": "python", "source": "def grade(:"})},
        "method.reinforcement.grader.source",
        "invalid_value",
    ),
    ({"method": method({"type": "custom"})}, "method.reinforcement.grader.type", "unsupported_grader"),
    (
        {"method": method({"type": "multi", "graders": {"a": {"type": "custom"}}, "calculate_output": "a"})},
        "method.reinforcement.grader.graders.a.type",
        "unsupported_grader",
    ),
    ({"method": method(response_format={"type": "xml"})}, "method.reinforcement.response_format.type", "invalid_value"),
    ({"method": method(epochs=1)}, "method.reinforcement.epochs", "unknown_parameter"),
]
RANGES: list[tuple[str, list[Any], list[Any]]] = [
    ("batch_size", [1, 256, "auto"], [0, 257, 1.5, "many", True]),
    ("learning_rate_multiplier", [0.1, 2], [0, -1, "1"]),
    ("n_epochs", [1, 50], [0, 51]),
    ("eval_interval", [1, 1000], [0]),
    ("eval_samples", [1], [0, "all"]),
    ("compute_multiplier", [0.0001, 10], [0.00001, 10.5]),
    ("reasoning_effort", ["default", "high"], ["none", 1]),
]


@pytest.mark.parametrize(("change", "param", "code"), WRONG)
def test_a_wrong_request_is_refused_at_its_field(server: Server, change: dict[str, Any], param: str, code: str) -> None:
    answer = server.post(JOBS, {**body(server), **change})
    assert answer.status == 400, answer.body
    assert (answer.error["param"], answer.error["code"]) == (param, code)


@pytest.mark.parametrize(("name", "right", "wrong"), RANGES)
def test_hyperparameters_have_their_ranges(server: Server, name: str, right: list[Any], wrong: list[Any]) -> None:
    given = body(server)
    for value in right:
        job = created(server, {**given, "method": method(hyperparameters={name: value})})
        assert job["method"]["reinforcement"]["hyperparameters"][name] == value
    for value in wrong:
        answer = server.post(JOBS, {**given, "method": method(hyperparameters={name: value})})
        assert (answer.status, answer.error["param"]) == (400, f"method.reinforcement.hyperparameters.{name}")


@pytest.mark.parametrize("name", ["training_file", "validation_file"])
def test_a_file_of_another_purpose_is_refused(server: Server, name: str) -> None:
    answer = server.post(JOBS, {**body(server), name: upload(server, lines(*CAPITALS), "evals")})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, name, "invalid_purpose")


def test_a_registered_grader_is_taken_as_it_is_now(server: Server) -> None:
    assert server.post("/v1/graders", {"key": "for-jobs", "grader": EXACT}).status == 201
    job = created(server, body(server, grader={"type": "registered", "key": "for-jobs"}))
    assert job["method"]["reinforcement"]["grader"] == EXACT
    answer = server.post(JOBS, body(server, grader={"type": "registered", "key": "nobody"}))
    assert (answer.status, answer.error["param"]) == (400, "method.reinforcement.grader.key")


def test_a_judge_that_nobody_knows_is_refused_before_anything_is_done(server: Server) -> None:
    judge = {"type": "score_model", "model": "house/none", "input": [{"role": "user", "content": "?"}]}
    answer = server.post(JOBS, body(server, grader=judge))
    assert (answer.status, answer.error["param"]) == (400, "method.reinforcement.grader.model")


def listed(server: Server, query: str) -> list[str]:
    answer = server.get(f"{JOBS}?{query}")
    assert answer.status == 200, answer.body
    return [job["id"] for job in answer.json()["data"]]


def test_jobs_are_listed_the_newest_first_and_by_metadata(server: Server) -> None:
    given = body(server)
    first = created(server, {**given, "metadata": {"kind": "listed", "a b": "1"}})
    second = created(server, {**given, "metadata": {"kind": "listed"}})
    plain = created(server, given)
    assert listed(server, "limit=3") == [plain["id"], second["id"], first["id"]]
    assert listed(server, f"after={second['id']}&limit=1") == [first["id"]]
    assert listed(server, "metadata[kind]=listed") == [second["id"], first["id"]]
    assert listed(server, "metadata%5Bkind%5D=listed&metadata[a%20b]=1") == [first["id"]]
    assert listed(server, "metadata[kind]=") == []
    assert plain["id"] in listed(server, "metadata=null&limit=100")
    assert first["id"] not in listed(server, "metadata=null&limit=100")
    for wrong in ("metadata=null&metadata[kind]=listed", "metadata=x", "limit=0", "after=ftjob-0"):
        assert server.get(f"{JOBS}?{wrong}").status == 400


def test_events_page_from_the_newest_back(server: Server) -> None:
    job = ended(server, created(server, body(server)))
    every = [event["id"] for event in reversed(events(server, job))]
    page = server.get(f"{JOBS}/{job['id']}/events?limit=2").json()
    assert ([event["id"] for event in page["data"]], page["has_more"]) == (every[:2], True)
    page = server.get(f"{JOBS}/{job['id']}/events?after={every[1]}").json()
    assert ([event["id"] for event in page["data"]], page["has_more"]) == (every[2:], False)


def test_nobody_elses_job_is_found(server: Server) -> None:
    for path in ("", "/events", "/checkpoints"):
        answer = server.get(f"{JOBS}/ftjob-0{path}")
        assert (answer.status, answer.error["code"]) == (404, "not_found")
    for path in ("/cancel", "/pause", "/resume"):
        assert server.request("POST", f"{JOBS}/ftjob-0{path}").status == 404


def test_the_same_routes_stand_below_the_other_prefixes(server: Server) -> None:
    job = created(server, body(server))
    for prefix in ("/openai/v1", "/openai", "/openai/deployments/x", "/api/projects/p/openai/v1"):
        found = server.get(f"{prefix}/fine_tuning/jobs/{job['id']}")
        assert (found.status, found.json()["id"]) == (200, job["id"])


SLOW = {
    "type": "python",
    "name": "slow",
    "source": "import time\ndef grade(sample, item):\n    time.sleep(20)\n    return 1.0\n",
}


def running(server: Server, job: dict[str, Any]) -> bool:
    return any("Grading the baseline" in event["message"] for event in events(server, job))


def act(server: Server, job: dict[str, Any], what: str) -> Answer:
    return server.request("POST", f"{JOBS}/{job['id']}/{what}")


def test_a_job_is_cancelled_with_its_run_and_stays_so(server: Server) -> None:
    job = created(server, body(server, grader=SLOW))
    wait_for(lambda: running(server, job))
    cancelled = act(server, job, "cancel")
    assert (cancelled.status, cancelled.json()["status"]) == (200, "cancelled")
    (run,) = server.get(f"/v1/evals/{cancelled.json()['eval_id']}/runs").json()["data"]
    assert run["status"] == "canceled"
    assert act(server, job, "cancel").json() == cancelled.json()
    for what in ("pause", "resume"):
        assert (act(server, job, what).status, act(server, job, what).error["code"]) == (400, "job_ended")
    assert events(server, job)[-1]["message"] == "The job was cancelled."


def test_a_paused_job_waits_until_it_is_resumed(server: Server) -> None:
    job = created(server, body(server, grader={**SLOW, "source": SLOW["source"].replace("20", "1")}))
    paused = act(server, job, "pause").json()
    assert (paused["status"], paused["paused"]) == ("validating_files", True)
    assert act(server, job, "pause").json() == paused
    other = created(server, body(server))
    ended(server, other)
    assert server.get(f"{JOBS}/{job['id']}").json() == paused
    assert act(server, job, "resume").json()["paused"] is False
    assert ended(server, job)["error"]["code"] == "no_trainer"
    said = [event["message"] for event in events(server, job)]
    assert said.count("The job was paused.") == said.count("The job was resumed.") == 1


def test_a_file_that_is_deleted_meanwhile_ends_the_job(server: Server) -> None:
    job = created(server, body(server))
    act(server, job, "pause")
    assert server.request("DELETE", f"/v1/files/{job['training_file']}").status == 200
    act(server, job, "resume")
    done = ended(server, job)
    # It may have been checked and graded before it was paused; the bundle needs it too.
    assert (done["error"]["code"], done["error"]["param"]) == ("file_not_found", "training_file")


def test_an_eval_that_is_deleted_meanwhile_ends_the_job(server: Server) -> None:
    job = created(server, body(server, grader=SLOW))
    wait_for(lambda: running(server, job))
    eval_id = server.get(f"{JOBS}/{job['id']}").json()["eval_id"]
    assert server.request("DELETE", f"/v1/evals/{eval_id}").status == 200
    assert ended(server, job)["error"]["code"] == "baseline_failed"


def unpacked(server: Server, job: dict[str, Any], folder: Path) -> Path:
    content = server.get(f"/v1/files/{job['result_files'][0]}/content").body
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        assert bundle.testzip() is None
        bundle.extractall(folder)
    return folder


def test_the_bundle_gives_the_same_rewards_in_a_process_of_its_own(server: Server, tmp_path: Path) -> None:
    similar = {
        "type": "text_similarity",
        "name": "like",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.answer }}",
        "evaluation_metric": "rouge_l",
    }
    rows = [{**row(f"{n}?", f"the answer {n} of many"), "answer": f"the answer {n % 3}"} for n in range(12)]
    job = ended(server, created(server, body(server, lines(*rows, CAPITALS[2]), similar, validation_file=None)))
    assert job["error"]["code"] == "no_trainer"
    folder = unpacked(server, job, tmp_path / "bundle")
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "grader.json",
        "job.json",
        "reward.py",
        "train.jsonl",
        "train_trl.py",
    ]
    assert json.loads((folder / "grader.json").read_text()) == similar
    told = subprocess.run(
        [sys.executable, "reward.py", "train.jsonl"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    rewards = [json.loads(line) for line in told.stdout.splitlines()]
    run_id = next(e["data"] for e in events(server, job) if e["type"] == "metrics")["baseline"]["train"]["run_id"]
    items = server.get(f"/v1/evals/{job['eval_id']}/runs/{run_id}/output_items?limit=100").json()["data"]
    assert rewards == [item["results"][0]["score"] for item in items]
    assert len(set(rewards)) == 2
    first = json.loads((folder / "train.jsonl").read_text().splitlines()[0])
    assert [message["role"] for message in first["item"]["messages"]] == ["user"]
    assert first["answer"] == {"role": "assistant", "content": "the answer 0 of many"}
