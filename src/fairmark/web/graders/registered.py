"""The registered graders: their list, each of them, its versions; locked, deleted, carried away as a pack."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.checks.standing import Standing, of_graders
from fairmark.errors import ApiError, FairmarkError
from fairmark.graders import all_kinds
from fairmark.refusals import cannot_keep, invalid, not_found
from fairmark.registry.packs import make_pack
from fairmark.serving.registering import delete_named, registration
from fairmark.serving.wire import base_url, project, state
from fairmark.store import Grader, Version
from fairmark.web.frame import highlight, render
from fairmark.web.frame.visit import field, is_partial, redirect
from fairmark.web.graders import forms
from fairmark.web.graders.versions import compare

SHOWN = 50
VERSIONS_SHOWN = 50
VERSIONS_OFFERED = 500
"""How many versions can be chosen for a comparison; older ones by the address."""
RESERVED = frozenset({"new", "check", "endpoint"})
"""Keys that are words of our addresses. Such graders are found by their ids."""


async def list_(request: Request) -> Response:
    words = request.query_params.get("q", "").strip()
    kind = request.query_params.get("kind", "")
    at = _number(request.query_params.get("page", "")) or 1
    # A project has hundreds of graders at most, and is read whole: then names are compared whatever their case.
    every = sorted(await state(request).store.graders.all(project(request)), key=lambda grader: -grader.updated_at)
    graders = [grader for grader in every if _fits(grader, words.casefold(), kind)]
    first = (at - 1) * SHOWN
    context: dict[str, Any] = {
        "graders": await _listed(request, graders[first : first + SHOWN]),
        "total": len(every),
        "count": len(graders),
        "words": words,
        "kind": kind,
        "kinds": [("", "All kinds")]
        + [(grader, forms.title(grader)) for grader in sorted({_kind(kind_name) for kind_name in every})],
        "title": forms.title,
        "first": first + 1,
        "previous": _page(words, kind, at - 1) if at > 1 else "",
        "next": _page(words, kind, at + 1) if first + SHOWN < len(graders) else "",
    }
    if is_partial(request):
        return render.part(request, "graders/listing.html", "results", **context)
    return render.page(request, "graders/listing.html", **context)


async def show(request: Request) -> Response:
    grader = await find(request)
    kind = all_kinds().get(_kind(grader))
    facts = [
        (field, forms.value_at(grader.grader, field.path))
        for field in (forms.fields(_kind(grader), kind) if kind else [])
        if forms.value_at(grader.grader, field.path) is not None
    ]
    return render.page(
        request,
        "graders/detail.html",
        **await about(request, grader),
        summary=kind.summary if kind else "",
        facts=facts,
        uses=_uses(request, grader),
        json_text=jsontext.encode_pretty(grader.grader),
        python=highlight.python,
        prompt=highlight.template,
    )


async def versions(request: Request) -> Response:
    grader = await find(request)
    after = _number(request.query_params.get("after", ""))
    # One more than is shown: what the last one changed is told by the one before it.
    cursor = str(after) if 1 <= after <= grader.version else None
    listed = await state(request).store.graders.versions(grader, VERSIONS_SHOWN + 1, cursor)
    shown = listed.data[:VERSIONS_SHOWN]
    new = await _version(request, grader, "new", grader.version)
    old = await _version(request, grader, "old", max(1, new.version - 1))
    return render.page(
        request,
        "graders/versions.html",
        **await about(request, grader),
        versions=list(zip(shown, _changes(listed.data), strict=False)),
        older=shown[-1].version if shown and shown[-1].version > 1 else None,
        numbers=range(grader.version, max(0, grader.version - VERSIONS_OFFERED), -1),
        old=old,
        new=new,
        parts=compare(old.grader, new.grader),
    )


async def _version(request: Request, grader: Grader, name: str, usual: int) -> Grader:
    """The grader in the version that the address names, or in the usual one."""
    wanted = _number(request.query_params.get(name, "")) or usual
    version = await state(request).store.graders.get(project(request), grader.id, wanted)
    if version is None:
        raise ApiError(404, f"The grader {jsontext.quote(grader.key)} has no version {wanted}.", code="not_found")
    return version


def _changes(versions: Sequence[Version]) -> Iterator[str]:
    """What each changed, in a few words; of the last one only if it is the first of all."""
    for index, this in enumerate(versions):
        if this.version == 1:
            yield "First version"
        elif index + 1 < len(versions):
            parts = compare(versions[index + 1].grader, this.grader)
            added, removed = sum(part.added for part in parts), sum(part.removed for part in parts)
            yield f"+{added} −{removed} lines" if parts else "No difference"


async def restore(request: Request) -> Response:
    """An old version as the newest: nothing is lost, and what came between stays in the list."""
    grader = await find(request)
    wanted = _number(field(request, "version"))
    old = await state(request).store.graders.get(project(request), grader.key, wanted) if wanted else None
    if old is None:
        raise invalid(f"The grader {jsontext.quote(grader.key)} has no such version.", "version")
    try:
        kept = await registration(request).update(
            project(request), grader.key, grader=old.grader, expected=_number(field(request, "expected"))
        )
    except FairmarkError as error:
        raise cannot_keep(error) from None
    if kept is None:
        raise not_found("grader", grader.key)
    words = f"Version {wanted} is back, as version {kept.grader.version}."
    if kept.grader.version == grader.version:
        words = f"Version {wanted} and the newest are the same, so that nothing has changed."
    return redirect(f"{address(grader)}/versions", words)


async def lock(request: Request) -> Response:
    locked = field(request, "locked") == "true"
    kept = await registration(request).update(project(request), request.path_params["key"], locked=locked)
    if kept is None:
        raise not_found("grader", request.path_params["key"])
    to = {"list": "/graders", "edit": f"{address(kept.grader)}/edit"}.get(field(request, "back"), address(kept.grader))
    words = "is locked: nobody can change or delete it." if locked else "is unlocked."
    return redirect(to, f"{kept.grader.name} {words}")


async def delete(request: Request) -> Response:
    gone = await delete_named(request)
    return redirect("/graders", f"{gone.name} is deleted.")


async def pack(request: Request) -> Response:
    """The grader as a pack of one, as a file."""
    grader = await find(request)
    name = f"{grader.key}.json"  # keys have no character that a file's name must not have
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(jsontext.encode_pretty(make_pack([grader])) + "\n", 200, headers, "application/json")


async def find(request: Request) -> Grader:
    """The grader that the path names. Raises ApiError."""
    key = request.path_params["key"]
    grader = await state(request).store.graders.get(project(request), key)
    if grader is None:
        raise ApiError(
            404, f"There is no grader {jsontext.quote(key)} here. It may have been deleted.", code="not_found"
        )
    return grader


def address(grader: Grader) -> str:
    """Where the grader's pages are."""
    return f"/graders/{grader.id if grader.key in RESERVED else grader.key}"


