"""What a run's criteria made of its rows is in the store, to be sorted, filtered and compared."""

from typing import Any

from fairmark.store import Store, View
from tests.evals.working import EXACT, JUDGE, SAMPLED, Models, new_run, python, rows, worked_off

MISSING = {**EXACT, "name": "missing", "input": "{{ item.absent }}"}
UNCOMPILABLE = {"type": "python", "name": "broken", "source": "def grade(sample item)"}


async def outcomes(store: Store, *criteria: dict[str, Any]) -> list[dict[str, list[int]]]:
    """Of each criterion, which rows had which outcome."""
    run = await new_run(store, criteria, rows(4))
    await worked_off(store, run)
    found = []
    for index in range(len(criteria)):
        by_outcome = {}
        for outcome in ("pass", "fail", "error", "skip"):
            page = await store.rows.page(run, View(criterion=index, outcome=outcome))
            by_outcome[outcome] = [item.idx for item in page.data]
        found.append({outcome: there for outcome, there in by_outcome.items() if there})
    return found


async def test_every_criterion_has_its_outcome_for_every_row(store: Store) -> None:
    assert await outcomes(store, EXACT, MISSING, UNCOMPILABLE) == [
        {"pass": [0, 2], "fail": [1, 3]},
        {"error": [0, 1, 2, 3]},
        {"fail": [0, 1, 2, 3]},
    ]


async def test_rows_are_sorted_by_the_reward_they_got(store: Store) -> None:
    run = await new_run(store, [python("return [0.5, 0.25, -1.0, 7.0][item['n']]")], rows(4))
    await worked_off(store, run)
    page = await store.rows.page(run, View(sort=0, descending=True))
    assert [item.idx for item in page.data] == [3, 0, 1, 2]
    found = await store.scores.histogram(run, 0, 2)
    assert (found.count, found.min, found.max, found.mean) == (4, -1.0, 7.0, 1.6875)


async def test_a_row_that_no_criterion_saw_has_the_outcome_of_all(store: Store) -> None:
    run = await new_run(store, [EXACT, JUDGE], rows(2), SAMPLED, deadline_s=0)
    await worked_off(store, run, Models(lambda *_: "never asked"))
    for criterion in (0, 1):
        page = await store.rows.page(run, View(criterion=criterion, outcome="skip"))
        assert [item.idx for item in page.data] == [0, 1]


async def test_two_runs_over_the_same_rows_are_compared(store: Store) -> None:
    first = await new_run(store, [EXACT], rows(4))
    second = await new_run(store, [{**EXACT, "reference": "0"}], list(reversed(rows(4))))
    for run in (first, second):
        await worked_off(store, run)
    found = await store.comparison.totals(first, second, (0, 0))
    assert (found.matched_by, found.n, found.only_first, found.only_second) == ("item", 4, 2, 2)
