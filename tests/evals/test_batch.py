"""Items that are stored together: each with its outcome, and counters that are what the items say."""

import json
from typing import Any

from fairmark.evals.batch import Batch
from fairmark.evals.criteria import load_criteria
from fairmark.evals.source import SourceRow
from fairmark.judgement import Judgement, Usage
from fairmark.result import Grade, Result
from fairmark.store import Store
from tests.evals.working import EXACT, check_counts
from tests.store.conftest import Place, new_run

UNREADABLE = {"id": "broken-1", "name": "broken", "type": "python", "source": "def grade("}
STORED = [{"id": "exact-1", **EXACT}, {"id": "other-1", **EXACT, "name": "other"}]
CRITERIA = load_criteria(STORED)
NOTHING: dict[str, Any] = {"output": [], "input": []}


def row(position: int) -> SourceRow:
    return SourceRow(position, {"a": str(position)}, None)


def result(reward: float = 1.0, **grade: Any) -> Result:
    spec = CRITERIA[0].spec
    assert spec is not None
    return Result(spec, Grade(reward, **grade), 0.0)


async def batch(store: Store, criteria: Any = CRITERIA) -> Batch:
    return Batch(await new_run(store), criteria)


async def test_the_counters_are_what_the_items_say(in_sqlite: Place) -> None:
    store = await in_sqlite.open()
    made = await batch(store)
    made.add(row(0), [result(), result()], NOTHING)
    made.add(row(1), [result(), result(0.0)], NOTHING)
    made.add(row(2), [result(0.0, error="it broke"), result()], NOTHING)
    made.leave_out(row(3), "no budget", "skip", NOTHING)
    run = await new_run(store)
    assert await store.runs.start(run)
    assert await store.items.add(run, made.items, made.counts)
    stored = await store.runs.get(run.project, run.eval_id, run.id)
    assert stored is not None
    check_counts(stored, [json.loads(item.body) for item in made.items], 4)
    assert [item.status for item in made.items] == ["pass", "fail", "error", "skip"]


async def test_scores_that_count_are_those_that_were_graded(in_sqlite: Place) -> None:
    made = await batch(await in_sqlite.open())
    made.add(row(0), [result(0.75), result(0.5, error="it broke", printed="x")], NOTHING)
    [item] = made.items
    assert [score and tuple(score) for score in item.scores] == [("fail", 0.75), ("error", 0.0)]
    assert item.reasons == ("it broke",)


async def test_a_criterion_that_cannot_grade_fails_every_row(in_sqlite: Place) -> None:
    made = await batch(await in_sqlite.open(), load_criteria([UNREADABLE]))
    made.add(row(0), [None], NOTHING)
    assert (made.items[0].status, made.counts.failed) == ("fail", 1)


async def test_what_judges_took_is_counted_once_and_the_cache_costs_nothing(in_sqlite: Place) -> None:
    asked, remembered = (
        Judgement("m", [], usage=Usage(10, 5, 15), cost=0.25, attempts=attempts) for attempts in (1, 0)
    )
    made = await batch(await in_sqlite.open())
    made.add(row(0), [result(judgements=(asked, remembered)), result()], NOTHING)
    assert (made.counts.cost, list(made.counts.usage.values())) == (0.25, [[1, 10, 5, 15, 0]])
