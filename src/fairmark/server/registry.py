"""Graders by key: kept, changed, locked, deleted; with their versions, and the scores that custom ones are given."""

import math
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.checks.standing import Standing, of_graders
from fairmark.endpoints import Online, aprobe
from fairmark.errors import (
    ApiError,
    FairmarkError,
)
from fairmark.graders import known
from fairmark.refusals import cannot_keep, check_name, invalid, missing, not_found, wrong_type
from fairmark.registry.keeping import KeptGrader, record
from fairmark.registry.packs import make_pack, read_pack
from fairmark.serving.lists import read_query
from fairmark.serving.registering import delete_named, registration
from fairmark.serving.wire import answer, page, project, read_object, state
from fairmark.store import Grader, PushedScore, Version

MOST_SCORES = 10_000
"""How many scores may be pushed at once."""


async def create(request: Request) -> Response:
    body = await read_object(request)
    _own_project(request, body)
    if "key" not in body:
        raise missing("key", "It takes a string by which the grader will be known.")
    if "grader" not in body:
        raise missing("grader", "It takes an object.")
    try:
        kept = await registration(request).create(
            project(request), body["key"], body["grader"], _text(body, "name"), _text(body, "description")
        )
    except FairmarkError as error:
        raise cannot_keep(error) from None
    return answer(_wire(kept), 201)


async def list_(request: Request) -> Response:
    _own_project(request, request.query_params)
    query = read_query(request, limit=20, order="asc")
    graders = state(request).store.graders
    listed = await graders.list(project(request), query.limit, query.after, query.order, query.before)
    standings = await of_graders(state(request).store, state(request).registry, project(request), listed.data)
    shown = zip(listed.data, standings, strict=True)
    return page([(grader.id, _with_standing(record(grader), standing)) for grader, standing in shown], listed.has_more)


async def retrieve(request: Request) -> Response:
    grader = await _find(request, _version(request))
    (standing,) = await of_graders(state(request).store, state(request).registry, project(request), [grader])
    return answer(_with_standing(record(grader), standing))


async def update(request: Request) -> Response:
    body = await read_object(request)
    _own_project(request, body)
    locked = body.get("locked", UNSET)
    if locked is not UNSET and not isinstance(locked, bool):
        raise wrong_type("locked", "true or false", locked)
    expected = body.get("version")
    if expected is not None and (not isinstance(expected, int) or isinstance(expected, bool)):
        raise wrong_type("version", "the number of the version that you have changed", expected)
    key = request.path_params["key"]
    try:
        kept = await registration(request).update(
            project(request),
            key,
            grader=body.get("grader", UNSET),
            name=_text(body, "name") if "name" in body else UNSET,
            description=_text(body, "description") if "description" in body else UNSET,
            locked=locked,
            expected=expected,
        )
    except FairmarkError as error:
        raise cannot_keep(error) from None
    if kept is None:
        raise not_found("grader", key)
    return answer(_wire(kept))


async def delete(request: Request) -> Response:
    _own_project(request, request.query_params)
    gone = await delete_named(request)
    return answer({"object": "grader.deleted", "deleted": True, "id": gone.id, "key": gone.key})


async def versions(request: Request) -> Response:
    grader = await _find(request)
    query = read_query(request, limit=20, order="desc")
    listed = await state(request).store.graders.versions(grader, query.limit, query.after, query.order, query.before)
    return page([(str(version.version), _version_wire(version)) for version in listed.data], listed.has_more)


async def push_scores(request: Request) -> Response:
    body = await read_object(request)
    _own_project(request, body)
    grader = await _find(request)
    kind = known(grader.grader["type"])
    if kind is None or kind.grades:
        raise ApiError(
            409,
            f"the grader {jsontext.quote(grader.key)} computes its scores itself. Only a custom grader takes scores.",
            code="not_custom",
        )
    if "scores" not in body:
        raise missing("scores", 'It takes a list: [{"sample_id": "…", "value": 0.5, "reasoning": "…"}].')
    scores = body["scores"]
    if not isinstance(scores, list):
        raise wrong_type("scores", "a list", scores)
    if len(scores) > MOST_SCORES:
        raise invalid(f"scores: found {len(scores)}. Push at most {MOST_SCORES} at once.", "scores")
    read = [_score(f"scores[{index}]", score) for index, score in enumerate(scores)]
    if not await state(request).store.grader_scores.push(grader, read):
        raise not_found("grader", grader.key)  # it was deleted just now
    return answer({"object": "grader.scores", "key": grader.key, "accepted": len(read)})


