"""On whose behalf something is done."""

import asyncio

from fairmark.work import marks


def test_each_task_has_its_own_and_what_is_not_known_is_left_out() -> None:
    async def work(request: str | None, run: str | None) -> dict[str, str]:
        marks.request_id.set(request)
        marks.run_id.set(run)
        await asyncio.sleep(0)
        return marks.now()

    async def scene() -> list[dict[str, str]]:
        tasks = [asyncio.create_task(work(*pair)) for pair in (("req_1", None), (None, "evalrun_1"), (None, None))]
        return await asyncio.gather(*tasks)

    assert asyncio.run(scene()) == [{"request_id": "req_1"}, {"run_id": "evalrun_1"}, {}]
    assert marks.now() == {}
