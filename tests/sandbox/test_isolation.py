"""Who shares what: nothing of one grader reaches another, and nothing of one row reaches another where code is run."""

import asyncio
import os
from pathlib import Path

import pytest

import fairmark
from fairmark.graders import code
from fairmark.sandbox import zygotes
from fairmark.sandbox.base import Outcome, Policy
from tests.sandbox.pools import grade, opened, program, rewards, runners_of, zygote_of
from tests.sandbox.sources import COUNTS

SPOILS = """
import builtins, json, math, os
def grade(sample, item):
    math.pi, builtins.sum, os.path.join = 3, lambda values: 42, None
    json.JSONEncoder.default = None
    return 1.0
"""

LOOKS = """
import math, os
def grade(sample, item):
    return float(math.pi == 3) + float(sum([]) == 42) + float(os.path.join is None)
"""

BOTH = SPOILS.replace(
    "    math.pi", "    spoilt = math.pi == 3 or sum([]) == 42 or os.path.join is None\n    math.pi"
).replace("return 1.0", "return float(spoilt)")


def test_a_patched_standard_library_is_not_seen_by_another_grader() -> None:
    async def run() -> tuple[list[float], list[float]]:
        async with opened() as pool:
            return await rewards(pool, program(SPOILS), {}), await rewards(pool, program(LOOKS), {})

    assert asyncio.run(run()) == ([1.0], [0.0])


def test_a_patched_standard_library_is_not_seen_by_another_row_of_a_strict_grader() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            return await rewards(pool, program(BOTH, strict=True), *[{}] * 8)

    assert asyncio.run(run()) == [0.0] * 8


def test_a_grader_that_is_not_strict_keeps_its_state_from_row_to_row_and_call_to_call() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            return await rewards(pool, program(COUNTS), {}, {}) + await rewards(pool, program(COUNTS), {})

    assert asyncio.run(run()) == [1.0, 2.0, 3.0]


def test_a_strict_grader_has_no_state() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            return await rewards(pool, program(COUNTS, strict=True), {}, {}) + await rewards(
                pool, program(COUNTS, strict=True)
            )

    assert asyncio.run(run()) == [1.0, 1.0, 1.0]


def test_owners_of_the_same_source_never_share_a_process() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            counted = []
            for owner in ("a", "b", "a", "b", ""):
                counted += await rewards(pool, program(COUNTS, owner=owner), {})
            return counted

    assert asyncio.run(run()) == [1.0, 1.0, 2.0, 2.0, 1.0]


WRITES = """
def grade(sample, item):
    with open("/tmp/notes", "a") as file:
        file.write("x")
    return float(len(open("/tmp/notes").read()))
"""

READS = """
import os
def grade(sample, item):
    return float(len(os.listdir("/tmp")))
"""


def test_files_of_a_grader_are_not_seen_by_others() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            return [
                *await rewards(pool, program(WRITES), {}, {}),
                *await rewards(pool, program(READS), {}),
                *await rewards(pool, program(READS, strict=True), {}),
                *await rewards(pool, program(WRITES, owner="other"), {}),
            ]

    assert asyncio.run(run()) == [1.0, 2.0, 0.0, 0.0, 1.0]


def test_files_of_a_row_are_not_seen_by_the_next_where_the_grader_is_strict() -> None:
    async def run() -> list[float]:
        async with opened() as pool:
            return await rewards(pool, program(WRITES, strict=True), {}, {}, {})

    assert asyncio.run(run()) == [1.0, 1.0, 1.0]


def test_a_runner_with_a_thread_left_running_does_not_grade_again() -> None:
    source = "import threading, time\n" + COUNTS.replace(
        "return n", "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n    return n"
    )

    async def run() -> list[float]:
        async with opened() as pool:
            return await rewards(pool, program(source), {}) + await rewards(pool, program(source), {})

    assert asyncio.run(run()) == [1.0, 1.0]


