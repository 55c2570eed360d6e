"""The embedded model for real: its process, its server and its answers."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fairmark.errors import LocalModelUnavailable
from fairmark.judges import gguf, local
from fairmark.judges.local import LocalEndpoint, LocalModels
from tests import thoroughness

SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1, "maxItems": 2},
        "label": {"enum": ["good", "bad"]},
        "result": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["steps", "label", "result"],
    "additionalProperties": False,
}


@pytest.fixture
def models(tmp_path: Path) -> Iterator[LocalModels]:
    models = LocalModels(tmp_path)
    yield models
    models.close()


@pytest.fixture(autouse=True, scope="module")
def one_core() -> Iterator[None]:
    """The model has as many threads as cores: on a busy machine they burn one each, waiting for one another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda pid: {0})
        yield


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, one_core: None) -> Iterator[LocalModels]:
    """With the embedded model running, for those who ask it something and those who do without a start of their own."""
    models = LocalModels(tmp_path_factory.mktemp("home"))
    asyncio.run(models.endpoint("smollm2"))
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


def question(text: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "smollm2",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 10,
        **more,
    }


def pid_of(models: LocalModels, name: str = "smollm2") -> int:
    return models._running[name]._process.pid


def is_there(pid: int) -> bool:
    """Whether it runs: a process that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_answers_like_openai_does(running: LocalModels) -> None:
    async def ask() -> None:
        endpoint = await running.endpoint("smollm2")
        assert endpoint.base_url.startswith("http://127.0.0.1:")
        status, answer = await post(
            endpoint,
            "chat/completions",
            question("What is the capital of France? Answer in one word.", logprobs=True, top_logprobs=2),
        )
        assert status == 200
        assert answer["model"] == "smollm2"
        assert answer["choices"][0]["message"]["content"] == "The capital of France is Paris."
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert len(answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 2
        assert answer["usage"]["prompt_tokens"] > 20
        assert answer["usage"]["completion_tokens"] == 8

    asyncio.run(ask())


def test_an_answer_in_a_json_schema_fits_it(running: LocalModels) -> None:
    async def ask() -> None:
        form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
        body = question("Grade this essay: I like dogs.", response_format=form, max_tokens=400)
        status, answer = await post(await running.endpoint("smollm2"), "chat/completions", body)
        assert status == 200
        verdict = json.loads(answer["choices"][0]["message"]["content"])
        assert set(verdict) == {"steps", "label", "result"}
        assert verdict["label"] in ("good", "bad")
        assert verdict["result"] in (1, 2, 3, 4, 5)

    asyncio.run(ask())


@pytest.mark.thorough
def test_at_temperature_0_an_answer_depends_on_the_question_alone(running: LocalModels) -> None:
    # With beginnings in common, which a cache of prompts would take from the question before.
    story = "The cat and the dog went to town and {} birds sang. "
    numbers = range(5 if thoroughness.is_whole() else 3)
    texts = [f"Story number {number}: {story.format(number) * 3} Summarise." for number in numbers]

    async def ask() -> None:
        endpoint = await running.endpoint("smollm2")

        async def logprobs(text: str) -> list[float]:
            _, answer = await post(endpoint, "chat/completions", question(text, logprobs=True))
            return [token["logprob"] for token in answer["choices"][0]["logprobs"]["content"]]

        alone = [await logprobs(text) for text in texts]
        together = await asyncio.gather(*(logprobs(text) for text in reversed(texts)))
        assert list(reversed(together)) == alone  # to the last bit

    asyncio.run(ask())


@pytest.mark.thorough
def test_a_seed_is_kept_to(running: LocalModels) -> None:
    async def ask() -> None:
        endpoint = await running.endpoint("smollm2")

        async def said(seed: int) -> str:
            body = question("Invent a name for a cat.", temperature=1.5, seed=seed)
            _, answer = await post(endpoint, "chat/completions", body)
            return str(answer["choices"][0]["message"]["content"])

        assert await said(1) == await said(1)
        assert len({await said(seed) for seed in range(3)}) > 1

    asyncio.run(ask())


def test_only_who_has_the_key_may_ask(running: LocalModels) -> None:
    async def ask() -> None:
        endpoint = await running.endpoint("smollm2")
        status, _ = await post(endpoint, "chat/completions", question("Hello"), key="guessed")
        assert status == 401

    asyncio.run(ask())


def test_a_prompt_that_is_too_long_is_refused_with_the_reason(running: LocalModels) -> None:
    async def ask() -> None:
        status, answer = await post(await running.endpoint("smollm2"), "chat/completions", question("word " * 9000))
        assert status == 400
        assert "exceeds the available context size (8192 tokens)" in answer["error"]["message"]

    asyncio.run(ask())


def test_many_who_ask_at_once_share_one_start(models: LocalModels) -> None:
    async def ask() -> None:
        endpoints = await asyncio.gather(*(models.endpoint("smollm2") for _ in range(20)))
        assert len(set(endpoints)) == 1
        assert await models.endpoint("smollm2") == endpoints[0]

    asyncio.run(ask())
    assert len(models._running) == 1


def test_one_who_gives_up_does_not_stop_the_start_for_the_others(models: LocalModels) -> None:
    async def ask() -> None:
        impatient = asyncio.create_task(models.endpoint("smollm2"))
        patient = asyncio.create_task(models.endpoint("smollm2"))
        await asyncio.sleep(0)
        impatient.cancel()
        status, _ = await post(await patient, "chat/completions", question("Hello", max_tokens=1))
        assert status == 200
        assert impatient.cancelled()

    asyncio.run(ask())


def test_a_process_that_died_is_started_anew(running: LocalModels) -> None:
    async def ask() -> None:
        before = await running.endpoint("smollm2")
        pid = pid_of(running)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        after = await running.endpoint("smollm2")
        assert after.key != before.key
        status, _ = await post(after, "chat/completions", question("Hello", max_tokens=1))
        assert status == 200

    asyncio.run(ask())


def test_closing_ends_the_process_and_a_later_question_starts_another(running: LocalModels) -> None:
    async def ask() -> None:
        await running.endpoint("smollm2")
        pid = pid_of(running)
        running.close()
        assert not is_there(pid)
        await running.endpoint("smollm2")
        assert pid_of(running) != pid

    asyncio.run(ask())


def test_closing_in_the_middle_of_a_start_leaves_nothing_behind(models: LocalModels) -> None:
    async def ask() -> None:
        starting = asyncio.create_task(models.endpoint("smollm2"))
        while "smollm2" not in models._running:
            await asyncio.sleep(0)
        pid = pid_of(models)
        models.close()
        with pytest.raises((asyncio.CancelledError, LocalModelUnavailable)):
            await starting
        assert not is_there(pid)

    asyncio.run(ask())


BLOCKED = """
import asyncio, sys
from pathlib import Path
sys.modules["xllamacpp"] = None
from fairmark.judges.local import LocalModels
from fairmark.errors import LocalModelUnavailable
models = LocalModels(Path(sys.argv[1]))
print(models.available())
try:
    asyncio.run(models.endpoint("smollm2"))
