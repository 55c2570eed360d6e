"""When a model that does not answer is given up for a run: thousands of rows that wait minutes each would be days."""

import time

FAILURES = 10
"""So many rows must have failed: one that is bad, and a long wait for the next one's turn, prove nothing."""


class Silence:
    """What a run has heard of the models that each of its parts asks: its sampling, its criteria. A run that is taken
    up again begins anew."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._since: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._given_up: dict[str, str] = {}

    def given_up(self, part: str) -> str | None:
        """Why rows are not asked about any more by this part; None while they are."""
        return self._given_up.get(part)

    def heard(self, part: str, failure: str | None) -> None:
        """Told what became of a row that they were asked about: `failure`, where no answer can be used."""
        if failure is None:
            self._since.pop(part, None)
            self._failures.pop(part, None)
            self._given_up.pop(part, None)  # one that was asked before, and answers after all
            return
        now = time.monotonic()
        since = self._since.setdefault(part, now)
        failures = self._failures[part] = self._failures.get(part, 0) + 1
        if part not in self._given_up and failures >= FAILURES and now - since >= self._patience_s:
            self._given_up[part] = (
                f"not asked: given up for this run, because in {self._patience_s:g} s and more none of {failures} rows "
                f"got an answer. The last: {failure}"
            )
