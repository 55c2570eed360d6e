"""The reward as AReaL calls it: pickled into a pool of processes with every row."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from fairmark.errors import GradingFailed
from fairmark.trainers import areal
from tests.trainers.test_trl import BOTH, EXACT


def test_a_row_a_call() -> None:
    made = areal.reward(BOTH)
    assert made("Capital?", "Paris", [1, 2], [3], answer="Paris") == 1.5
    assert made.options.deadline_s == 12.0
    with pytest.raises(GradingFailed, match="on purpose"):
        made("Capital?", "Paris", [1, 2], [3], answer="Paris", fail=True)


def test_in_another_process_it_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = areal.reward(EXACT)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        calls = [
            pool.submit(partial(made, "Capital?", answer, [1], [2], answer="Paris")) for answer in ("Paris", "Rome")
        ]
        assert [call.result(60) for call in calls] == [1.0, 0.0]
    sent = pickle.dumps(made)
    first = pickle.loads(sent)  # noqa: S301
    monkeypatch.setattr(areal.ArealReward, "__init__", None)
    assert pickle.loads(sent) is first  # noqa: S301


def test_a_failure_keeps_its_words_on_the_way_back() -> None:
    """An exception that cannot be pickled would break the pool."""
    with pytest.raises(GradingFailed) as caught:
        areal.reward(BOTH)("Capital?", "Paris", fail=True)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301
