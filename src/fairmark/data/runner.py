"""Rows through several graders at once, in order, holding only as many rows as are on their way."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import tee
from typing import Any

from fairmark.data.dataset import DataRow
from fairmark.judges.base import Budget, Judge
from fairmark.result import Result
from fairmark.run import grade_stream
from fairmark.spec import GraderSpec


def run(
    rows: Iterable[DataRow],
    graders: Mapping[str, GraderSpec],
    workers: int | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
    judge: Judge | None = None,
    engine: str | None = None,
    address: str = "auto",
    actors: int | None = None,
) -> Iterator[tuple[DataRow, dict[str, Result]]]:
    """Each row with its results by grader label. All graders spend of the one budget, and have the one deadline.

    `engine`, `address`, `actors`: as in `grade_many`.
    """
    own, *copies = tee(rows, len(graders) + 1)
    streams = [
        grade_stream(
            spec,
            map(_parts, copy),
            workers=workers,
            judge=judge,
            budget=budget,
            deadline_s=deadline_s,
            engine=engine,
            address=address,
            actors=actors,
        )
        for spec, copy in zip(graders.values(), copies, strict=True)
    ]
    for row, *results in zip(own, *streams, strict=True):
        yield row, dict(zip(graders, results, strict=True))


def _parts(row: DataRow) -> dict[str, Any]:
    return {"item": row.item, "sample": row.sample}
