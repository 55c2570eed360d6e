"""binary_judge: a judge decides whether a reply meets a criterion. The reward is 1.0 or 0.0."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainSerializer, PlainValidator

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import InvalidGrader, NotAnAnswer, Problem
from fairmark.graders.judging import PanelGrader, Reading, grade_by_judges, result_of, steps_of
from fairmark.graders.threads import OTHER_NAMES, chat, completion_of, own, prompt
from fairmark.result import Grade
from fairmark.row import Row, content_text
from fairmark.text.handlebars import Handlebars, Own
from fairmark.text.messages import Fence
from fairmark.text.thread import Thread, thread_of

VARIABLES = (
    "completion",
    "last_user_turn_content",
    "context_str",
    "context_str_without_last_user",
    "turns",
    "context_turns",
    "context_turns_without_last_user",
    "metadata",
    "output_schema",
    "template_variables",
    "criteria",
    "examples",
)
"""What a template may use, besides the grader's own `template_variables`."""
_ROLES = {role: Own(role) for role in ("system", "developer", "user", "assistant", "tool", "document")}

SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "score": {"type": "string", "enum": ["PASS", "FAIL", "NA"]}},
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}
_SPELLINGS = {"pass": "PASS", "passed": "PASS", "fail": "FAIL", "failed": "FAIL"} | dict.fromkeys(
    ("na", "n/a", "not applicable"), "NA"
)


@dataclass(frozen=True, slots=True)
class VerdictShape:
    """PASS, FAIL or NA, without regard to case, and why."""

    schema: Mapping[str, Any]
    name: str = "verdict"

    def read(self, value: Any) -> dict[str, Any]:
        result = result_of(value)
        verdict = self._verdict(result)
        if verdict is None:
            shown = jsontext.quote(result) if isinstance(result, str) else jsontext.describe(result)
            raise NotAnAnswer(f"the score is {shown}, not one of: PASS, FAIL, NA")
        reasoning = value.get("reasoning")
        if not isinstance(reasoning, str):
            reasoning = "\n".join(step["description"] for step in steps_of(value))
        return self._canonical(reasoning, verdict)

    def read_bare(self, text: str) -> dict[str, Any] | None:
        verdict = self._verdict(text)
        return None if verdict is None else self._canonical("", verdict)

    @staticmethod
    def _verdict(word: Any) -> str | None:
        return _SPELLINGS.get(word.strip().casefold()) if isinstance(word, str) else None

    @staticmethod
    def _canonical(reasoning: str, verdict: str) -> dict[str, Any]:
        steps = [{"description": reasoning, "conclusion": verdict}] if reasoning else []
        return {"steps": steps, "result": verdict, "reasoning": reasoning}


SHAPE = VerdictShape(SCHEMA)


def _read_criteria(criteria: Any) -> str:
    if not isinstance(criteria, str) or not criteria.strip():
        shown = jsontext.describe(criteria)
        code = "invalid_value" if isinstance(criteria, str) else "invalid_type"
        raise InvalidGrader.at("", f"found {shown}. It takes a string: what makes a reply pass.", code)
    return criteria


def _read_examples(examples: Any) -> tuple[dict[str, Any], ...]:
    if examples is None:
        return ()
    if not isinstance(examples, (list, tuple)):
        raise InvalidGrader.at("", f"found {jsontext.describe(examples)}. {_EXAMPLES}", "invalid_type")
    problems = [
        problem.below(f"[{index}]") for index, example in enumerate(examples) for problem in _wrong_example(example)
    ]
    if problems:
        raise InvalidGrader(problems)
    return tuple(dict(example) for example in examples)


_EXAMPLE: dict[str, tuple[type | tuple[type, ...], str]] = {
    "input": ((list, tuple), "a list of messages"),
    "output": (str, "a string"),
    "passes": (bool, "true or false"),
    "reasoning": (str, "a string"),
}
_EXAMPLES = 'It takes a list of examples: {"input": [messages], "output": "…", "passes": true, "reasoning": "…"}.'


def _wrong_example(example: Any) -> Iterator[Problem]:
    if not isinstance(example, Mapping):
        yield Problem("", f"found {jsontext.describe(example)}. An example is an object.", "invalid_type")
        return
    for name, (kind, words) in _EXAMPLE.items():
        value = example.get(name)
        if value is None:
            if name != "reasoning":
                yield Problem(f".{name}", f"missing. It takes {words}.", "missing_required_parameter")
        elif not isinstance(value, kind):
            yield Problem(f".{name}", f"found {jsontext.describe(value)}. It takes {words}.", "invalid_type")
    turns = example.get("input")
    for index, turn in enumerate(turns if isinstance(turns, (list, tuple)) else ()):
        if not isinstance(turn, Mapping) or not isinstance(turn.get("role"), str) or "content" not in turn:
            message = 'A message is an object with role and content: {"role": "user", "content": "…"}.'
            yield Problem(f".input[{index}]", f"found {jsontext.describe(turn)}. {message}")


