"""OpenRLHF's own executor of single turns asks our server, and a file of ours. Prints what came of it as JSON."""
# mypy: disable-error-code="import-not-found, misc, no-any-unimported, untyped-decorator, no-any-return, arg-type"

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openrlhf.utils.agent import SingleTurnAgentExecutor

from tests.trainers.real.peers.grader import written
from tests.trainers.real.peers.tokens import END, WORDS, tokenizer

ANSWERS = ["Paris", "Rome", "fail"]


class Engine:
    """Stands in for vLLM, which needs a GPU: says one word, and the mark of the end."""

    def __init__(self, answer: str) -> None:
        self._said = [WORDS.index(answer), END]

    async def generate(self, prompt_token_ids: list[int], sampling_params: Any, multi_modal_data: Any = None) -> Any:
        said = SimpleNamespace(token_ids=self._said, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[said])


def rollouts(remote_url: Any, words: Any, answers: list[str], label: Any = "Paris") -> list[Any]:
    executor = SingleTurnAgentExecutor(remote_url)
    sampling = SimpleNamespace(max_tokens=8, logprobs=None)

    async def together() -> list[Any]:
        each = (executor.execute("Capital ? ", label, sampling, 32, words, Engine(answer)) for answer in answers)
        return await asyncio.gather(*each)

    done = asyncio.run(together())
    return [{name: str(row[name]) for name in ("reward", "scores", "extra_logs")} for row in done]


def _file(folder: Path, reference: str, options: str = "") -> str:
    """As on the page of OpenRLHF."""
    folder.mkdir()
    grader, path = str(written(folder, reference)), folder / "my_reward.py"
    path.write_text(f"from fairmark.trainers import openrlhf\nreward_func = openrlhf.reward({grader!r}{options})\n")
    return str(path)


def main(folder: Path, url: str) -> dict[str, Any]:
    words = tokenizer(folder / "tokenizer")
    own_file = _file(folder / "plain", "{{item.label}}")
    masking = _file(folder / "masking", "{{item.label}}", ", on_error='mask', deadline_s=2")
    of_object = _file(folder / "object", "{{item.answer}}")
    return {
        "server": rollouts(f"{url}/get_reward", words, ANSWERS),
        "two_servers": rollouts([f"{url}/get_reward", f"{url}/get_reward?on_error=mask"], words, ["fail", "fail"]),
        "own_file": rollouts(own_file, words, ANSWERS),
        "label": rollouts(of_object, words, ["Rome"], '{"answer": "Rome", "more": 1}'),
        "bad_luck": rollouts(masking, words, ["Paris", "loop", "die"]),
        "many": len({json.dumps(row) for row in rollouts(f"{url}/get_reward", words, ["Paris"] * 64)}),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2])) + "\n")
