"""Puts graders under keys. Everything is checked before anything is kept."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from fairmark import jsontext
from fairmark.endpoints import Offline, aprobe
from fairmark.errors import FunctionRefused, InvalidGrader, InvalidKey, Problem
from fairmark.graders import known
from fairmark.parse import aparse, read
from fairmark.readiness import avalidate
from fairmark.references import KEY, KEY_RULE, NOTE, TYPE, Registered, Wanted, children
from fairmark.registry.functions import acheck_function
from fairmark.registry.lookup import Registry
from fairmark.store import Grader, NewGrader
from fairmark.store.registry.graders import KeptGraders

_ID = re.compile(r"grader_[0-9a-f]{32}")


class KeptGrader(NamedTuple):
    """A grader that was kept, and what is legal about it and yet probably not meant."""

    grader: Grader
    warnings: list[str]


class Registration:
    """The ways to put graders into a store, with all checks."""

    def __init__(self, graders: KeptGraders, registry: Registry) -> None:
        self._graders = graders
        self._registry = registry

    async def create(
        self, project: str, key: Any, grader: Any, name: str | None = None, description: str | None = None
    ) -> KeptGrader:
        """Raises InvalidKey, InvalidGrader, FunctionRefused or DuplicateKey."""
        check_key(key)
        checked = await _check(self._registry, project, grader)
        info = await _ask(checked)
        kept = await self._graders.create(project, key, checked.grader, name, description, info)
        await self._registry.changed()
        return KeptGrader(kept, checked.warnings)

    async def update(
        self,
        project: str,
        id_or_key: str,
        *,
        grader: Any = UNSET,
        name: str | UnsetType | None = UNSET,
        description: str | UnsetType | None = UNSET,
        locked: bool | UnsetType = UNSET,
        expected: int | None = None,
    ) -> KeptGrader | None:
        """None where there is no such grader. Raises as `create` does, and LockedGrader and VersionConflict."""
        checked = None if grader is UNSET else await _check(self._registry, project, grader)
        kept = await self._graders.update(
            project,
            id_or_key,
            grader=UNSET if checked is None else checked.grader,
            info=None if checked is None else await _ask(checked),
            name=name,
            description=description,
            locked=locked,
            expected=expected,
        )
        await self._registry.changed()
        return None if kept is None else KeptGrader(kept, [] if checked is None else checked.warnings)

    async def delete(self, project: str, id_or_key: str) -> Grader | None:
        """What was deleted; None where there is no such grader. Raises LockedGrader."""
        gone = await self._graders.delete(project, id_or_key)
        await self._registry.changed()
        return gone

    async def bring(self, project: str, pack: Sequence[NewGrader], *, update: bool) -> dict[str, str]:
        """All graders of a pack or none: key -> created, updated or unchanged. No endpoint is asked for its name.

        Raises InvalidGrader or FunctionRefused with the place in the pack, DuplicateKey for a grader that is there and
        differs, unless they may be updated, and LockedGrader.
        """
        registry = Registry(_PackFirst(self._graders, pack))  # a pack's graders may refer to one another
        checked = []
        for index, new in enumerate(pack):
            where = f"$.graders[{index}]"
            if problem := _key_problem(new.key):
                raise InvalidGrader.at(f"{where}.key", problem)
            try:
                kept = await _check(registry, project, new.grader)
            except InvalidGrader as error:
                raise InvalidGrader([_moved(wrong, f"{where}.grader") for wrong in error.problems]) from None
            except FunctionRefused as error:
                raise FunctionRefused(f"{where}.grader{error.path.removeprefix('$')}", error.found) from None
            checked.append(NewGrader(new.key, kept.grader, new.name, new.description, new.locked))
            await asyncio.sleep(0)  # a pack may be long, and this loop has other work
        done = await self._graders.bring(project, checked, update=update)
        await self._registry.changed()
        return done


class _Checked(NamedTuple):
    """A grader that may be kept, as it will be: normalised, or as it was given where it holds references."""

    grader: dict[str, Any]
    warnings: list[str]


async def _check(registry: Registry, project: str, grader: Any) -> _Checked:
    fields = {key: value for key, value in read(grader).items() if key != NOTE}
    if fields.get("type") == TYPE:
        message = "a registered grader cannot be a reference to another. Register the grader itself."
        raise InvalidGrader.at("$.type", message)
    expanded = await registry.expand(project, fields)
    for path, source in functions_in(fields):
        report = await acheck_function(source, project)
        if not report.valid:
            raise FunctionRefused(path, report)
    spec = await aparse(expanded)
    kept = fields if spec.registered else spec.echo()
    if fields.get("name") is None:  # it is called by its key, and not by its type
        kept.pop("name", None)
    return _Checked(kept, (await avalidate(spec)).warnings)


async def _ask(checked: _Checked) -> dict[str, Any] | None:
    """What an endpoint says of itself. One that does not answer is kept with a warning: it may be up tomorrow."""
    if checked.grader["type"] != "endpoint":
        return None
    reply = await aprobe(checked.grader["url"], checked.grader.get("headers"))
    if isinstance(reply, Offline):
        checked.warnings.append(f"$.url: {reply.error}")
        return None
    return reply._asdict()


def _moved(problem: Problem, where: str) -> Problem:
    return problem._replace(path=where + problem.path.removeprefix("$"))


class _PackFirst:
    """Finds graders in a pack, else in the store."""

    def __init__(self, graders: KeptGraders, pack: Sequence[NewGrader]) -> None:
        self._graders = graders
        self._pack = {new.key: new for new in pack}

    async def __call__(self, project: str, wanted: Collection[Wanted]) -> Mapping[Wanted, Registered]:
        newest = {want for want in wanted if want[1] is None and want[0] in self._pack}
        kept = await self._graders.find(project, [want for want in wanted if want not in newest])
        # Of a key that is new the pack has the first version; of one that is there, the one to come.
        first = {want for want in wanted if want[1] == 1 and want[0] in self._pack and want not in kept}
        here = {want: Registered("", want[0], 1, self._pack[want[0]].grader) for want in newest | first}
        return {**kept, **here}


def check_key(key: Any) -> None:
    """Raises InvalidKey."""
    if problem := _key_problem(key):
        raise InvalidKey(f"key: {problem}")


def _key_problem(key: Any) -> str | None:
    if not isinstance(key, str):
        return f"found {jsontext.describe(key)}. {KEY_RULE}"
    if _ID.fullmatch(key):
        return f"found {jsontext.quote(key)}, which looks like an id. {KEY_RULE}"
    return None if KEY.fullmatch(key) else f"found {jsontext.quote(key)}. {KEY_RULE}"


def functions_in(grader: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where function graders stand, and their sources. What is no text is told when it is parsed."""
    for path, member in (("$", grader), *((f"$.graders{path}", child) for path, child in children(grader))):
        if isinstance(member, Mapping) and member.get("type") == "function" and isinstance(member.get("source"), str):
            yield f"{path}.source", member["source"]