def _read_variables(variables: Any) -> dict[str, Any]:
    if variables is None:
        return {}
    if not isinstance(variables, Mapping):
        raise InvalidGrader.at("", f"found {jsontext.describe(variables)}. It takes an object.", "invalid_type")
    return dict(variables)


class BinaryJudge(PanelGrader):
    """Ask a judge model whether a reply meets a criterion; the reward is 1 or 0."""

    other_names: ClassVar[dict[str, str]] = OTHER_NAMES

    type: Literal["binary_judge"]
    criteria: Annotated[str, PlainValidator(_read_criteria)]
    examples: Annotated[Sequence[Mapping[str, Any]], PlainValidator(_read_examples), PlainSerializer(list)] = ()
    system_template: Handlebars | None = None
    user_template: Handlebars | None = None
    template_variables: Annotated[Mapping[str, Any], PlainValidator(_read_variables)] = {}

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        if self.pass_threshold is not None:
            return self.pass_threshold
        # A mean of several answers and an expectation lie between 0 and 1; everything else is 0 or 1.
        return 0.5 if self.combine == "mean" or self.logprobs else 1.0

    @property
    def worth(self) -> Mapping[str, float]:
        return {"PASS": 1.0, "FAIL": 0.0}

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        yield from super().cross_check(fields)
        if fields.get("logprobs") == "letters":
            yield Problem(".logprobs", "letters are for labels of one's own. It takes true or false.")

    @property
    def sampling(self) -> dict[str, Any]:
        return {"temperature": 0, **super().sampling}

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The variables that are the same for every row."""
        variables = own(dict(self.template_variables))
        schema = Own(jsontext.write(SCHEMA))
        values = {"criteria": Own(self.criteria), "examples": [own(_shown(example)) for example in self.examples]}
        return {"output_schema": schema, "template_variables": {**values, **variables}, **values, **variables}

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        system = self.system_template or prompt("binary_judge.system")
        user = self.user_template or prompt("binary_judge.user")
        return chat(system, user, {**_variables(thread_of(row)), **self.constants}, fence)

    def quoted(self, row: Row) -> list[str]:
        thread = thread_of(row)
        texts = [content for _, content in thread.turns]
        # What is nested without end was not printed either.
        is_endless = jsontext.deeper_than(thread.metadata, jsontext.MAX_DEPTH)
        return texts if is_endless else [*texts, jsontext.write(thread.metadata)]

    def warnings(self) -> Iterator[str]:
        yield from super().warnings()
        known = {*VARIABLES, *self.template_variables}
        for name in ("system_template", "user_template"):
            template: Handlebars | None = getattr(self, name)
            if template is None:
                continue
            for variable in sorted(template.names - known):
                yield (
                    f"$.{name}: there is no variable {jsontext.quote(variable)}, so that nothing stands in its place. "
                    f"There is: {', '.join(sorted(known))}."
                )


def _variables(thread: Thread) -> dict[str, Any]:
    completion = completion_of(thread)
    before = thread.history if thread.last_user is None else thread.history[: thread.last_user]
    values: dict[str, Any] = {
        "completion": completion,
        "context_str": _written(thread.history),
        "context_str_without_last_user": _written(before),
        "turns": _turns(thread.turns),
        "context_turns": _turns(thread.history),
        "context_turns_without_last_user": _turns(before),
        "metadata": thread.metadata,
    }
    if thread.question is not None:
        values["last_user_turn_content"] = thread.question
    return values


def _turns(turns: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": _ROLES.get(role, role), "content": content} for role, content in turns]


def _written(turns: Sequence[tuple[str, str]]) -> str:
    return "\n\n".join(f"[{role}]\n{content}" for role, content in turns)


def _shown(example: Mapping[str, Any]) -> dict[str, Any]:
    """An example as templates see it."""
    turns = [(turn["role"], _content(turn["content"])) for turn in example["input"]]
    reasoning = example.get("reasoning") or ""
    verdict = {"reasoning": reasoning, "score": "PASS" if example["passes"] else "FAIL"}
    return {
        "input": _turns(turns),
        "context_str": "\n\n".join(f"{role}:\n{content}" for role, content in turns[:-1]),
        "user_question": turns[-1][1] if turns else "",
        "completion": example["output"],
        "output": example["output"],
        "passes": example["passes"],
        "reasoning": reasoning,
        "output_json": jsontext.write(verdict),
    }


def _content(value: Any) -> str:
    content = content_text(value)
    return content if isinstance(content, str) else jsontext.write(content)


def _read(value: Mapping[str, Any]) -> Reading:
    verdict, reasoning = value["result"], value["reasoning"]
    if verdict != "NA":
        return Reading(float(verdict == "PASS"), verdict)
    reason = f"the judge says that the criterion does not apply: {reasoning}".removesuffix(": ")
    return Reading(0.0, verdict, left_out=reason)


async def grade_many(spec: BinaryJudge, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    return await grade_by_judges(spec, SHAPE, _read, rows, ctx)
