"""Scores of custom graders, joined to rows."""

import pytest

from fairmark.errors import ApiError
from fairmark.labelling import pushed
from fairmark.store import PushedScore, Store, ids
from tests.labelling.labelled import EXACT, graded


async def test_a_score_belongs_to_the_row_that_its_sample_names(store: Store) -> None:
    _, run = await graded(store, 4)
    grader = await store.graders.create("default", "editors", {"type": "custom"})
    names = ["q1", ids.of_item(run.id, 2), "lost", "\ud800"]
    await store.grader_scores.push(grader, [PushedScore(name, at / 4, "why") for at, name in enumerate(names)])
    found = await pushed.scores_of(store, run, "editors")
    assert {idx: score.value for idx, score in found.items()} == {1: 0.0, 2: 0.25}
    assert await pushed.of_run(store, run) == {"editors": found}
    (on_row,) = await pushed.of_row(store, run, ids.of_item(run.id, 1), {"id": "q1"})
    assert (on_row.key, on_row.score.value, on_row.score.reasoning) == ("editors", 0.0, "why")
    assert await pushed.of_row(store, run, ids.of_item(run.id, 3), {"id": "q3"}) == []


async def test_other_projects_scores_and_graders_that_grade_are_none(store: Store) -> None:
    _, run = await graded(store, 4)
    theirs = await store.graders.create("other", "editors", {"type": "custom"})
    await store.grader_scores.push(theirs, [PushedScore("q1", 1.0)])
    assert await pushed.of_run(store, run) == {}
    with pytest.raises(ApiError, match="No grader found"):
        await pushed.scores_of(store, run, "editors")
    await store.graders.create("default", "exact", EXACT)
    with pytest.raises(ApiError, match="computes its scores itself"):
        await pushed.scores_of(store, run, "exact")