def test_a_runner_that_said_more_than_it_was_asked_does_not_grade_again() -> None:
    source = COUNTS.replace(
        "return n",
        "import os, signal\n    signal.signal(14, lambda *_: os.write(3, b'more'))\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.05)\n    return n",
    )

    async def run() -> list[float]:
        async with opened() as pool:
            first = await rewards(pool, program(source), {})
            await asyncio.sleep(0.5)
            return first + await rewards(pool, program(source), {})

    assert asyncio.run(run()) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("line", "strict"),
    [
        ("return 1.0", False),
        ("import math\nreturn math.sqrt(4)", False),
        ("import json\nreturn float(json.loads(sample['output_text'])['x'])", False),
        ("import re\nreturn float(bool(re.search('x', sample['output_text'])))", False),
        ("import ast\nreturn float(ast.literal_eval(sample['output_text']))", False),
        ("import yaml\nreturn float(yaml.safe_load(sample['output_text'])['x'])", False),
        ("import numpy as np\nreturn float(np.mean([1, 2]))", False),
        ("evaluation = 1\nreturn float(evaluation)", False),
        ("exec(sample['output_text'])\nreturn 1.0", True),
        ("return float(eval(sample['output_text']))", True),
        ("run = eval\nreturn run('1')", True),
        ("return float(bool(compile(sample['output_text'], 'x', 'exec')))", True),
        ("__import__(item['module'])\nreturn 1.0", True),
        ("import importlib\nimportlib.import_module(item['module'])\nreturn 1.0", True),
        ("from importlib import import_module as get\nget(item['module'])\nreturn 1.0", True),
        ("import importlib.util as u\nreturn 1.0", True),
        ("import runpy\nrunpy.run_path('x')\nreturn 1.0", True),
        ("import pickle\nreturn pickle.loads(b'')", True),
        ("from pickle import loads\nreturn loads(b'')", True),
        ("import marshal\nreturn marshal.loads(b'')", True),
        ("import shelve\nreturn 1.0", True),
        ("import yaml\nreturn yaml.load(sample['output_text'], Loader=yaml.Loader)", True),
        ("import yaml\nreturn yaml.unsafe_load(sample['output_text'])", True),
        ("import numpy as np\nreturn np.load('x', allow_pickle=True)", True),
        ("import pandas as pd\nreturn pd.read_pickle('x')", True),
        ("import pandas as pd\nreturn pd.DataFrame().query(sample['output_text'])", True),
        ("import pandas as pd\nreturn pd.eval(sample['output_text'])", True),
        ("from sympy import sympify\nreturn float(sympify(sample['output_text']))", True),
        ("from sympy.parsing.sympy_parser import parse_expr\nreturn float(parse_expr(sample['output_text']))", True),
        # Every function of sympy evaluates the texts it is given.
        ("from sympy import simplify\nreturn float(simplify(sample['output_text']) == 0)", True),
        ("import sympy as sp\nreturn float(sp.N(sample['output_text']))", True),
        ("import timeit\nreturn timeit.timeit(sample['output_text'])", True),
        ("import doctest\nreturn 1.0", True),
        ("from types import FunctionType\nreturn 1.0", True),
        ("import subprocess\nreturn 1.0", True),
        ("import ctypes\nreturn 1.0", True),
        ("import builtins\nreturn getattr(builtins, 'ev' + 'al')('1')", True),
        ("return getattr(item, 'eval')('1')", True),
        ("return globals()['__builtins__']['ev' + 'al']('1')", True),
        ("return [].__class__.__base__.__subclasses__()[0]", True),
        ("import sys\nreturn sys._getframe().f_back.f_locals['x']", True),
    ],
)
def test_auto_is_strict_exactly_where_the_source_may_run_what_it_is_given(line: str, strict: bool) -> None:
    source = "def grade(sample, item):\n    " + line.replace("\n", "\n    ") + "\n"
    assert code.program(source, "python", None, Policy(), "").strict == strict
    assert code.program(source, "python", None, Policy("per_grade"), "").strict
    assert not code.program(source, "python", None, Policy("per_grader"), "").strict


EXECUTES = """
def grade(sample, item):
    names = {}
    exec(sample["output_text"], names)
    return float(names["answer"] == item["answer"])
"""

FRAME = "text = text.encode(); os.write(3, len(text).to_bytes(4, 'big') + text)"

FORGERS = {
    "a reply with a made-up id": f"""
import json, os
text = json.dumps({{"id": "0" * 16, "reward": 1.0}})
{FRAME}
answer = "wrong"
""",
    "a hundred replies with made-up ids": f"""
import json, os
for number in range(100):
    text = json.dumps({{"id": f"{{number:016x}}", "reward": 1.0}})
    {FRAME}
answer = "wrong"
""",
    "bytes for whoever comes next": "import os\nos.write(3, b'\\0\\0\\0\\2{}')\nanswer = 'wrong'",
}

# These change their own row, which no sandbox can prevent: in one process, who runs code can return what he likes.
REACHERS = {
    "replies for every id in memory": f"""
import gc, json, os, re
found = {{x for o in gc.get_objects() if isinstance(o, (list, tuple)) for x in o
         if isinstance(x, str) and re.fullmatch("[0-9a-f]{{16}}", x)}}
for token in found:
    text = json.dumps({{"id": token, "reward": 1.0}})
    {FRAME}
answer = "wrong"
""",
    "a patched runner": "import sys\nsys.modules['runner'].number = lambda value: 1.0\nanswer = 'wrong'",
    "a thread that waits for the next row": f"""
import json, os, threading, time
def later():
    for _ in range(100):
        time.sleep(0.01)
        text = json.dumps({{"id": "0" * 16, "reward": 1.0}})
        {FRAME}
threading.Thread(target=later, daemon=True).start()
answer = "wrong"
""",
    "a patched standard library": "import json, math\njson.dumps = math.isfinite = None\nanswer = 'right'",
    "an end to everything": "import os\nos._exit(0)",
}