async def about(request: Request, grader: Grader) -> dict[str, Any]:
    """What every page of a grader shows."""
    shared = state(request)
    (standing,) = await of_graders(shared.store, shared.registry, project(request), [grader])
    return {
        "grader": grader,
        "kind": _kind(grader),
        "title": forms.title(_kind(grader)),
        "address": address(grader),
        "standing": standing,
    }


async def _listed(request: Request, graders: Sequence[Grader]) -> list[tuple[Grader, str, Standing | None]]:
    shared = state(request)
    standings = await of_graders(shared.store, shared.registry, project(request), graders)
    return [(grader, address(grader), standing) for grader, standing in zip(graders, standings, strict=True)]


def _kind(grader: Grader) -> str:
    return str(grader.grader["type"])


def _fits(grader: Grader, words: str, kind: str) -> bool:
    return kind in ("", _kind(grader)) and (words in grader.name.casefold() or words in grader.key)


def _number(text: str) -> int:
    """A whole number from 1; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0


def _page(words: str, kind: str, at: int) -> str:
    query_fields = {"q": words, "kind": kind, "page": at if at > 1 else ""}
    query = urlencode({name: value for name, value in query_fields.items() if value})
    return f"/graders?{query}" if query else "/graders"


def _uses(request: Request, grader: Grader) -> list[tuple[str, str, str]]:
    """Where it can be used: heading, a word about it, and what to copy."""
    reference = jsontext.write({"type": "registered", "key": grader.key})
    call = jsontext.write({"grader": {"type": "registered", "key": grader.key}, "model_sample": "…", "item": {}})
    return [
        ("In an eval, or in a multi grader", 'Always in its newest version, unless a "version" is added.', reference),
        ("On the command line", "", f"fairmark eval data.jsonl --grader key:{grader.key}"),
        ("In Python", "", f"fairmark.grade({reference}, sample, item)"),
        ("Over HTTP", "", f"curl {base_url(request)}/v1/fine_tuning/alpha/graders/run -d '{call}'"),
    ]
