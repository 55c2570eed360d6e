"""What goes wrong at the double, and when. All are off unless switched on, and may be switched meanwhile."""

import re
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["429", "500", "cut", "html", "hang", "drip", "401"]


@dataclass
class Faults:
    """`*_every`: each so-many-th request meets it, whatever it asks for. `*_at`: a pattern of paths that always do."""

    too_many_every: int = 0
    """429, with `retry-after-ms`, `retry-after` and `x-ratelimit-*`."""
    error_every: int = 0
    """500, in the middle of whatever list it is."""
    cut_every: int = 0
    """Half of the body, and the connection is closed."""
    html_every: int = 0
    """200, and a page for people instead of JSON."""
    error_at: str = ""
    error_once_at: str = ""
    """500 the first time that each path is asked for."""
    refused_at: str = ""
    """403: a key that may not do everything."""
    absent_at: str = ""
    hang_at: str = ""
    """No answer at all, until the client goes."""
    drip_at: str = ""
    """A byte a second."""
    largest_page: int = 0
    """500 for runs and output items in pages that are larger."""
    refused_after: int = 0
    """401 from so many requests on: the key has ended."""
    lying_files: frozenset[str] = frozenset()
    """Files whose `bytes` is not their size."""
    broken_objects: frozenset[str] = frozenset()
    """Ids: a page on which one of them would be is a 500."""
    most_files: int = 10_000
    """How large a page of files may be."""
    slow_s: float = 0.0
    """How long every answer takes."""
    retry_after_ms: int = 5
    asked: int = 0
    """How many requests there were."""
    _met: set[str] = field(default_factory=set)

    def of(self, path: str, page: int | None) -> Fault | int | None:
        """What this request meets: the name of a fault, or the status of an error."""
        self.asked += 1
        if self.refused_after and self.asked > self.refused_after:
            return 401
        for pattern, fault in (
            (self.refused_at, 403),
            (self.absent_at, 404),
            (self.error_at, 500),
            (self.hang_at, "hang"),
            (self.drip_at, "drip"),
        ):
            if pattern and re.search(pattern, path):
                return fault  # type: ignore[return-value]
        if self.error_once_at and re.search(self.error_once_at, path) and path not in self._met:
            self._met.add(path)
            return 500
        if self.largest_page and page is not None and page > self.largest_page and re.search("runs|output_items", path):
            return 500
        for every, fault in (
            (self.too_many_every, 429),
            (self.error_every, 500),
            (self.cut_every, "cut"),
            (self.html_every, "html"),
        ):
            if every and self.asked % every == 0:
                return fault  # type: ignore[return-value]
        return None