async def list_scores(request: Request) -> Response:
    grader = await _find(request)
    query = read_query(request, limit=20, order="asc")
    scores = state(request).store.grader_scores
    listed = await scores.list(grader, query.limit, query.after, query.order, query.before)
    return page([(score.sample_id, _score_wire(grader, score)) for score in listed.data], listed.has_more)


async def test_endpoint(request: Request) -> Response:
    body = await read_object(request)
    if "url" not in body:
        raise missing("url", "It takes the address of a reward server.")
    if not isinstance(body["url"], str):
        raise wrong_type("url", "a string", body["url"])
    reply = await aprobe(body["url"])
    if isinstance(reply, Online):
        return answer({"status": "online", **reply._asdict()})
    return answer({"status": "offline", **reply._asdict()})


async def export_pack(request: Request) -> Response:
    _own_project(request, request.query_params)
    graders = await state(request).store.graders.all(project(request))
    return answer(make_pack(graders))


async def import_pack(request: Request) -> Response:
    body = await read_object(request)
    _own_project(request, body)
    change = body.get("update", False)
    if not isinstance(change, bool):
        raise wrong_type("update", "true or false", change)
    try:
        pack = read_pack(body)
        done = await registration(request).bring(project(request), pack, update=change)
    except FairmarkError as error:
        raise cannot_keep(error, "") from None
    return answer({"object": "grader.pack.imported", "graders": done})


def _with_standing(shown: dict[str, Any], standing: Standing | None) -> dict[str, Any]:
    """Of a judge, how its last check went; of other graders nothing."""
    return shown if standing is None else {**shown, "judge_check": standing.wire()}


def _wire(kept: KeptGrader) -> dict[str, Any]:
    return record(kept.grader, kept.warnings)


async def _find(request: Request, version: int | None = None) -> Grader:
    _own_project(request, request.query_params)
    key = request.path_params["key"]
    grader = await state(request).store.graders.get(project(request), key, version)
    if grader is None:
        raise not_found("grader", key)
    return grader


def _version(request: Request) -> int | None:
    text = request.query_params.get("version")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise invalid(f"version: found {jsontext.quote(text)}. It takes a whole number from 1.", "version")
    return int(text)


def _own_project(request: Request, body: Mapping[str, Any]) -> None:
    """A key opens one project; who names one means that one, or is told."""
    named = body.get("project")
    if named is not None and named != project(request):
        shown = jsontext.quote(named) if isinstance(named, str) else jsontext.describe(named)
        message = f"project: found {shown}. This key opens the project {jsontext.quote(project(request))} only."
        raise ApiError(403, message, param="project", code="wrong_project")


def _text(body: dict[str, Any], field: str) -> str | None:
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise wrong_type(field, "a string", value)
    if field == "name":
        check_name(value)
    return value


def _score(where: str, entry: Any) -> PushedScore:
    if not isinstance(entry, dict):
        raise wrong_type(where, "an object with sample_id and value", entry)
    sample_id, value, reasoning = entry.get("sample_id"), entry.get("value"), entry.get("reasoning")
    if not isinstance(sample_id, str) or not sample_id or len(sample_id) > 512:
        raise wrong_type(f"{where}.sample_id", "a string of 1 to 512 characters", sample_id)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
        raise wrong_type(f"{where}.value", "a finite number", value)
    if reasoning is not None and not isinstance(reasoning, str):
        raise wrong_type(f"{where}.reasoning", "a string", reasoning)
    return PushedScore(sample_id, float(value), reasoning)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _version_wire(version: Version) -> dict[str, Any]:
    return {
        "object": "grader.version",
        "version": version.version,
        "grader": version.grader,
        "created_at": version.created_at,
    }


def _score_wire(grader: Grader, score: PushedScore) -> dict[str, Any]:
    return {
        "object": "grader.score",
        "grader_key": grader.key,
        "sample_id": score.sample_id,
        "value": score.value,
        "reasoning": score.reasoning,
        "created_at": score.created_at,
    }
