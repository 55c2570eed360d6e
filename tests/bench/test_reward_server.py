"""The benchmarks' reward server answers as the contract has it, and the benchmark runs. How fast stands in no test."""

import json
import urllib.request

from bench.reward_server import RESPONSE, RewardServer

from bench import endpoint


def test_it_answers_as_many_responses_as_there_were_requests() -> None:
    request = {"turns": [{"role": "assistant", "content": 'not "turns": one'}], "metadata": {}}
    body = json.dumps({"requests": [request] * 3}, separators=(",", ":")).encode()
    with RewardServer() as url:
        asked = urllib.request.Request(f"{url}/batch_score", body)  # noqa: S310  # our own server's address
        with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310
            assert json.load(answer) == {"responses": [RESPONSE] * 3}


def test_every_row_of_the_benchmark_is_graded() -> None:
    cost = endpoint.rows(100, 64)
    assert cost["graded"] == 100
    assert cost["wall_s"] > 0
