"""Evals out of an archive: with their ids, times and criteria as they were, also criteria that cannot run here."""

from collections.abc import Iterator
from typing import Any, Final

from fairmark import jsontext
from fairmark.evals.criteria import Expand, why_unrunnable
from fairmark.moving.bodies import eval_body, with_members
from fairmark.moving.load.loading import Loading, object_of, read_list, text_of, whole_of
from fairmark.moving.load.parts import eval_to_load
from fairmark.moving.load.report import Undecided
from fairmark.store.received import Present, ReceivedEval

KIND: Final = "evals"
LIST = "evals.jsonl"


async def load_evals(loading: Loading) -> None:
    """The oldest first: a list shows them in the order in which they came."""
    readable = await read_list(loading, KIND, LIST)
    for body, value in sorted(readable, key=lambda pair: whole_of(pair[1].get("created_at"))):
        await _load(loading, body, value)


async def _load(loading: Loading, body: bytes, value: dict[str, Any]) -> None:
    id_ = text_of(value.get("id"))
    wanted = await eval_to_load(loading, body, value)
    if wanted is None:
        loading.report.of(KIND).unchanged += 1
        return
    body, value = wanted
    _note_judges(loading, value)

    async def is_same(target: str, there: Present) -> bool:
        wanted = body if target == id_ else with_members(body, {"id": target})
        if there.received == wanted:
            return True
        now = await loading.store.evals.get(loading.project, target)
        return now is not None and eval_body(now) == wanted

    place = await loading.place(KIND, id_, is_same)
    if place is None:
        loading.left_out.add(id_)
        return
    criteria = await read_criteria(value.get("testing_criteria"), loading.expand)
    loading.report.undecided += [
        Undecided(place.id, criterion["name"], criterion["reason"])
        for criterion in criteria
        if criterion.get("runnable") is False
    ]
    loading.count(KIND, place)
    if place.is_same or loading.dry_run:
        return
    await loading.store.received.put_eval(
        loading.project,
        ReceivedEval(
            id=place.id,
            name=text_of(value.get("name")),
            metadata=object_of(value.get("metadata")),
            data_source_config=object_of(value.get("data_source_config")),
            criteria=criteria,
            created_at=whole_of(value.get("created_at")),
            body=body if place.id == id_ else with_members(body, {"id": place.id}),
        ),
        loading.imported(place.there, is_made_up=loading.is_made_up(KIND, id_)),
    )


async def read_criteria(given: Any, expand: Expand) -> list[dict[str, Any]]:
    """Each with an id, a name and a type, whatever it lacks; what cannot grade here has `runnable` and `reason`."""
    criteria: list[dict[str, Any]] = []
    taken: set[str] = set()
    for number, criterion in enumerate(given if isinstance(given, list) else [], 1):
        grader = object_of(criterion)
        kind = text_of(grader.get("type")) or "unknown"
        name = text_of(grader.get("name")) or f"{kind} {number}"
        id_ = text_of(grader.get("id")) or name
        id_ = id_ if id_ not in taken else f"{id_}-{number}"
        taken.add(id_)
        if grader:
            reason = await why_unrunnable({key: value for key, value in grader.items() if key != "id"}, expand)
        else:
            reason = f"found {jsontext.describe(criterion)}. A criterion is an object."
        notes = {} if reason is None else {"runnable": False, "reason": reason}
        criteria.append({**grader, "type": kind, "name": name, "id": id_, **notes})
    return criteria


def _note_judges(loading: Loading, value: dict[str, Any]) -> None:
    criteria = value.get("testing_criteria")
    for criterion in criteria if isinstance(criteria, list) else []:
        for model in set(_models(criterion)):
            loading.report.judges[model] = loading.report.judges.get(model, 0) + 1


def _models(grader: Any) -> Iterator[str]:
    match grader:
        case {"model": str() as model}:
            yield model
    for child in object_of(object_of(grader).get("graders")).values():
        yield from _models(child)
