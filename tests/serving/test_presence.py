"""Work that ends when nobody waits for it any more."""

import asyncio
from typing import Any

import pytest

from fairmark.serving.presence import unless_gone
from fairmark.serving.wire import ClientGone


async def stays() -> Any:
    await asyncio.Event().wait()


async def goes() -> Any:
    return {"type": "http.disconnect"}


def test_who_stays_gets_the_value_or_what_was_raised() -> None:
    async def value() -> int:
        await asyncio.sleep(0)
        return 7

    async def failing() -> int:
        raise ValueError("no")

    assert asyncio.run(unless_gone(stays, value())) == 7
    with pytest.raises(ValueError, match="no"):
        asyncio.run(unless_gone(stays, failing()))


def test_the_work_for_one_who_goes_is_ended_before_it_is_told() -> None:
    ended: list[str] = []

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("yes")

    with pytest.raises(ClientGone):
        asyncio.run(unless_gone(goes, long()))
    assert ended == ["yes"]
