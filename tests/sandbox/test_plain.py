"""No sandbox at all: programs run all the same, their deadlines hold, and their processes end with their runners."""

import asyncio
from dataclasses import replace
from pathlib import Path

from fairmark import jsontext
from fairmark.sandbox.base import Limits, Program
from fairmark.sandbox.plain import Plain
from fairmark.sandbox.runners import RunnerGone

LIMITS = Limits(wall_s=30.0, memory_bytes=1 << 28, disk_bytes=1 << 20, cpus=1)
PROGRAM = Program("def grade(sample, item): return item['n'] / 2", "python", LIMITS, strict=False)


def rows(*numbers: int) -> list[bytes]:
    return [jsontext.encode([{}, {"n": number}]) for number in numbers]


def no_image(tag: str) -> Path | None:
    return None


def test_a_program_grades_row_after_row_and_its_process_ends_with_it() -> None:
    async def grade() -> tuple[list[float], int]:
        runner = await Plain(no_image).spawn(PROGRAM)
        outcomes = await runner.grade(rows(1, 2, 3))
        process = runner._process
        runner.end()
        return [outcome.reward for outcome in outcomes], process._process.poll()  # type: ignore[attr-defined]

    rewards, code = asyncio.run(grade())
    assert rewards == [0.5, 1.0, 1.5]
    assert code is not None


def test_the_packages_of_an_image_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "lent.py").write_text("VALUE = 0.25")
    program = replace(PROGRAM, source="import lent\ndef grade(sample, item): return lent.VALUE", image="an-image")

    async def grade() -> float:
        runner = await Plain(lambda tag: tmp_path).spawn(program)
        (outcome,) = await runner.grade(rows(1))
        runner.end()
        return outcome.reward

    assert asyncio.run(grade()) == 0.25


def test_a_grade_without_end_is_ended() -> None:
    endless = replace(PROGRAM, source="def grade(sample, item):\n while True: pass", limits=replace(LIMITS, wall_s=2))

    async def grade() -> str | None:
        runner = await Plain(no_image).spawn(endless)
        try:
            (outcome,) = await runner.grade(rows(1))
        except RunnerGone as gone:
            outcome = gone.outcome
        return outcome.failure

    assert asyncio.run(grade()) == "timeout"
