"""fairmark train worker: what it refuses before it asks a server."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name, content in (("config.json", "{}"), ("model.safetensors", ""), ("tokenizer.json", "{}")):
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "small=nowhere"], "there is no folder"),
        (["--model", "small"], "It takes NAME=DIR"),
        (["--model", "small={model}", "--grpo", "{{"], "--grpo: not JSON"),
        (["--model", "small={model}", "--grpo", "@nowhere.json"], "nowhere.json"),
        (["--model", "small={model}", "--grpo", '{{"output_dir": "x"}}'], "output_dir is not for it"),
        (["--model", "small={model}", "--serve-with", "magic"], "Use transformers or vllm"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked(
    fairmark: Run, model: Path, arguments: list[str], words: str
) -> None:
    done = fairmark("train", "worker", *(argument.format(model=model) for argument in arguments))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""


def test_without_the_packages_it_says_what_to_install(fairmark: Run, model: Path) -> None:
    done = fairmark("train", "worker", "--model", f"small={model}")
    assert done.returncode == 2
    assert (
        "The worker needs torch, trl, transformers, datasets, accelerate: pip install 'fairmark[train]'" in done.stderr
    )
