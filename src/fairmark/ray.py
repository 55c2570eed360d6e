"""For people who are on Ray already: a grader for `map_batches` of Ray Data, and limits that all of a cluster hold.

Nothing here imports Ray before it is used inside it.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairmark import frames, jsontext
from fairmark.cluster import on_ray
from fairmark.errors import InvalidData
from fairmark.parse import Grader
from fairmark.row import UnmadeSample
from fairmark.run import grade_many
from fairmark.trainers.reward import check
from fairmark.trainers.rivals import refuse_one_by_one

__all__ = ["Grade", "share_limits"]


class Grade:
    """Grades batches of rows: `ds.map_batches(Grade, fn_constructor_args=(grader,), concurrency=4, batch_size=1024)`.

    A row's item is the column `item`, a struct or its JSON text; without such a column, all columns but the sample's
    are its fields. What comes out are the columns that went in, and `reward` (NaN where a row was not graded),
    `status`, `error` and `reward.PART` for each part of a multi grader. A row without a sample is not graded: it must
    not look like a bad answer.
    """

    def __init__(
        self, grader: Grader | Path, *, sample: str | None = "sample", item: str = "item", prefix: str = ""
    ) -> None:
        """`sample`: the column of what the model said; None where the grader needs none. `prefix`: before the names of
        the columns that are added, where the data has such columns already. Raises InvalidGrader, also for what this
        machine lacks for the grader."""
        self._spec = check(grader)
        refuse_one_by_one(self._spec)
        self._sample = sample
        self._item = item
        self._prefix = prefix
        self._parts = list(self._spec.children)
        try:
            import ray
        except ModuleNotFoundError:  # tried out without a cluster
            return
        if ray.is_initialized():
            share_limits()

    def __call__(self, batch: Any) -> dict[str, Any]:
        columns = _columns(batch)
        added = ["reward", "status", "error", *(f"reward.{part}" for part in self._parts)]
        self._check(columns, [self._prefix + name for name in added])
        results = grade_many(self._spec, self._rows(columns), workers=1)
        graded: dict[str, list[Any]] = {
            "reward": [result.reward_or(math.nan) for result in results],
            "status": [result.status for result in results],
            "error": [result.error or result.skipped for result in results],
        }
        for part in self._parts:
            graded[f"reward.{part}"] = [result.grade.sub_rewards.get(part, math.nan) for result in results]
        return {**columns, **{self._prefix + name: values for name, values in graded.items()}}

    def _check(self, columns: Mapping[str, Any], added: list[str]) -> None:
        """What would make every row look like a bad answer, or overwrite data, stops the job instead."""
        if self._sample is not None and self._sample not in columns:
            raise InvalidData(
                f"there is no column {self._sample!r}. The data has: {', '.join(columns)}. Name the column of what the "
                "model said: Grade(grader, sample=…), or None where there is none."
            )
        taken = [name for name in added if name in columns]
        if taken:
            raise InvalidData(
                f"the data has a column {taken[0]!r} already. "
                "Have the new ones named otherwise: Grade(grader, prefix=…)."
            )

    def _rows(self, columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
        count = len(next(iter(columns.values()), []))
        samples = [None] * count if self._sample is None else [self._said(sample) for sample in columns[self._sample]]
        if self._item in columns:
            items = [_read(value) for value in columns[self._item]]
        else:
            names = [name for name in columns if name != self._sample]
            items = [{name: columns[name][index] for name in names} for index in range(count)]
        return [{"item": item, "sample": sample} for item, sample in zip(items, samples, strict=True)]

    def _said(self, sample: Any) -> Any:
        return UnmadeSample(f"there is no answer in the column {self._sample}.") if sample is None else sample


def _columns(batch: Any) -> dict[str, list[Any]]:
    """By name, of whatever format Ray Data was told to use."""
    if isinstance(batch, Mapping):
        return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in batch.items()}
    rows = frames.rows_of(batch)
    if rows is None:
        raise InvalidData(f"a batch is a table or columns by name, found {jsontext.describe(batch)}.")
    read = list(rows)
    names = [str(name) for name in getattr(batch, "column_names", None) or batch.columns]
    return {name: [row[name] for row in read] for name in names}


def _read(item: Any) -> Any:
    """JSON text as what it stands for; what is none is told on its row."""
    if not isinstance(item, str):
        return item
    try:
        return jsontext.decode(item)
    except jsontext.NotJson:
        return item


def share_limits() -> None:
    """Has this process, which is one of a Ray cluster, hold the limits of judges together with all others of it that
    called this: requests and tokens a minute, and questions at once. To be called before the first question."""
    on_ray.share_limits()
