"""Remembered results of a function of one string, at the cost of a dictionary lookup."""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Memo(dict[str, Result]):
    """memo[text] is function(text), computed once while it is remembered.

    A full memo forgets everything, which is cheaper than keeping track of what was used last. Texts
    longer than max_length are never remembered, so the memory it takes has a limit.
    """

    def __init__(self, function: Callable[[str], Result], *, max_texts: int, max_length: int) -> None:
        super().__init__()
        self.function = function
        self.max_texts = max_texts
        self.max_length = max_length

    def __missing__(self, text: str) -> Result:
        result = self.function(text)
        if len(text) <= self.max_length:
            if len(self) >= self.max_texts:
                self.clear()
            self[text] = result
        return result
