"""A grader that replaces what its runner is made with: it is graded as ever, or found out at once, and never holds its
slot until its time is up."""

import asyncio

import pytest

from fairmark.sandbox.base import MB, Limits, Outcome
from fairmark.sandbox.pool import RunnerPool
from tests.sandbox.pools import grade, opened, program

LIMITS = Limits(wall_s=100.0, memory_bytes=256 * MB, disk_bytes=16 * MB, cpus=1)
REPLACED = {
    "len": "builtins.len = lambda value: 1000",
    "len that raises": "builtins.len = None",
    "min": "builtins.min = lambda *values: 1 << 40",
    "memoryview": "builtins.memoryview = lambda value: b''",
    "isinstance": "builtins.isinstance = lambda value, kind: False",
    "type": "builtins.type = lambda value: None",
    "BaseException": "builtins.BaseException = KeyError",
    "float": "builtins.float = lambda value: None",
    "all builtins": "for name in NAMES:\n        SET(builtins, name, None)",
    "json.dumps": "json.dumps = lambda value: '{'",
    "json.loads": "json.loads = lambda text: []",
    "the default encoder": "json.JSONEncoder.encode = json.JSONEncoder.iterencode = lambda *given, **more: ''",
    "the default decoder": "json._default_decoder = None\n    json.JSONDecoder.decode = lambda *given: []",
    "json's strings": "json.encoder.encode_basestring_ascii = lambda text: ''",
    "os.write": "os.write = lambda channel, data: len(data)",
    "os.write that does nothing": "os.write = lambda channel, data: 0",
    "os.read": "os.read = lambda channel, size: b'    '",
    "os._exit": "os._exit = lambda code: None",
    "math.isfinite": "math.isfinite = lambda value: False",
    "numbers.Real": "numbers.Real = str",
    "traceback": "traceback.extract_tb = traceback.format_exception_only = None",
    "sys.stdout": "sys.stdout = sys.stderr = None",
    "all modules": "sys.modules.clear()",
}
SOURCE = """
import builtins, json, json.encoder, math, numbers, os, sys, traceback
NAMES, SET = list(vars(builtins)), setattr
def replace():
    {replace}
{when}
def grade(sample, item):
    replace()
    return item["n"] / 4
"""


@pytest.mark.parametrize("when", ["replace()", ""], ids=["when it is loaded", "when it grades"])
def test_replaced_names_change_no_reward_and_hold_no_slot(when: str) -> None:
    async def rewards(pool: RunnerPool, replace: str) -> object:
        wanted = program(SOURCE.format(replace=replace, when=when), limits=LIMITS)
        try:
            async with asyncio.timeout(30):
                outcomes = await grade(pool, wanted, *({"n": n} for n in range(1, 4)))
        except TimeoutError:
            return "it holds its slot"
        return [outcome.failure or outcome.reward for outcome in outcomes]

    async def scenario() -> dict[str, object]:
        async with opened(at_once=2 * len(REPLACED)) as pool:
            graded = await asyncio.gather(*(rewards(pool, replace) for replace in REPLACED.values()))
            return dict(zip(REPLACED, graded, strict=True))

    assert asyncio.run(scenario()) == {name: [0.25, 0.5, 0.75] for name in REPLACED}


def test_a_patched_runner_that_ends_is_found_out_at_once() -> None:
    source = "import os\nos._exit = lambda code: None\ndef grade(sample, item):\n    os.close(3)\n    return 1\n"

    async def scenario() -> list[Outcome]:
        async with opened() as pool, asyncio.timeout(30):
            return await grade(pool, program(source, limits=LIMITS))

    assert asyncio.run(scenario()) == [Outcome(failure="died", details="the grader's process ended by itself")]


def test_a_grader_sees_what_it_replaced_itself() -> None:
    source = "import builtins\nbuiltins.len = lambda value: 7\ndef grade(sample, item):\n    return len('') + abs(-1)\n"

    async def scenario() -> list[Outcome]:
        async with opened() as pool:
            return await grade(pool, program(source))

    assert [outcome.reward for outcome in asyncio.run(scenario())] == [8.0]
