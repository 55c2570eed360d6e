"""Remembered results for whole texts, whose lengths differ by orders of magnitude."""

from collections.abc import Callable

from fairmark.metrics.memo import Memo, Result


class TextMemo(Memo[Result]):
    """A Memo that also forgets everything when the texts in it would come to more than max_total characters.

    Texts longer than a quarter of that are never remembered.
    """

    def __init__(self, function: Callable[[str], Result], *, max_texts: int, max_total: int) -> None:
        super().__init__(function, max_texts=max_texts, max_length=max_total // 4)
        self.max_total = max_total
        self.total = 0

    def __missing__(self, text: str) -> Result:
        # Threads may lose an addition to the total, never many: the limit is soft by so much.
        if self.total + len(text) > self.max_total or len(self) >= self.max_texts:
            self.clear()
            self.total = 0
        result = super().__missing__(text)
        if len(text) <= self.max_length:
            self.total += len(text)
        return result
