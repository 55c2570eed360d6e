"""verifiers' own Task scores traces by our reward: as a method, and by the configuration. Prints what came of it."""
# mypy: disable-error-code="import-not-found, misc, no-any-unimported, untyped-decorator, no-any-return, arg-type"

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.trace import AgentInfo, TraceTask

from fairmark.trainers import verifiers
from tests.trainers.real.peers.grader import written


class Capital(vf.TaskData):
    answer: str


class Bare(vf.Task[Capital]):
    pass


def asked(grader: str) -> vf.Task[Capital]:
    """As on the page of verifiers."""
    grade = verifiers.reward(grader, deadline_s=6)

    class Asked(vf.Task[Capital]):
        @vf.reward(weight=2.0)
        async def quality(self, task: Any, trace: Any) -> float:
            return await grade(task, trace)

    return Asked(DATA)


DATA = Capital(idx=0, prompt="Capital?", answer="Paris")


def scored(task: vf.Task[Capital], answers: list[str]) -> list[Any]:
    """What each trace has afterwards, or what was raised; all of them scored together, as the server does it."""

    async def one(answer: str) -> Any:
        messages = [vf.UserMessage(content="Capital?"), vf.AssistantMessage(content=answer)]
        nodes = [vf.MessageNode(message=messages[0]), vf.MessageNode(message=messages[1], parent=0, sampled=True)]
        trace = vf.Trace(
            task=TraceTask(type="Capital", data=DATA), agent=AgentInfo(config=vf.AgentConfig()), nodes=nodes
        )
        raised = None
        try:
            await task.score(trace)
        except vf.TaskError as error:
            raised = f"{type(error).__name__}: {str(error).splitlines()[-1]}"
        rewards = {name: reward and (reward.score, reward.weight) for name, reward in trace.rewards.items()}
        return {"reward": trace.reward, "rewards": rewards, "metrics": trace.metrics, "raised": raised}

    async def together() -> list[Any]:
        return await asyncio.gather(*map(one, answers))

    return asyncio.run(together())


def answers_seen(grader: str) -> list[Any]:
    """What is graded of traces whose last turn is not the answer, against what verifiers takes for it."""
    made = verifiers.reward(grader)
    example = [vf.UserMessage(content="Capital?"), vf.AssistantMessage(content="Rome")]
    unanswered = [vf.MessageNode(message=example[0]), vf.MessageNode(message=example[1], parent=0)]
    helped = [
        vf.MessageNode(message=example[0]),
        vf.MessageNode(message=vf.AssistantMessage(content="Paris"), parent=0, sampled=True),
        vf.MessageNode(message=vf.UserMessage(content="Help me.")),
        vf.MessageNode(message=vf.AssistantMessage(content="I did."), parent=2, sampled=True),
    ]
    seen = []
    for nodes, root_reply in ((unanswered, None), (helped, "Paris")):
        task, agent = TraceTask(type="Capital", data=DATA), AgentInfo(config=vf.AgentConfig())
        trace = vf.Trace(task=task, agent=agent, nodes=nodes, root_reply=root_reply)
        seen.append([made.row_of_trace(None, trace)["sample"], trace.last_reply])
    return seen


def main(folder: Path) -> dict[str, Any]:
    grader = str(written(folder, "{{item.answer}}"))
    (folder / "my_rewards.py").write_text(
        f"from fairmark.trainers import verifiers\ngrade = verifiers.reward({grader!r})\n"
    )
    sys.path.insert(0, str(folder))
    by_import = vf.TaskConfig.model_validate({"rewards": {"quality": {"fn": "my_rewards:grade", "weight": 3.0}}})
    return {
        "method": scored(asked(grader), ["Paris", "Rome", "fail"]),
        "plugged": scored(Bare(DATA, by_import), ["Paris", "fail"]),
        "bad_luck": scored(asked(grader), ["Paris", "loop", "die"]),
        "answers": answers_seen(grader),
        "many": len({json.dumps(row) for row in scored(asked(grader), ["Paris"] * 64)}),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