except LocalModelUnavailable as error:
    print(error)
"""


def test_without_the_extra_it_is_told_what_to_install(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "[]",
        "local/smollm2: running models on this machine takes an extra that is not installed: "
        "pip install 'fairmark[local]'",
    ]


def test_without_its_file_it_is_told_how_to_get_it(
    models: LocalModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf, "embedded", lambda: None)
    assert models.available() == []
    with pytest.raises(LocalModelUnavailable) as caught:
        asyncio.run(models.endpoint("smollm2"))
    assert str(caught.value) == (
        f"local/smollm2: there is no {tmp_path}/models/smollm2.gguf. To get it: fairmark models pull smollm2. "
        "There is: none."
    )


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gpt-9", r"local/gpt-9: unknown model. There is: smollm2. To be had by fairmark models pull: smollm2, qwen2"),
        ("../smollm2", r"local/../smollm2: not a name of a model. There is: smollm2."),
        ("qwen3-4b", r"local/qwen3-4b: there is no .*qwen3-4b.gguf. To get it: fairmark models pull qwen3-4b."),
    ],
)
def test_a_model_that_is_not_there_is_told_with_those_that_are(name: str, problem: str, models: LocalModels) -> None:
    with pytest.raises(LocalModelUnavailable, match=problem):
        asyncio.run(models.endpoint(name))


def test_files_put_into_the_folder_are_models_too(models: LocalModels, tmp_path: Path) -> None:
    embedded = gguf.embedded()
    assert embedded
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.gguf").symlink_to(embedded)
    (tmp_path / "models" / "half.gguf.part").touch()
    assert models.available() == ["smollm2", "mine"]

    async def ask() -> None:
        body = question("Hello", max_tokens=1, model="mine")
        status, answer = await post(await models.endpoint("mine"), "chat/completions", body)
        assert (status, answer["model"]) == (200, "mine")

    asyncio.run(ask())


def test_a_file_that_is_no_model_is_told_with_the_reason(models: LocalModels, tmp_path: Path) -> None:
    embedded = gguf.embedded()
    assert embedded
    (tmp_path / "models").mkdir()
    with embedded.open("rb") as whole:
        (tmp_path / "models" / "half.gguf").write_bytes(whole.read(3_000_000))
    with pytest.raises(LocalModelUnavailable, match=r"local/half: it did not start: .* corrupted or incomplete"):
        asyncio.run(models.endpoint("half"))
    assert models._running == {}


def process_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    (tmp_path / "process.py").write_text(code)
    monkeypatch.setattr(local, "_PROCESS", tmp_path / "process.py")


def test_a_process_that_dies_at_once_is_told_with_its_last_words(
    models: LocalModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_that(tmp_path, monkeypatch, "import sys; sys.exit('illegal instruction')")
    with pytest.raises(LocalModelUnavailable, match="it ended with status 1: illegal instruction"):
        asyncio.run(models.endpoint("smollm2"))


def test_a_process_that_is_never_ready_is_given_up(
    models: LocalModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "START_LIMIT_S", 0.2)
    process_that(tmp_path, monkeypatch, "import sys; sys.stdin.read()")
    with pytest.raises(LocalModelUnavailable, match=r"local/smollm2: it was not ready within 0.2 s"):
        asyncio.run(models.endpoint("smollm2"))
    assert models._running == {}
