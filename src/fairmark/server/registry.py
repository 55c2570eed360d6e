"""Graders by key: kept, changed, locked, deleted; with their versions, and the scores that custom ones are given."""

import math
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.endpoints import Online, aprobe
from fairmark.errors import (
    ApiError,
    FairmarkError,
    LockedGrader,
)
from fairmark.graders import known
from fairmark.refusals import check_name, invalid, missing, not_found, wrong_type
from fairmark.registry.keeping import Kept, record
from fairmark.registry.packs import make_pack, read_pack
from fairmark.serving.lists import read_query
from fairmark.serving.registering import refusal, registration
from fairmark.serving.wire import answer, page, project, read_object, state
from fairmark.store import Grader, PushedScore, Version

MOST_SCORES = 10_000
"""How many scores may be pushed at once."""


async def create(request: Request) -> Response:
    given = await read_object(request)
    _own_project(request, given)
    if "key" not in given:
        raise missing("key", "It takes a string by which the grader will be known.")
    if "grader" not in given:
        raise missing("grader", "It takes an object.")
    try:
        kept = await registration(request).create(
            project(request), given["key"], given["grader"], _text(given, "name"), _text(given, "description")
        )
    except FairmarkError as error:
        raise refusal(error) from None
    return answer(_wire(kept), 201)


async def list_(request: Request) -> Response:
    _own_project(request, request.query_params)
    query = read_query(request, limit=20, order="asc")
    graders = state(request).store.graders
    found = await graders.list(project(request), query.limit, query.after, query.order, query.before)
    return page([(each.id, record(each)) for each in found.data], found.has_more)


async def retrieve(request: Request) -> Response:
    return answer(record(await _find(request, _version(request))))


async def update(request: Request) -> Response:
    given = await read_object(request)
    _own_project(request, given)
    locked = given.get("locked", UNSET)
    if locked is not UNSET and not isinstance(locked, bool):
        raise wrong_type("locked", "true or false", locked)
    expected = given.get("version")
    if expected is not None and (not isinstance(expected, int) or isinstance(expected, bool)):
        raise wrong_type("version", "the number of the version that you have changed", expected)
    key = request.path_params["key"]
    try:
        kept = await registration(request).update(
            project(request),
            key,
            grader=given.get("grader", UNSET),
            name=_text(given, "name") if "name" in given else UNSET,
            description=_text(given, "description") if "description" in given else UNSET,
            locked=locked,
            expected=expected,
        )
    except FairmarkError as error:
        raise refusal(error) from None
    if kept is None:
        raise not_found("grader", key)
    return answer(_wire(kept))


async def delete(request: Request) -> Response:
    _own_project(request, request.query_params)
    key = request.path_params["key"]
    try:
        gone = await registration(request).delete(project(request), key)
    except LockedGrader as error:
        raise refusal(error) from None
    if gone is None:
        raise not_found("grader", key)
    return answer({"object": "grader.deleted", "deleted": True, "id": gone.id, "key": gone.key})


async def versions(request: Request) -> Response:
    found = await _find(request)
    query = read_query(request, limit=20, order="desc")
    listed = await state(request).store.graders.versions(found, query.limit, query.after, query.order, query.before)
    return page([(str(each.version), _version_wire(each)) for each in listed.data], listed.has_more)


async def push_scores(request: Request) -> Response:
    given = await read_object(request)
    _own_project(request, given)
    found = await _find(request)
    kind = known(found.grader["type"])
    if kind is None or kind.grades:
        raise ApiError(
            409,
            f"the grader {jsontext.quote(found.key)} computes its scores itself. Only a custom grader takes scores.",
            code="not_custom",
        )
    if "scores" not in given:
        raise missing("scores", 'It takes a list: [{"sample_id": "…", "value": 0.5, "reasoning": "…"}].')
    scores = given["scores"]
    if not isinstance(scores, list):
        raise wrong_type("scores", "a list", scores)
    if len(scores) > MOST_SCORES:
        raise invalid(f"scores: found {len(scores)}. Push at most {MOST_SCORES} at once.", "scores")
    read = [_score(f"scores[{index}]", each) for index, each in enumerate(scores)]
    if not await state(request).store.grader_scores.push(found, read):
        raise not_found("grader", found.key)  # it was deleted just now
    return answer({"object": "grader.scores", "key": found.key, "accepted": len(read)})


async def list_scores(request: Request) -> Response:
    found = await _find(request)
    query = read_query(request, limit=20, order="asc")
    scores = state(request).store.grader_scores
    listed = await scores.list(found, query.limit, query.after, query.order, query.before)
    return page([(each.sample_id, _score_wire(found, each)) for each in listed.data], listed.has_more)


async def test_endpoint(request: Request) -> Response:
    given = await read_object(request)
    if "url" not in given:
        raise missing("url", "It takes the address of a reward server.")
    if not isinstance(given["url"], str):
        raise wrong_type("url", "a string", given["url"])
    found = await aprobe(given["url"])
    if isinstance(found, Online):
        return answer({"status": "online", **found._asdict()})
    return answer({"status": "offline", **found._asdict()})


async def export_pack(request: Request) -> Response:
    _own_project(request, request.query_params)
    found = await state(request).store.graders.all(project(request))
    return answer(make_pack(found))


async def import_pack(request: Request) -> Response:
    given = await read_object(request)
    _own_project(request, given)
    change = given.get("update", False)
    if not isinstance(change, bool):
        raise wrong_type("update", "true or false", change)
    try:
        pack = read_pack(given)
        done = await registration(request).bring(project(request), pack, update=change)
    except FairmarkError as error:
        raise refusal(error, "") from None
    return answer({"object": "grader.pack.imported", "graders": done})


def _wire(kept: Kept) -> dict[str, Any]:
    return record(kept.grader, kept.warnings)


async def _find(request: Request, version: int | None = None) -> Grader:
    _own_project(request, request.query_params)
    key = request.path_params["key"]
    found = await state(request).store.graders.get(project(request), key, version)
    if found is None:
        raise not_found("grader", key)
    return found


def _version(request: Request) -> int | None:
    given = request.query_params.get("version")
    if not given:
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > 9 or int(given) < 1:
        raise invalid(f"version: found {jsontext.quote(given)}. It takes a whole number from 1.", "version")
    return int(given)


def _own_project(request: Request, given: Mapping[str, Any]) -> None:
    """A key opens one project; who names one means that one, or is told."""
    named = given.get("project")
    if named is not None and named != project(request):
        found = jsontext.quote(named) if isinstance(named, str) else jsontext.describe(named)
        message = f"project: found {found}. This key opens the project {jsontext.quote(project(request))} only."
        raise ApiError(403, message, param="project", code="wrong_project")


def _text(given: dict[str, Any], field: str) -> str | None:
    value = given.get(field)
    if value is not None and not isinstance(value, str):
        raise wrong_type(field, "a string", value)
    if field == "name":
        check_name(value)
    return value


def _score(where: str, given: Any) -> PushedScore:
    if not isinstance(given, dict):
        raise wrong_type(where, "an object with sample_id and value", given)
    sample_id, value, reasoning = given.get("sample_id"), given.get("value"), given.get("reasoning")
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
