"""The models that a worker trains: names that jobs use, and the folders that hold them."""

import re
from collections.abc import Sequence
from pathlib import Path

from fairmark import jsontext
from fairmark.errors import InvalidData

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
LONGEST_NAME = 150
"""So that names of its trained models and their checkpoints are names that a server takes."""
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")


def read_offers(texts: Sequence[str]) -> dict[str, Path]:
    """The folder of each name, from `NAME=DIR`. Raises InvalidData for a folder that holds no model."""
    offers: dict[str, Path] = {}
    for text in texts:
        name, equals, folder = text.partition("=")
        if not equals or not folder:
            raise InvalidData(f"--model: found {jsontext.quote(text)}. It takes NAME=DIR, such as small=models/small.")
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise InvalidData(
                f"--model: found the name {jsontext.quote(name)}. It takes letters, digits and any of . _ - with / "
                f"between them, at most {LONGEST_NAME}."
            )
        if name in offers:
            raise InvalidData(f"--model: {name} stands there twice.")
        offers[name] = _checked(name, Path(folder).resolve())
    return offers


def _checked(name: str, folder: Path) -> Path:
    if not folder.is_dir():
        raise InvalidData(f"--model {name}: there is no folder {folder}.")
    try:
        config = jsontext.decode((folder / "config.json").read_bytes())
    except (OSError, jsontext.NotJson):
        config = None
    if not isinstance(config, dict):
        raise InvalidData(f"--model {name}: {folder} has no config.json that can be read. It takes a model's folder.")
    if not any(path for pattern in _WEIGHTS for path in folder.glob(pattern)):
        raise InvalidData(f"--model {name}: {folder} has no weights: {' or '.join(_WEIGHTS)}.")
    if not any((folder / tokenizer).exists() for tokenizer in _TOKENIZERS):
        raise InvalidData(f"--model {name}: {folder} has no tokenizer: {' or '.join(_TOKENIZERS)}.")
    return folder
