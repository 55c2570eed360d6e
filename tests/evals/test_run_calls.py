"""The calls about runs that API and page share: what is refused, and how a run is shown."""

from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.evals import run_calls
from fairmark.evals.engine import Engine
from fairmark.judges.fake import FakeJudge
from fairmark.registry.lookup import Registry
from fairmark.store import Run, Store
from fairmark.store.evals.notes import OTHERS
from tests.evals.working import EXACT, PROJECT, new_eval, now, rows
from tests.store.conftest import Place

INLINE = {"type": "jsonl", "source": {"type": "file_content", "content": rows(2)}}


async def start(store: Store, engine: Engine, **body: Any) -> Run:
    made = await new_eval(store, EXACT)
    asked = {"name": "mine", "data_source": INLINE, **body}
    return await run_calls.new_run(store, Registry(store.graders.find), engine, PROJECT, made, asked)


async def opened(place: Place) -> tuple[Store, Engine]:
    store = await place.open()
    return store, Engine(store, FakeJudge(lambda *_: "1"))


async def test_a_run_is_created_shown_cancelled_and_deleted(in_sqlite: Place) -> None:
    store, engine = await opened(in_sqlite)
    run = await start(store, engine, budget={"tokens": 5}, deadline_s=60)
    shown = run_calls.run_wire(run, "http://here")
    assert shown["report_url"] == f"http://here/evals/{run.eval_id}/runs/{run.id}"
    assert (shown["status"], shown["total_rows"], shown["budget"], shown["deadline_s"]) == (
        "queued",
        2,
        {"tokens": 5},
        60,
    )
    assert (shown["per_model_usage"], shown["per_testing_criteria_results"]) == (None, None)
    cancelled = await run_calls.cancel_run(store, engine, PROJECT, run)
    assert cancelled.status == (await now(store, run)).status == "canceled"
    await run_calls.delete_run(store, engine, PROJECT, run)
    with pytest.raises(ApiError) as refused:
        await run_calls.find_run(store, PROJECT, run.eval_id, run.id)
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"data_source": None}, "data_source"),
        ({"budget": 5}, "budget"),
        ({"budget": {"euros": 5}}, "budget.euros"),
        ({"budget": {"tokens": 0}}, "budget.tokens"),
        ({"budget": {"tokens": True}}, "budget.tokens"),
        ({"deadline_s": 10**400}, "deadline_s"),
        ({"deadline_s": "60"}, "deadline_s"),
        ({"name": 5}, "name"),
        ({"metadata": []}, "metadata"),
    ],
)
async def test_what_is_wrong_is_refused_with_its_place(in_sqlite: Place, body: dict[str, Any], param: str) -> None:
    store, engine = await opened(in_sqlite)
    with pytest.raises(ApiError) as refused:
        await start(store, engine, **body)
    assert (refused.value.status, refused.value.param) == (400, param)


def test_notes_are_told_the_most_frequent_first_and_the_others_last() -> None:
    assert run_calls.told({"rare": 1, OTHERS: 50, "often": 9}) == [("often", 9), ("rare", 1), ("others", 50)]
    assert run_calls.told(None) == []
