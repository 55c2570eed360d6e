"""The proof that the sandbox holds on this machine: real attempts to get out, made inside a runner."""

from pathlib import Path

from fairmark import jsontext
from fairmark.sandbox.base import MB, Limits, Program
from fairmark.sandbox.runners import RunnerGone
from fairmark.sandbox.zygotes import CannotIsolate, Zygote

ATTEMPTS = (Path(__file__).parent / "inside" / "attempts.py").read_text()
PROGRAM = Program(
    ATTEMPTS, "python", Limits(wall_s=20.0, memory_bytes=256 * MB, disk_bytes=MB, cpus=1), strict=True, owner="probe"
)


async def prove(zygote: Zygote) -> None:
    """Raises CannotIsolate where an attempt succeeds, or where the runner cannot even try."""
    # A file that everybody outside may read: this one.
    row = jsontext.encode([{}, {"host_file": __file__}])
    try:
        runner = await zygote.spawn(PROGRAM)
        (outcome,) = await runner.grade([row])
        runner.end()
    except RunnerGone as gone:
        raise CannotIsolate(f"The sandbox does not work here: {gone}.") from None
    if outcome.failure is not None:
        raise CannotIsolate(f"The sandbox does not work here: {outcome.details}.")
    if outcome.reward != 0:
        raise CannotIsolate(f"The sandbox leaks on this machine: {outcome.printed.strip()}.")
