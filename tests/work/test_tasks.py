"""What is done when a task has ended, however it did."""

import asyncio

from fairmark.work.tasks import LeavingTasks


def test_a_task_is_let_go_however_it_ends() -> None:
    async def look() -> list[str]:
        tasks, gone = LeavingTasks(), list[str]()

        async def work(ends: str) -> None:
            if ends == "raised":
                raise ValueError(ends)
            if ends == "cancelled":
                await asyncio.sleep(3600)

        def begin(name: str) -> "asyncio.Task[None]":
            async def let_go() -> None:
                await asyncio.sleep(0)
                gone.append(name)

            return tasks.begin(work(name), let_go, name)

        begun = [begin(name) for name in ("done", "raised", "cancelled")]
        await asyncio.sleep(0)
        begun[2].cancel()
        never_began = begin("before its first step")
        never_began.cancel()
        await asyncio.gather(*begun, never_began, return_exceptions=True)
        await tasks.left()
        return sorted(gone)

    assert asyncio.run(look()) == ["before its first step", "cancelled", "done", "raised"]
