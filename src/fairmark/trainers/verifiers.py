"""verifiers and prime-rl: an async reward of a rollout's trace; the same object works in a `Rubric` of old versions.

quality = fairmark.trainers.verifiers.reward("grader.json")

class MyTask(vf.Task):
    @vf.reward(weight=1.0)
    async def quality(self, task, trace): return await quality(task, trace)
"""

from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.run import agrade_many
from fairmark.trainers.chat import divide, plain
from fairmark.trainers.reward import OnError, mean_for_masked
from fairmark.trainers.single import SingleReward

# What a Rubric hands over beside the row's own columns.
_NO_COLUMNS = ("parser", "judge", "judge_client", "judge_model", "judge_prompt", "resources", "runtime")


class VerifiersReward(SingleReward):
    """A failure is raised: the trace then has an error, and is left out of means and training. An old Rubric logs what
    is raised and takes it for 0: there the failure stands in the state, as `fairmark_failed`."""

    errors_become: ClassVar[OnError] = "raise"

    async def __call__(
        self,
        task: Any = None,
        trace: Any = None,
        prompt: Any = None,
        completion: Any = None,
        answer: Any = None,
        state: Any = None,
        info: Any = None,
        **columns: Any,
    ) -> float:
        if trace is not None:
            result = await self.gatherer.agrade(self.row_of_trace(task, trace))
            self._note(trace, result)
        else:
            more = dict(info) if isinstance(info, Mapping) else {}
            more |= {name: value for name, value in columns.items() if name not in _NO_COLUMNS}
            if isinstance(task, Mapping):
                more |= task
            elif isinstance(task, str):
                more["task"] = task
            more = _beside(more, answer)
            result = await self.gatherer.agrade(self.row_of_completion(prompt, completion, more))
            self._mark_state(state, result)
        return self.number(result)

    def row_of_trace(self, task: Any, trace: Any) -> dict[str, Any]:
        """`task`: the task's data, where the trace does not hold it."""
        data = plain(trace.task.data if task is None else getattr(task, "data", task))
        before, sample = divide(trace.messages)
        prompt = data.pop("prompt", None)
        return self.maker.row(before or prompt, _answer_of(trace, sample), data)

    def row_of_completion(self, prompt: Any, completion: Any, columns: dict[str, Any]) -> dict[str, Any]:
        if isinstance(prompt, (list, tuple)):
            prompt = [plain(message) for message in prompt]
        if isinstance(completion, (list, tuple)):
            between, completion = divide(completion)
            prompt = [*prompt, *between] if isinstance(prompt, list) else prompt
        return self.maker.row(prompt, completion, columns)

    def _note(self, trace: Any, result: Result) -> None:
        for name, value in self.row_logs(result).items():
            trace.record_metric(name, value)

    def _mark_state(self, state: Any, result: Result) -> None:
        if isinstance(state, MutableMapping):
            state["fairmark_failed"] = not result.ok
            state["fairmark"] = self.row_logs(result)


class VerifiersGroupReward(VerifiersReward):
    """All rollouts of a prompt, as a Rubric before 0.3 hands them to functions that name several. It has no mask: one
    that failed gets the mean of the others, which shifts nothing, and stands in its state as `fairmark_failed`."""

    errors_become = "mask"
    can_mask = True
    hands_groups = True

    async def __call__(  # type: ignore[override]  # a Rubric looks for the plural names
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        answers: Sequence[Any] = (),
        states: Sequence[Any] = (),
        infos: Sequence[Any] = (),
        **columns: Any,
    ) -> list[float]:
        count = len(completions)
        rows = [
            self.row_of_completion(prompt, completion, _beside(info, answer))
            for prompt, completion, answer, info in zip(
                prompts, completions, answers or [None] * count, infos or [None] * count, strict=True
            )
        ]
        compared = self.together([range(count)], rows)
        results = await agrade_many(
            self.spec, compared, deadline_s=self.options.deadline_s, judge=self.options.judge
        )  # fmt: skip
        rewards = self.rewards(results)
        self.signal.note([rewards])
        for state, result in zip(states, results, strict=False):
            self._mark_state(state, result)
        return mean_for_masked(rewards)


def _answer_of(trace: Any, last_turn: list[dict[str, Any]]) -> Any:
    """What the model answered, as verifiers' own judges see it."""
    reply = getattr(trace, "root_reply", None)
    if reply is not None and (not last_turn or reply != str(last_turn[0].get("content") or "").strip()):
        return reply  # of an agent that has others below it: the turns of one of those stand last
    has_answered = bool(getattr(trace, "assistant_messages", last_turn))
    return last_turn if has_answered else []  # an assistant's turn of the prompt is no answer


def _beside(info: Any, answer: Any) -> dict[str, Any]:
    """A row without an answer has "" for it, which must not stand for one that `info` has, nor be compared with."""
    columns = dict(info) if isinstance(info, Mapping) else {}
    return columns if answer in (None, "") else {**columns, "answer": answer}


def reward(grader: Grader | Path, **options: Any) -> VerifiersReward:
    """A reward for a Task's `@vf.reward` method, for `task.rewards.<name>.fn`, or for `Rubric(funcs=[…])`. Raises
    InvalidGrader before anything is generated."""
    return VerifiersReward(grader, **options)


def group(grader: Grader | Path, **options: Any) -> VerifiersGroupReward:
    """A group function for `Rubric(funcs=[…])` of versions before 0.3: all rollouts of a prompt a call. Raises
    InvalidGrader."""
    return VerifiersGroupReward(grader, **options)
