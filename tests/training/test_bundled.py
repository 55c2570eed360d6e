"""The bundle of a job, unpacked and run with the real TRL by nothing but its own script."""

import json
from pathlib import Path

import pytest

from fairmark.finetuning.bundle import write_bundle
from tests.finetuning.test_bundle import new_job, unpack
from tests.training.real.environment import run

pytestmark = pytest.mark.thorough
# Letters are what the tiny model says: some of them are right by chance.
LETTERS = {
    "type": "python",
    "name": "letters",
    "source": "def grade(sample, item):\n    return sample['output_text'].count('a') / 8\n",
}


def test_a_bundle_trains(tiny: Path, tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": f"say a{number}"}]} for number in range(4)]
    (tmp_path / "data").write_text("".join(json.dumps(row) + "\n" for row in rows))
    job = new_job([], LETTERS, n_epochs=1, batch_size=2, compute_multiplier=0.5, eval_interval=1)
    data = {"train.jsonl": (tmp_path / "data", None), "validation.jsonl": (tmp_path / "data", None)}
    write_bundle(tmp_path / "bundle.zip", job, data, lambda: False)
    folder = unpack(tmp_path / "bundle.zip", tmp_path / "bundle")
    options = ["--model", str(tiny), "--output", "trained", "--max-completion-length", "8"]
    said = run("train_trl.py", *options, cwd=folder)
    assert (folder / "trained" / "model.safetensors").is_file()
    assert "'reward':" in said
    assert "'eval_reward':" in said
