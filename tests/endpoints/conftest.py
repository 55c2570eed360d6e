"""What the tests of reward servers share."""

from collections.abc import Iterator

import pytest

from fairmark.outbound import client
from tests.endpoints.rewards import Setup, reward_server


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.01)
    with reward_server() as setup:
        yield setup
