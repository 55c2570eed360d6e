"""Rows under way, of all runs together."""

import asyncio

from fairmark.evals.flight import Flight, RunShare


async def enter(share: RunShare, most: int = 1000) -> int:
    """How many chunks go in before one has to wait."""
    entered = 0
    while entered < most:
        entering = asyncio.ensure_future(share.enter())
        await asyncio.sleep(0)
        if not entering.done():
            entering.cancel()
            await asyncio.wait([entering])
            break
        entered += 1
    return entered


def test_a_run_has_rows_to_itself_and_more_out_of_what_all_share_up_to_a_limit() -> None:
    async def scenario() -> None:
        flight = Flight(shared=100, own=10, most=60)
        assert await enter(flight.share("a", 1)) == 60
        assert await enter(flight.share("a", 1)) == 60
        assert await enter(flight.share("b", 1)) == 10  # all that is shared is held, and still it has its own
        assert await enter(flight.share("b", 64)) == 4  # however large the chunks are

    asyncio.run(scenario())


def test_what_is_given_back_goes_to_the_project_that_has_the_least() -> None:
    async def scenario() -> None:
        flight = Flight(shared=20, own=4, most=100)
        greedy, also_greedy, late = flight.share("a", 1), flight.share("a", 1), flight.share("b", 1)
        assert await enter(greedy) == 24
        assert await enter(also_greedy) == 4
        assert await enter(late) == 4
        order: list[str] = []

        async def go(name: str, share: RunShare) -> None:
            await share.enter()
            order.append(name)

        waiting = [asyncio.ensure_future(go(name, share)) for name, share in (("a", also_greedy), ("b", late))]
        await asyncio.sleep(0)
        greedy.leave()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == ["b"]
        greedy.leave()
        await asyncio.gather(*waiting)
        assert order == ["b", "a"]

    asyncio.run(scenario())


def test_a_run_that_waits_goes_on_when_one_of_its_own_is_done() -> None:
    async def scenario() -> None:
        share = Flight(shared=0, own=4, most=100).share("a", 1)
        assert await enter(share) == 4
        waiting = asyncio.ensure_future(share.enter())
        await asyncio.sleep(0)
        assert not waiting.done()
        share.leave()
        await waiting
        assert await enter(share) == 0

    asyncio.run(scenario())


def test_all_is_given_back_whatever_the_order() -> None:
    async def scenario() -> None:
        flight = Flight(shared=50, own=5, most=40)
        shares = [flight.share(project, rows) for project, rows in (("a", 1), ("b", 2), ("c", 1))]
        for _ in range(3):
            entered = [(share, await enter(share)) for share in shares]
            assert sum(count for _, count in entered) > 15
            for share, count in reversed(entered):
                for _ in range(count):
                    share.leave()
        assert await enter(flight.share("d", 1)) == 40

    asyncio.run(scenario())