def record(grader: Grader, warnings: Sequence[str] | None = None) -> dict[str, Any]:
    """A registered grader as clients see it: ours, and beside it what Adaptive's clients know of one."""
    kind = grader.grader["type"]
    known_kind = known(kind)
    is_bool = known_kind is not None and known_kind.yes_or_no
    metric = grader.grader.get("feedback_key") or grader.key
    return {
        "object": "grader",
        "id": grader.id,
        "key": grader.key,
        "name": grader.name,
        "description": grader.description,
        "version": grader.version,
        "locked": grader.locked,
        "grader": grader.grader,
        "grader_type": grader_type(kind),
        "grader_config": _config(grader),
        "project": {"id": grader.project, "key": grader.project, "name": grader.project},
        "metric": {
            "id": grader.id.replace("grader_", "metric_", 1),
            "key": metric,
            "name": metric,
            "kind": "BOOL" if is_bool else "SCALAR",
            "scoring_type": "HIGHER_IS_BETTER",
        },
        "created_at": grader.created_at,
        "updated_at": grader.updated_at,
        **({} if warnings is None else {"warnings": list(warnings)}),
    }


def grader_type(kind: str) -> str:
    """Adaptive's word for a kind; of kinds that it does not have, our own."""
    known_kind = known(kind)
    return (known_kind.adaptive if known_kind is not None else "") or kind.upper()


def _config(grader: Grader) -> dict[str, Any]:
    fields = grader.grader
    match grader_type(fields["type"]):
        case "FUNCTION":
            return {"source_code": fields["source"], "description": grader.description}
        case "JUDGE":
            names = {
                "model": "model",
                "criteria": "criteria",
                "examples": "examples",
                "system_template": "system_template",
                "user_template": "user_template",
            }
            return {theirs: fields.get(ours) for theirs, ours in names.items()}
        case "PREBUILT":
            return {"criteria_key": fields["type"].upper(), "model": fields.get("model")}
        case "REMOTE":
            info = grader.info or {}
            return {"url": fields["url"], "version": info.get("version"), "description": info.get("description")}
        case "CUSTOM":
            return {"description": grader.description or fields.get("description")}
        case _:
            return {}
