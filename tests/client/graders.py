"""Graders that tests of the client keep."""

import re
from typing import Any


async def by_length(thread: "StringThread") -> float:  # type: ignore[name-defined]  # noqa: F821  # the sandbox's
    return float(len(re.sub(r"\s", "", thread.completion())))


async def with_a_helper(thread: "StringThread") -> float:  # type: ignore[name-defined]  # noqa: F821
    return helper(thread)


def helper(thread: Any) -> float:
    return 1.0
