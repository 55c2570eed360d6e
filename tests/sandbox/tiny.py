"""A small image, built or as if it were, that tests of images share."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fairmark.sandbox import images
from fairmark.sandbox.catalogue import KnownImage
from fairmark.sandbox.images import ABI, Image

SIX = "six==1.17.0\n"


@pytest.fixture(autouse=True)
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the images lie that the environment brings: those of this one are out of sight."""
    folder = tmp_path / "environment" / "images"
    monkeypatch.setattr(images, "OF_THE_ENVIRONMENT", folder)
    return folder


def ready(folder: Path, tag: str = "tiny", **changes: Any) -> Image:
    """An image as a build leaves it, without the building."""
    image = Image(tag, "3.11.7", ABI, {"six": "1.17.0"}, {}, ["punkt"], [], 12)
    place = folder / "images" / tag
    (place / "site-packages").mkdir(parents=True, exist_ok=True)
    (place / "ready").write_text(json.dumps({**asdict(image), **changes}))
    return image


def tiny(tmp_path: Path, requirements: str = SIX, **changes: Any) -> dict[str, KnownImage]:
    file = tmp_path / "tiny.txt"
    file.write_text(requirements)
    return {"tiny": KnownImage(**{"requirements": file, "modules": {"six": "six"}, **changes})}


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "images").iterdir() if path.name != ".lock")


def quiet(step: str) -> None:
    pass
