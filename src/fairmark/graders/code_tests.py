"""code_tests: run the code of an answer against tests in the sandbox. The reward is the share that it passes.

The tests run in a process of their own, the answer in another. The answer's functions are called from there as if they
were the tests' own, but only plain values come back: whatever the answer does to its own process, it can make no test
pass but by giving the right value.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, SandboxFailed
from fairmark.graders.fences import blocks
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.sandbox import look
from fairmark.sandbox.base import Limits, Outcome, Program, Talk, Talker
from fairmark.sandbox.catalogue import DEFAULT_TAG
from fairmark.spec import GraderSpec, Number
from fairmark.text.template import Template

SLICE = 60_000
MOST_SLICES = 200
MOST_TESTS = 1_000
MOST_EXCHANGES = 100_000
TOLD = 5
"""How many tests that failed are told."""
_BOTH = frozenset({"json", "queue", "decimal", "fractions", "unittest"})
"""What both programs import, so that they start from one zygote that has it."""
_PYTHON = ("python", "py", "python3")


def _seconds(value: float) -> float:
    if not 0 < value <= 600:
        raise InvalidGrader.at("", f"found {value:g}. It takes seconds, above 0 and up to 600.")
    return value


class CodeTests(GraderSpec):
    """Run the code of an answer against tests in the sandbox; the reward is the share that it passes."""

    type: Literal["code_tests"]
    input: Template
    tests: Template
    entry_point: Template | None = None
    setup: Template | None = None
    timeout_s: Annotated[Number, AfterValidator(_seconds), Field()] = 10.0
    partial: Annotated[bool, Strict()] = True
    in_place: Annotated[bool, Strict()] = False

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """All tests, where nobody said."""
        return 1.0 if self.pass_threshold is None else self.pass_threshold

    @property
    def code(self) -> tuple[str, str | None]:
        return _program("examiner"), DEFAULT_TAG


@cache
def _program(name: str) -> str:
    """A program as one text: what it shares with the other stands above it, and is not imported."""
    folder = Path(__file__).with_name("programs")
    own = (folder / f"{name}.py").read_text()
    lines = own.splitlines(keepends=True)
    return (folder / "wire.py").read_text() + "".join(line for line in lines if not line.startswith("from fairmark"))


async def grade_many(spec: CodeTests, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    policy = ctx.sandbox.policy
    if policy.warning is not None:
        for row in rows:
            row.warn(policy.warning)
    return list(await asyncio.gather(*(_grade(spec, row, ctx, policy.python) for row in rows)))


async def _grade(spec: CodeTests, row: Row, ctx: Context, limits: Limits) -> Grade:
    try:
        examination = _Examination(spec, _order(spec, row), _code(spec, row), limits, ctx.owner)
        return await ctx.sandbox.converse(ctx.owner, examination.hold)
    except GradingFailed as failure:
        return Grade.failed(failure)


def _order(spec: CodeTests, row: Row) -> dict[str, Any]:
    text = spec.tests.render(row)
    tests: Any = text
    if text.lstrip().startswith("["):
        try:
            tests = jsontext.decode(text)
        except jsontext.NotJson:
            pass  # Python that begins with a list
    if not text.strip() or tests == []:
        raise GradingFailed("tests: expected Python or a list of tests, found nothing.")
    name = None if spec.entry_point is None else spec.entry_point.render(row).strip()
    if name is not None and not name.isidentifier():
        raise GradingFailed(f"entry_point: expected the name of a function, found {jsontext.quote(name)}.")
    setup = "" if spec.setup is None else spec.setup.render(row)
    return {"tests": tests, "setup": setup, "entry_point": name, "in_place": spec.in_place}


def _code(spec: CodeTests, row: Row) -> str:
    """The answer's code, with the setup before it: the last block of Python, the last that defines the entry point
    where one is named; of blocks without a language where none has one; the whole text where there is no block."""
    text = spec.input.render(row)
    fenced = blocks(text)
    python = [block.text for block in fenced if block.language in _PYTHON]
    plain = [block.text for block in fenced if not block.language]
    codes = python or plain or [block.text for block in fenced] or [text]
    name = None if spec.entry_point is None else re.escape(spec.entry_point.render(row).strip())
    defining = [
        code for code in codes if name and re.search(rf"^\s*(?:async\s+)?(?:def|class)\s+{name}\b", code, re.MULTILINE)
    ]
    code = look.dedent((defining or codes)[-1])
    return code if spec.setup is None else f"{spec.setup.render(row)}\n{code}"


@dataclass
class _Examination:
    """One answer and its tests, in a conversation of two processes."""

    spec: CodeTests
    order: Mapping[str, Any]
    code: str
    limits: Limits
    owner: str
    names: list[str] = field(default_factory=list)
    verdicts: list[str | None] = field(default_factory=list)
    """Of the tests that are done: None where it passed, else why not."""

    async def hold(self, talk: Talk) -> Grade:
        self._until = monotonic() + self.limits.wall_s
        self._test_until = 0.0
        self._talk = talk
        examiner = await self._start("examiner", f"{self.order['setup']}\n{self.order['tests']}")
        said = _read(await self._say(examiner, _message("order", self.order)))
        if "why" in said:
            raise GradingFailed(f"tests: {said['why']}.")
        self.names = said["names"]
        if len(self.names) > MOST_TESTS:
            raise GradingFailed(f"tests: found {len(self.names):,}; at most {MOST_TESTS:,} are run.")
        await self._examine(examiner)
        return self._grade()

    async def _examine(self, examiner: Talker) -> None:
        """Pass messages on until all tests are done, or the time is up."""
        candidate = await self._load()
        self._begin_test()
        message = go = _message("go", {})
        for _ in range(MOST_EXCHANGES):
            said = await self._say(examiner, message)
            operation = _operation(said)
            if operation == "verdict":
                self.verdicts.append(_read(said)["why"])
                self._begin_test()
                message = go
                if monotonic() > self._until:
                    return
            elif operation == "end":
                return
            elif isinstance(candidate, str):
                message = _gone(candidate)
            else:
                message = await self._ask_candidate(candidate, said)
                if _operation(message) == "gone":
                    candidate = await self._load()

    def _begin_test(self) -> None:
        self._test_until = min(self._until, monotonic() + self.spec.timeout_s)

    async def _start(self, name: str, source: str) -> Talker:
        try:
            packages = look.packages(look.parse(source), DEFAULT_TAG)
        except SyntaxError:
            packages = frozenset()
        program = Program(_program(name), "python", self.limits, True, DEFAULT_TAG, packages | _BOTH, self.owner)
        talker = await self._talk.start(program)
        if isinstance(talker, Outcome):
            raise SandboxFailed(talker.failure or "sandbox", talker.details)
        return talker

    async def _load(self) -> Talker | str:
        """A process with the answer's code loaded, or why it does not load."""
        candidate = await self._start("candidate", self.code)
        tests = self.order["tests"]
        runs = not isinstance(tests, list) or any(not isinstance(test, dict) or "input" not in test for test in tests)
        self._begin_test()
        said = await self._ask_candidate(candidate, _message("load", {"code": self.code, "runs": runs}))
        return candidate if _operation(said) == "ready" else str(_read(said).get("why"))

    async def _ask_candidate(self, candidate: Talker, message: str) -> str:
        """What the answer's process says. It may say anything, and end at any moment; then it is gone."""
        try:
            return await _exchange(candidate, message, self._test_until)
        except _Ended as ended:
            candidate.end()
            return _gone(f"it took longer than {self.spec.timeout_s:g} s" if ended.reason == "timeout" else ended.why)

    async def _say(self, examiner: Talker, message: str) -> str:
        try:
            # The tests may have to wait for nothing but themselves; a little more than their answer gets.
            return await _exchange(examiner, message, max(self._test_until, monotonic()) + self.spec.timeout_s)
        except _Ended as ended:
            raise SandboxFailed(ended.reason, f"the tests themselves did not end well: {ended.why}") from None

    def _grade(self) -> Grade:
        passed = sum(why is None for why in self.verdicts)
        total = len(self.names)
        failed = [f"{name}: {why}" for name, why in zip(self.names, self.verdicts, strict=False) if why is not None]
        lines = [f"passed {passed} of {total}", *failed[:TOLD]]
        if len(failed) > TOLD:
            lines.append(f"and {len(failed) - TOLD} more")
        if len(self.verdicts) < total:
            lines.append(f"not run within {self.limits.wall_s:g} s: {total - len(self.verdicts)}")
        reward = passed / total if self.spec.partial else float(passed == total)
        return Grade(reward, printed="\n".join(lines))