HONEST = {"item": {"answer": "right"}, "sample": "answer = 'right'"}

WRONG = {"item": {"answer": "right"}, "sample": "answer = 'wrong'"}


@pytest.mark.parametrize("output", [*FORGERS.values(), *REACHERS.values()], ids=[*FORGERS, *REACHERS])
def test_code_of_a_model_changes_no_other_row(output: str) -> None:
    forged = {"item": {"answer": "right"}, "sample": output}
    rows = [HONEST, WRONG, forged, WRONG, HONEST, forged, WRONG, HONEST, WRONG]
    results = fairmark.grade_many({"type": "python", "name": "runs it", "source": EXECUTES}, rows)
    others = [result for row, result in zip(rows, results, strict=True) if row is not forged]
    assert [result.reward for result in others] == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    assert [result.error for result in others] == [None] * 7


@pytest.mark.parametrize("output", FORGERS.values(), ids=FORGERS)
def test_a_model_that_does_not_know_its_id_gains_nothing_by_a_forged_reply(output: str) -> None:
    result = fairmark.grade({"type": "python", "name": "runs it", "source": EXECUTES}, output, {"answer": "right"})
    assert result.reward == 0.0
    assert result.errors["python_grader_server_error_type"] == "died"


def test_without_strictness_the_code_of_a_model_does_reach_other_rows() -> None:
    """Why `auto` looks at the source: in a shared process the same forgery works."""

    async def run(strict: bool) -> list[float]:
        async with opened() as pool:
            rows = [
                ({"output_text": REACHERS["a patched runner"]}, {"answer": "right"}),
                ({"output_text": "answer = 'wrong'"}, {"answer": "right"}),
            ]
            return [outcome.reward for outcome in await pool.run(program(EXECUTES, strict=strict), rows)]

    assert asyncio.run(run(strict=False))[1] == 1.0
    assert asyncio.run(run(strict=True))[1] == 0.0


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_printed_is_offered_row_by_row_and_never_mixes_into_results(strict: bool) -> None:
    source = """
import sys
def grade(sample, item):
    print('{"id": "x", "reward": 1}', item["n"])
    print("error", file=sys.stderr)
    sys.__stdout__.write("lost")
    return item["n"]
"""

    async def run() -> list[Outcome]:
        async with opened() as pool:
            return await grade(pool, program(source, strict=strict), *({"n": n} for n in range(5)))

    outcomes = asyncio.run(run())
    assert [outcome.reward for outcome in outcomes] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [outcome.printed for outcome in outcomes] == [f'{{"id": "x", "reward": 1}} {n}\nerror\n' for n in range(5)]


def test_what_is_printed_is_cut_off_at_64_kib_of_text() -> None:
    source = "def grade(sample, item):\n    print('é' * 100_000)\n    print('more')\n    return 0.5\n"
    result = fairmark.grade({"type": "python", "name": "prints", "source": source})
    assert (result.reward, result.printed) == (0.5, "é" * 65_536)


def test_what_was_printed_before_a_failure_is_offered_too() -> None:
    source = "def grade(sample, item):\n    print('before')\n    raise ValueError('no')\n"
    result = fairmark.grade({"type": "python", "name": "prints", "source": source})
    assert (result.reward, result.printed, result.errors["python_grader_runtime_error"]) == (0.0, "before\n", True)


def test_a_runner_shares_no_namespace_with_the_service_and_few_with_its_zygote() -> None:
    """Only root may look at the namespaces of a process that is not to be looked at; for others, what is asked of
    bubblewrap has to do."""

    def namespaces(pid: int | str) -> dict[str, str]:
        kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
        return {kind: str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in kinds}

    async def run() -> tuple[dict[str, str], dict[str, str]]:
        async with opened() as pool:
            assert await rewards(pool, program(COUNTS), {}) == [1.0]
            (pid,) = await runners_of(pool)
            return namespaces(await zygote_of(pool)), namespaces(pid)

    if os.getuid() == 0:
        service, (zygote, runner) = namespaces("self"), asyncio.run(run())
        assert {kind for kind in service if service[kind] == runner[kind]} == set()
        assert {kind for kind in zygote if zygote[kind] == runner[kind]} == {"cgroup", "net", "uts"}
    arguments = zygotes.command(zygotes.Profile(None, frozenset()))
    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--clearenv"} <= set(arguments)
    assert ("--unshare-user" in arguments) == (os.getuid() != 0)
