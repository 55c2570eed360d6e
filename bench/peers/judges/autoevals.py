"""autoevals: an LLMClassifier by eval_async. Takes URL CALLS AT_ONCE, prints what it cost as JSON."""

# autoevals is installed only where this script runs.
# mypy: disable-error-code="import-not-found"

import asyncio
import json
import sys
import time

from autoevals import LLMClassifier
from openai import AsyncOpenAI


async def main(url: str, calls: int, at_once: int) -> None:
    judge = LLMClassifier(
        name="fair",
        prompt_template="How good is the answer {{{output}}} to a question whose right answer is {{{expected}}}?",
        choice_scores={"A": 1.0, "B": 0.5, "C": 0.0},
        model="gpt-4.1-mini",
        use_cot=True,
        client=AsyncOpenAI(base_url=f"{url}/v1", api_key="x"),
    )
    room = asyncio.Semaphore(at_once)

    async def ask(number: int) -> float:
        async with room:
            score: float = (await judge.eval_async(output=f"answer {number}", expected=f"reference {number}")).score
            return score

    await ask(-1)
    wall, cpu = time.perf_counter(), time.process_time()
    scores = await asyncio.gather(*map(ask, range(calls)))
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    print(json.dumps(cost | {"graded": sum(score == 1.0 for score in scores)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