class _Ended(Exception):
    """A process ended, or said too much."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why


def _message(operation: str, content: Mapping[str, Any]) -> str:
    return f"{operation}\n{json.dumps({'op': operation, **content})}"


def _gone(why: str) -> str:
    return _message("gone", {"why": why})


def _operation(message: str) -> str:
    """What a message is about. The rest, which may be long, is passed on unread."""
    return message[:20].partition("\n")[0]


def _read(message: str) -> dict[str, Any]:
    try:
        value = json.loads(message.partition("\n")[2])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _exchange(talker: Talker, text: str, until: float) -> str:
    """Tell a process something and hear what it says, both in slices."""
    slices = [text[start : start + SLICE] for start in range(0, len(text), SLICE)]
    outcome = Outcome()
    for index, part in enumerate(slices):
        outcome = await _ask(talker, [part, index < len(slices) - 1], until)
    said = [outcome.printed]
    while outcome.reward > 0:
        if len(said) >= MOST_SLICES:
            raise _Ended("died", f"a value is longer than {SLICE * MOST_SLICES:,} characters")
        outcome = await _ask(talker, [None, False], until)
        said.append(outcome.printed)
    return "".join(said)


async def _ask(talker: Talker, row: Sequence[Any], until: float) -> Outcome:
    limit_s = until - monotonic()
    outcome = await talker.ask(row, limit_s) if limit_s > 0 else Outcome(failure="timeout", details="it took too long")
    if outcome.failure is not None:
        raise _Ended(outcome.failure, outcome.details)
    return outcome
