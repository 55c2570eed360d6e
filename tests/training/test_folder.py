"""The folders of a worker: what counts as a checkpoint, what a model is called, and what of a bundle is taken."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.training.folder import MARK, JobFolder, checkpoint_name, model_name


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    made = JobFolder(tmp_path, "ftjob-1")
    made.make()
    return made


def checkpoint(folder: JobFolder, step: int, *, whole: bool = True) -> Path:
    place = folder.output / f"checkpoint-{step}"
    place.mkdir()
    (place / "model.safetensors").write_bytes(b"weights")
    (place / "optimizer.pt").write_bytes(b"state")
    if whole:
        folder.mark(place, {"step": step})
    return place


def pack(folder: JobFolder, **files: str) -> None:
    with zipfile.ZipFile(folder.bundle, "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name.replace("_", "."), content)


@pytest.mark.parametrize(
    ("model", "suffix", "name"),
    [
        ("small", None, "ft:small::12345678"),
        ("Qwen/Qwen3-0.6B", "my own", "ft:Qwen/Qwen3-0.6B:my-own:12345678"),
        ("small", "../../etc/x", "ft:small:etc-x:12345678"),
        ("small", "äö", "ft:small::12345678"),
    ],
)
def test_a_model_is_called_by_its_job_and_its_name_is_a_path(model: str, suffix: str | None, name: str) -> None:
    job = {"id": "ftjob-1234567890", "model": model, "user_provided_suffix": suffix}
    assert model_name(job) == name
    assert checkpoint_name(name, 5) == f"{name}:ckpt-step-5"


def test_the_last_checkpoint_is_the_newest_that_is_whole_and_others_are_removed(folder: JobFolder) -> None:
    assert folder.last_checkpoint() is None
    checkpoint(folder, 9)
    ten = checkpoint(folder, 10)
    broken = checkpoint(folder, 11, whole=False)
    (folder.output / "checkpoint-12.tmp").mkdir()
    assert folder.last_checkpoint() == (10, ten)
    assert not broken.exists()
    assert not (folder.output / "checkpoint-12.tmp").exists()
    assert [step for step, _ in folder.checkpoints()] == [10, 9]
    assert JobFolder.at(folder.path).last_checkpoint() == (10, ten)


def test_checkpoints_that_are_there_can_be_asked_for_as_models(folder: JobFolder) -> None:
    model = "ft:Qwen/small::1"
    old, new = checkpoint(folder, 1), checkpoint(folder, 2)
    folder.offer_checkpoints(model)
    assert (folder.models / f"{model}:ckpt-step-1" / MARK).exists()
    for path in old.iterdir():
        path.unlink()
    old.rmdir()
    folder.offer_checkpoints(model)
    assert sorted(path.name for path in (folder.models / "ft:Qwen").iterdir()) == ["small::1:ckpt-step-2"]
    folder.tidy()
    assert sorted(path.name for path in new.iterdir()) == [MARK, "model.safetensors"]


def test_a_model_is_put_in_its_place_whole_also_a_second_time(folder: JobFolder) -> None:
    for content in ("one", "two"):
        made = folder.path / "model.new"
        made.mkdir()
        (made / "config.json").write_text(content)
        place = folder.put_model(made, "ft:small::1")
        assert (place, (place / "config.json").read_text()) == (folder.models / "ft:small::1", content)
        assert not made.exists()


def test_of_a_bundle_only_its_data_is_taken(folder: JobFolder) -> None:
    pack(folder, grader_json="{}", job_json="{}", train_jsonl="{}\n", reward_py="raise SystemExit")
    folder.unpack()
    assert folder.train.read_text() == "{}\n"
    assert not (folder.path / "reward.py").exists()
    assert not folder.valid.exists()


@pytest.mark.parametrize("files", [{}, {"grader_json": "{}", "train_jsonl": ""}])
def test_a_bundle_that_is_none_is_told(folder: JobFolder, files: dict[str, Any]) -> None:
    pack(folder, **files)
    with pytest.raises(InvalidData, match="the bundle holds"):
        folder.unpack()
    folder.bundle.write_bytes(b"no zip")
    with pytest.raises(InvalidData, match="cannot be read"):
        folder.unpack()


def test_what_could_not_be_told_is_kept_and_taken_once(folder: JobFolder) -> None:
    assert folder.take_untold() is None
    folder.keep_untold({"events": [], "checkpoints": []})
    assert folder.take_untold() == {"events": [], "checkpoints": []}
    assert folder.take_untold() is None
    (folder.path / "untold.json").write_text("{")
    assert folder.take_untold() is None
