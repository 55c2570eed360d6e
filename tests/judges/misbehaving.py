"""A server to misbehave, a judge that asks it, and what a failed grade looks like."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.judges.asking import AskingJudge
from fairmark.judges.cache import Cache
from fairmark.judges.client import JudgeClient
from fairmark.judges.models import Provider, read_registry
from fairmark.outbound import client as client_module
from fairmark.settings import Settings
from fairmark.work import eventloop
from tests.judges.faults import (
    Behaviour,
    FaultServer,
)

KEY = "sk-not-to-be-seen-0123456789abcdef"

SCORE_GRADER: dict[str, Any] = {
    "type": "score_model",
    "name": "score",
    "model": "judge",
    "input": [{"role": "user", "content": "Grade {{ sample.output_text }}."}],
    "range": [0, 1],
}

LABEL_GRADER: dict[str, Any] = {
    "type": "label_model",
    "name": "label",
    "model": "judge",
    "input": [{"role": "user", "content": "Grade {{ sample.output_text }}."}],
    "labels": ["good", "bad"],
    "passing_labels": ["good"],
}

RETRIES = 2

SERVER, REFUSAL, UNREADABLE = "model_grader_server_error", "model_grader_refusal_error", "model_grader_parse_error"

CUT_OFF, LATE = "truncated_observation_error", "unresponsive_reward_error"


class Setup:
    """A server to misbehave, a judge that asks it, and a grade by that judge."""

    def __init__(self, server: FaultServer, home: Path) -> None:
        self.server = server
        self.home = home
        self._opened: list[tuple[JudgeClient, Cache]] = []
        self.judge = self.open()

    def open(self, url: str | None = None, key: str = KEY, path: str = "/v1", **given: Any) -> AskingJudge:
        """A judge with settings that let tests end soon."""
        settings = Settings(
            **{"home": self.home, "judge_timeout_s": 20.0, "judge_deadline_s": 40.0, "judge_retries": RETRIES, **given}
        )
        environment = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{url or self.server.url}{path}"}
        client = JudgeClient(settings, _no_local_model)
        cache = Cache(settings.data_folder / "judgements.db", settings.judge_cache, 10_000_000)
        self._opened.append((client, cache))
        return AskingJudge(read_registry(self.home / "none.toml", environment), client, cache)

    def grade(
        self,
        *behaviours: Behaviour,
        always: Behaviour | None = None,
        grader: dict[str, Any] = SCORE_GRADER,
        sample: str = "Paris",
    ) -> fairmark.Result:
        self.server.script(*behaviours)
        if always is not None:
            self.server.always(always)
        return fairmark.grade(grader, sample=sample, judge=self.judge)

    @property
    def asked(self) -> int:
        return len(self.server.requests)

    def kept(self) -> int:
        """How many answers the cache holds on disk."""
        for _, cache in self._opened:
            cache.flush()
        with contextlib.closing(sqlite3.connect(self.home / "judgements.db")) as database:
            (count,) = database.execute("select count(*) from answers").fetchone()
        assert isinstance(count, int)
        return count

    def close(self) -> None:
        for client, cache in self._opened:
            eventloop.run(client.close())
            cache.close()


async def _no_local_model(name: str) -> Provider:
    raise AssertionError(f"nobody asked for the embedded model {name}")


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    monkeypatch.setattr(client_module, "FIRST_PAUSE_S", 0.01)
    with FaultServer() as server:
        setup = Setup(server, tmp_path)
        yield setup
        setup.close()


def flags(result: fairmark.Result) -> set[str]:
    """The flags that are set, without what explains them."""
    return {name for name, value in result.errors.items() if value is True}


def assert_failed(result: fairmark.Result, flag: str, *words: str) -> None:
    assert result.status == "error"
    assert result.reward == 0.0
    assert flag in flags(result)
    assert result.passed is False
    assert result.error is not None
    for word in words:
        assert word in result.error
