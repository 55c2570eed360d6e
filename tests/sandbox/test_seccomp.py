"""What a runner may ask of the system: its filter is on, and it has no privileges."""

import asyncio
from pathlib import Path

from tests.sandbox.pools import opened, program, rewards, runners_of
from tests.sandbox.sources import COUNTS


def test_a_runner_has_no_privileges_and_its_filter_is_on() -> None:
    """Layers that other layers hide from an attacker are looked at from outside."""

    async def run() -> dict[str, str]:
        async with opened() as pool:
            assert await rewards(pool, program(COUNTS), {}) == [1.0]
            (pid,) = await runners_of(pool)
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    status = asyncio.run(run())
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
    assert "0" not in status["Uid"].split() + status["Gid"].split()
    assert status["NSpid"].split()[-1] == "1"
