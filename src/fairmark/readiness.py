"""Whether this machine can run a grader: are the models known that it names, and the packages there that it imports.

A grader may be written here and run elsewhere, so `validate` only warns of what is missing, and asks nobody. Who is
about to run one asks `lacks` and `unlisted`, and stops before anything is paid for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from fairmark import jsontext, parse
from fairmark.errors import FairmarkError, Problem
from fairmark.parse import Grader, Validation
from fairmark.spec import GraderSpec

MOST_PATIENCE_S = 2.0
"""So long a validation waits for a provider's list of models."""


class Remark(NamedTuple):
    """Something that a grader needs and this machine may not have. `stops`: it cannot be run like this."""

    problem: Problem
    stops: bool = True


def validate(grader: Grader) -> Validation:
    """Check a grader without running anything, and warn of what this machine lacks for it. Never raises on bad JSON."""
    return _with_remarks(parse.validate(grader), grader)


async def avalidate(grader: Grader) -> Validation:
    """`validate` for event loops that others need too: for servers, which also know what the providers list."""
    import asyncio

    checked = await asyncio.to_thread(_with_remarks, await parse.avalidate(grader), grader)
    if checked.valid:
        spec = await parse.aparse(grader)
        wrong = await _unlisted_soon({name for _, name in models(spec)})
        checked.warnings.extend(str(problem) for problem in unlisted(spec, wrong))
    return checked


async def _unlisted_soon(names: Collection[str]) -> dict[str, str]:
    """What `look_up` tells, from lists that are remembered. A provider that takes its time is not waited for: its list
    is there for who asks next."""
    if not names:
        return {}
    import asyncio

    from fairmark.judges import chosen

    try:
        return await asyncio.wait_for(chosen.unlisted(names), MOST_PATIENCE_S)
    except (TimeoutError, FairmarkError):  # what is wrong in fairmark.toml is told as a remark
        return {}


def _with_remarks(checked: Validation, grader: Grader) -> Validation:
    if checked.valid:
        checked.warnings.extend(str(remark.problem) for remark in remarks(parse.parse(grader)))
    return checked


def lacks(spec: GraderSpec) -> list[Problem]:
    """What keeps this machine from running the grader, each with its place and what to do about it."""
    return [remark.problem for remark in remarks(spec) if remark.stops]


def retired(spec: GraderSpec) -> list[Problem]:
    """Its judges that are gone or have a day on which they go, each with its place, the day and what comes instead.
    Who has another server or an alias for such a name hears nothing."""
    from fairmark.judges.retired import retirement

    today = datetime.now(UTC).date()
    told = []
    for where, name in models(spec):
        ended = retirement(name)
        for remark in model_remarks(name, today):
            if remark.problem.code == "model_retired":
                told.append(remark.problem._replace(path=where))
            elif ended is not None:  # unknown here: it would go to OpenAI once there is a key
                told.append(Problem(where, ended.words(name, today), "model_retired"))
    return told


def models(spec: GraderSpec, path: str = "$") -> Iterator[tuple[str, str]]:
    """(place, name) of the models that a grader asks, and those inside it."""
    yield from ((f"{path}{where}", model) for where, model in spec.models.items())
    for key, child in spec.children.items():
        yield from models(child, f"{path}.graders.{key}")


def unlisted(spec: GraderSpec, wrong: Mapping[str, str]) -> list[Problem]:
    """The places of a grader where a model is named that its provider does not list; `wrong` says of each name why."""
    return [Problem(where, wrong[name], "model_not_found") for where, name in models(spec) if name in wrong]


def look_up(names: Iterable[str]) -> dict[str, str]:
    """Name -> what is wrong, of models that are not in the list of their provider, which is asked for it: for who is
    about to run a grader. Where a provider need not be asked, or does not tell, nothing is wrong."""
    from fairmark.judges.models import read_registry

    registry = read_registry()
    names = [name for name in names if registry.by_name_alone(name) is not None]
    if not names:
        return {}
    import asyncio

    from fairmark.judges.offers import Offers

    async def asking() -> dict[str, str]:
        offers = Offers()
        try:
            return await offers.unlisted(registry, names)
        finally:
            await offers.close()

    return asyncio.run(asking())


def remarks(spec: GraderSpec, path: str = "$") -> Iterator[Remark]:
    """All that is to be said of a grader and of those inside it."""
    for where, model in spec.models.items():
        yield from (_at(remark, f"{path}{where}") for remark in model_remarks(model))
    yield from (_at(remark, f"{path}.source") for remark in _code_remarks(spec))
    for key, child in spec.children.items():
        yield from remarks(child, f"{path}.graders.{key}")


def model_remarks(name: str, today: date | None = None) -> Iterator[Remark]:
    """What is to be said of a model that is to be asked by this name."""
    # Read when a model is named: most graders name none, and every import of fairmark comes by here.
    from fairmark.errors import UnknownModel
    from fairmark.judges.models import LOCAL, read_registry
    from fairmark.judges.retired import retirement

    today = today or datetime.now(UTC).date()
    try:
        model = read_registry().resolve(name)
    except UnknownModel as unknown:
        ended = retirement(name)
        more = "" if ended is None else f" {ended.words(name, today)}"
        yield Remark(Problem("", f"{unknown}{more}", "model_not_found"))
        return
    except FairmarkError as wrong:  # in fairmark.toml: then no model can be asked
        yield Remark(Problem("", str(wrong), "model_not_found"))
        return
    if model.provider.kind == LOCAL:
        yield from _local_remarks(name, model.real_name)
    elif model.provider.is_openai and model.provider.kind != "azure":
        ended = retirement(model.real_name)
        if ended is not None:
            yield Remark(Problem("", ended.words(model.real_name, today), "model_retired"), ended.gone <= today)


def _local_remarks(name: str, real_name: str) -> Iterator[Remark]:
    from fairmark.judges.local import LocalModels
    from fairmark.settings import settings

    available = LocalModels(settings().data_folder).available()
    if real_name not in available:
        there = ", ".join(f"local/{model}" for model in available) or "none"
        message = f"{jsontext.quote(name)} is not on this machine. There is: {there}. See: fairmark models pull."
        yield Remark(Problem("", message, "model_not_found"))


def _code_remarks(spec: GraderSpec) -> Iterator[Remark]:
    if spec.code is None:
        return
    from fairmark.sandbox import look
    from fairmark.sandbox.images import missing_imports

    source, image = spec.code
    missing = missing_imports(source, image)
    at_once = look.imports(look.body_imports(look.parse(source))) if missing else frozenset()
    for module, advice in missing.items():
        yield Remark(Problem("", f"it imports {module}: {advice}", "image_not_installed"), module in at_once)


def _at(remark: Remark, path: str) -> Remark:
    return remark._replace(problem=remark.problem.below(path))
