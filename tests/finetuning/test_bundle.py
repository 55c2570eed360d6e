"""The bundle of a job: what is in it, that it is the same whenever it is written, and that its script fits TRL."""

import ast
import json
import pickle
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fairmark.finetuning.aside import WorkStopped
from fairmark.finetuning.asking import read_job
from fairmark.finetuning.bundle import FOLDER, write_bundle
from fairmark.finetuning.bundled.reward import GraderReward
from fairmark.store import DiskFull, Job
from tests.disk import no_room, small_disk

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
ROW = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}], "answer": "Paris"}


WANDB = {"type": "wandb", "wandb": {"project": "p"}}


def new_job(integrations: Sequence[dict[str, Any]] = (WANDB,), grader: Any = EXACT, **hyperparameters: Any) -> Job:
    reinforcement = {"grader": grader, "hyperparameters": hyperparameters}
    body, _ = read_job(
        {
            "model": "some/model",
            "training_file": "file-1",
            "seed": 5,
            "integrations": list(integrations),
            "method": {"type": "reinforcement", "reinforcement": reinforcement},
        }
    )
    return Job(1, "ftjob-1", "default", "validating_files", None, body, False, 0, None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_text(json.dumps(ROW) + "\n")
    return path


def unpack(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as bundle:
        bundle.extractall(folder)
    return folder


def write(path: Path, data: Path, **hyperparameters: Any) -> Path:
    rows = {"train.jsonl": (data, None), "validation.jsonl": (data, None)}
    size = write_bundle(path, new_job(**hyperparameters), rows, lambda: False)
    assert size == path.stat().st_size
    return path


def test_a_bundle_is_the_same_bytes_whenever_it_is_written(tmp_path: Path, data: Path) -> None:
    first, second = write(tmp_path / "a", data), write(tmp_path / "b", data)
    assert first.read_bytes() == second.read_bytes()
    folder = unpack(first, tmp_path / "unpacked")
    assert json.loads((folder / "train.jsonl").read_text()) == {
        "item": {**ROW, "messages": ROW["messages"][:1]},
        "answer": ROW["messages"][1],
    }
    assert json.loads((folder / "job.json").read_text())["seed"] == 5


def test_whoever_does_not_want_it_any_more_leaves_nothing_behind(tmp_path: Path, data: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(WorkStopped):
        write_bundle(home / "file-1", new_job(), {"train.jsonl": (data, None)}, lambda: True)
    assert list(home.iterdir()) == []


def test_a_row_that_cannot_be_graded_has_no_reward() -> None:
    reward = pickle.loads(pickle.dumps(GraderReward(EXACT)))  # noqa: S301  # our own
    logged: dict[str, float] = {}
    chat = [{"role": "assistant", "content": "Paris"}]
    items = [json.dumps({"answer": "Paris"}), json.dumps({"answer": "Rome"}), "{}"]
    rewards = reward(
        prompts=[], completions=[chat, chat, chat], row=items, completion_ids=[], log_metric=logged.__setitem__
    )
    assert rewards == [1.0, 0.0, None]
    assert logged == {"exact/failed": pytest.approx(1 / 3)}
    assert reward.__name__ == "exact"


# As of TRL 1.16: what the two take that the script says.
CONFIG = {
    "output_dir", "seed", "num_train_epochs", "learning_rate", "num_generations", "per_device_train_batch_size",
    "gradient_accumulation_steps", "num_generations_eval", "per_device_eval_batch_size", "eval_strategy", "eval_steps",
    "max_completion_length", "logging_steps", "report_to", "use_cpu", "bf16",
}  # fmt: skip
TRAINER = {
    "model",
    "reward_funcs",
    "args",
    "train_dataset",
    "eval_dataset",
    "processing_class",
    "callbacks",
    "peft_config",
}


def keywords(name: str) -> set[str | None]:
    tree = ast.parse((FOLDER / "train_trl.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]
    (call,) = calls
    assert call.args == []
    return {keyword.arg for keyword in call.keywords}


def test_the_script_calls_trl_by_names_that_it_knows() -> None:
    assert keywords("GRPOConfig") <= CONFIG
    assert {"output_dir", "num_generations", "per_device_train_batch_size"} <= keywords("GRPOConfig")
    assert keywords("GRPOTrainer") <= TRAINER


class Recorder:
    """Stands where TRL is not installed: what the script builds, and one generation as TRL would ask for rewards."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        made.append(self)

    def train(self) -> None:
        rows = self.given["train_dataset"]
        said = [[{"role": "assistant", "content": "Paris"}] for _ in rows]
        columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
        prompts = [row["prompt"] for row in rows]
        self.rewards = self.given["reward_funcs"](
            prompts=prompts, completions=said, completion_ids=[], trainer_state=None, **columns
        )

    def save_model(self, folder: str) -> None:
        self.saved = folder


made: list[Recorder] = []


@pytest.fixture
def script(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An unpacked bundle, and TRL's and datasets' doors in this process."""
    made.clear()
    folder = unpack(
        write(tmp_path / "zip", data, n_epochs=3, compute_multiplier=0.5, batch_size=4), tmp_path / "script"
    )
    trl = ModuleType("trl")
    trl.__dict__.update(GRPOConfig=SimpleNamespace, GRPOTrainer=Recorder, __version__="1.16.0")
    datasets = ModuleType("datasets")
    datasets.__dict__["Dataset"] = SimpleNamespace(from_list=list)
    torch = ModuleType("torch")
    torch.__dict__["accelerator"] = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "trl", trl)
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "argv", ["train_trl.py", "--output", "out"])
    monkeypatch.setenv("WANDB_PROJECT", "")
    yield folder
    sys.modules.pop("reward", None)


def run(script: Path) -> Recorder:
    exec(compile((script / "train_trl.py").read_text(), "train_trl.py", "exec"), {"__name__": "__main__"})  # noqa: S102
    (trainer,) = made
    return trainer


def test_the_script_trains_by_the_grader_with_what_the_job_asked_for(script: Path) -> None:
    trainer = run(script)
    assert trainer.rewards == [1.0]
    assert trainer.saved == "out"
    config = trainer.given["args"]
    assert trainer.given["model"] == "some/model"
    assert (config.num_train_epochs, config.num_generations, config.per_device_train_batch_size) == (3.0, 4, 4)
    assert (config.gradient_accumulation_steps, config.seed, config.report_to) == (4, 5, ["wandb"])
    assert config.per_device_eval_batch_size % config.num_generations_eval == 0
    assert config.eval_strategy == "steps"
    assert (config.use_cpu, config.bf16) == (True, False)
    assert trainer.given["train_dataset"][0]["prompt"] == [{"role": "user", "content": "?"}]
    assert trainer.given["eval_dataset"] == trainer.given["train_dataset"]


@pytest.mark.parametrize(
    "item", [{"messages": [], "tools": [{}]}, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}]
)
def test_the_script_stops_at_rows_that_it_cannot_train_on(script: Path, item: dict[str, Any]) -> None:
    (script / "train.jsonl").write_text(json.dumps({"item": item, "answer": None}))
    with pytest.raises(SystemExit, match=r"This script trains on texts only|it has tools"):
        run(script)


def test_the_script_refuses_a_trl_that_takes_no_reward_for_0(script: Path) -> None:
    sys.modules["trl"].__dict__["__version__"] = "1.5.2"
    with pytest.raises(SystemExit, match="counts as 0"):
        run(script)


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path: Path, data: Path) -> None:
    with small_disk(tmp_path / "small") as disk:
        with no_room(disk.path), pytest.raises(DiskFull):
            write_bundle(disk.path / "file-1", new_job(), {"train.jsonl": (data, None)}, lambda: False)
        assert list(disk.path.iterdir()) == []
