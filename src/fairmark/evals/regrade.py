"""Grade a run again: other criteria or other judges over the rows and answers that it has, without sampling.

The rows are copied from the run's output items into a file of the new run's own, so that it does not matter what
becomes of the old one. With `against`, another run over the same rows, each has that run's answer beside its own, as
`sample.against`: so a preference grader compares two runs. A question that a judge was asked before is answered from
the cache.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from fairmark import jsontext, longjson, references
from fairmark.errors import ApiError, InvalidGrader
from fairmark.evals.copied import copied_row
from fairmark.evals.criteria import Expand, grader_of, load_criteria, new_criteria, why_unrunnable
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import read_metadata, read_name
from fairmark.evals.foreign import FLATTENED, error_words, is_flattened, readable_sample
from fairmark.evals.ready import check_listed, check_ready
from fairmark.evals.run_calls import refuse_unrunnable
from fairmark.refusals import invalid, invalid_grader, not_found, wrong_type
from fairmark.registry.lookup import Registry
from fairmark.row import read_sample
from fairmark.store import Eval, Item, Run, Store, UnknownEval

FIELDS = ("testing_criteria", "name", "metadata", "judges", "against")


async def regrade(
    store: Store,
    registry: Registry,
    engine: Engine,
    project: str,
    eval_: Eval,
    run: Run,
    body: dict[str, Any],
    created_by: str | None = None,
) -> Run:
    """The new run; the engine begins with it. Raises ApiError, or DiskFull where its rows find no room."""
    for unknown in (jsontext.shorten(field) for field in body if field not in FIELDS):
        raise invalid(f"{unknown}: unknown. Use: {', '.join(FIELDS)}.", unknown, "unknown_parameter")
    if run.imported is None and run.status in ("queued", "in_progress"):
        message = "The run has not ended: wait until it has, or cancel it. Then what it has can be graded again."
        raise ApiError(409, message, param="run_id", code="run_not_ended")
    name, metadata = read_name(body), read_metadata(body) or {}
    against = await _against(store, project, eval_, run, body.get("against"))
    criteria = await _criteria(eval_, run, body, partial(registry.expand, project))
    loaded = load_criteria(criteria)
    await asyncio.to_thread(check_ready, loaded, None, not engine.has_own_judge)
    if not engine.has_own_judge:
        await check_listed(loaded, None)
    copy = _Copy(store, run, against)
    rows_file = await store.row_files.write(copy.lines())
    try:
        if not copy.rows:
            raise invalid("The run has no rows: there is nothing to grade again.", "run_id")
        if against is not None and not copy.met:
            message = (
                f"against: no row of {against.id} has the same item and an answer. Compare runs over the same rows."
            )
            raise invalid(message, "against")
        made = await store.runs.create(
            project,
            eval_.id,
            name if name is not None else f"{run.name or run.id}, graded again"[:256],
            metadata,
            await asyncio.to_thread(data_source_of, run),
            run.model,
            copy.rows,
            {},
            criteria,
            rows_file=rows_file,
            regraded_from=run.id,
            warnings={FLATTENED: copy.flattened} if copy.flattened else {},
            created_by=created_by,
        )
    except BaseException as error:
        await store.row_files.delete([rows_file])
        if isinstance(error, UnknownEval):  # it was deleted just now
            raise not_found("eval", eval_.id) from None
        raise
    engine.wake()
    return made


async def _against(store: Store, project: str, eval_: Eval, run: Run, given: Any) -> Run | None:
    """The run whose answers stand beside those of `run`; None where nobody asks for one."""
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise wrong_type("against", "the id of a run of the same eval", given)
    other = await store.runs.get(project, eval_.id, given, with_source=False)
    if other is None:
        raise invalid(f"against: this eval has no run {jsontext.quote(jsontext.shorten(given))}.", "against")
    if other.id == run.id:
        raise invalid("against: it is the run itself. Name another one.", "against")
    if other.imported is None and other.status in ("queued", "in_progress"):
        raise ApiError(
            409, "against: that run has not ended: wait until it has.", param="against", code="run_not_ended"
        )
    return other


async def _criteria(eval_: Eval, run: Run, body: Mapping[str, Any], expand: Expand) -> list[dict[str, Any]]:
    """Those of the new run, each with its id and with what references lead to now."""
    judges = _judges(body.get("judges"))
    asked_for = body.get("testing_criteria")
    try:
        stored = (run.criteria or eval_.criteria) if asked_for is None else await new_criteria(asked_for, expand)
        criteria = [await _pinned(criterion, expand) for criterion in stored]
    except InvalidGrader as error:
        raise invalid_grader(error, "testing_criteria") from None
    asked = {model for criterion in criteria for model in models_of(criterion)}
    for old in judges:
        if old not in asked:
            named = ", ".join(sorted(asked)) or "none"
            where = f"judges.{jsontext.shorten(old)}"
            raise invalid(f"{where}: no criterion asks this model. They ask: {named}.", where)
    criteria = [await _runnable(_asking(criterion, judges), expand) for criterion in criteria]
    try:
        refuse_unrunnable(criteria)
    except ApiError as error:
        advice = "Send testing_criteria without it, or with another in its place."
        raise ApiError(
            400, f"{error.message}\n{advice}", param=error.param, code=error.code, extra=error.extra
        ) from None
    return criteria


async def _pinned(criterion: dict[str, Any], expand: Expand) -> dict[str, Any]:
    if not references.may_hold(criterion) or criterion.get("runnable") is False:
        return criterion
    return await expand(criterion)


async def _runnable(criterion: dict[str, Any], expand: Expand) -> dict[str, Any]:
    """One that could not run is looked at again: it may have another judge now."""
    if criterion.get("runnable") is not False:
        return criterion
    grader = grader_of(criterion)
    reason = await why_unrunnable(grader, expand)
    notes = {} if reason is None else {"runnable": False, "reason": reason}
    return {**grader, "id": criterion["id"], **notes}


def _judges(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise wrong_type("judges", 'an object such as {"o3-mini": "gpt-5.6-sol"}', given)
    for old, new in given.items():
        if not isinstance(new, str) or not new:
            raise wrong_type(f"judges.{jsontext.shorten(old)}", "the name of a model", new)
    return given


def _asking(grader: dict[str, Any], judges: Mapping[str, str]) -> dict[str, Any]:
    """The grader with other judges, in those inside it too."""
    changed = dict(grader)
    model, inside = grader.get("model"), grader.get("graders")
    if isinstance(model, str):
        changed["model"] = judges.get(model, model)
    if isinstance(inside, dict):
        changed["graders"] = {
            key: _asking(child, judges) if isinstance(child, dict) else child for key, child in inside.items()
        }
    return changed


def models_of(grader: Any) -> set[str]:
    """The models that a grader asks, whether or not it could run."""
    if not isinstance(grader, dict):
        return set()
    inside = grader.get("graders")
    models = set().union(*(models_of(child) for child in inside.values())) if isinstance(inside, dict) else set()
    return models | {grader["model"]} if isinstance(grader.get("model"), str) else models


def data_source_of(run: Run) -> bytes:
    """The data source of a run, wherever it was made."""
    if run.received is None:
        return run.data_source or b"{}"
    return jsontext.encode(longjson.members(run.received).get("data_source", {}))


class _Copy:
    """The rows of a run on their way into a file, and what was noticed of them."""

    def __init__(self, store: Store, run: Run, against: Run | None = None) -> None:
        self._store = store
        self._run = run
        self._against = against
        self.rows = 0
        self.flattened = 0
        self.met = 0
        """Rows that have an answer of the other run beside theirs."""

    async def lines(self) -> AsyncIterator[bytes]:
        async for items in self._store.rows.stream(self._run):
            for line in await self._copied(items):
                yield line
            self.rows += len(items)
            self.flattened += sum(is_flattened(item.body) for item in items)

    async def _copied(self, items: Sequence[Item]) -> list[bytes]:
        against = self._against
        if against is None:
            return await asyncio.to_thread(lambda: [copied_row(*row_of(item.body)) for item in items])
        others = {item.idx: item for item in await self._store.rows.at(against, [item.idx for item in items])}
        return await asyncio.to_thread(lambda: [self._beside(item, others.get(item.idx), against.id) for item in items])

    def _beside(self, item: Item, other: Item | None, run_id: str) -> bytes:
        """A row with the other run's answer. Where there is none, nothing can be compared: that is an error of the row,
        and neither a win nor a defeat."""
        row, sample, shown, absent = row_of(item.body)
        other_row, other_sample, _, _ = ({}, None, None, None) if other is None else row_of(other.body)
        why = None
        if other is None:
            why = f"{run_id}, which it is compared with, has no such row."
        elif other_row != row:
            why = f"{run_id}, which it is compared with, has another item in this row."
        elif other_sample is None:
            why = f"{run_id}, which it is compared with, has no answer in this row."
        if why is None and isinstance(sample, dict):
            self.met += 1
            answer = read_sample(other_sample)
            sample = {**sample, "against": {"output_text": answer.text, "model": answer.members.get("model") or ""}}
        return copied_row(row, sample if why is None else None, shown, absent or why)


def row_of(body: bytes) -> tuple[dict[str, Any], Any, dict[str, Any] | None, str | None]:
    """An output item as a row to be graded: the item, its sample as graders see it, as it is shown, and why there is
    none."""
    item = jsontext.decode(body)
    row, shown = item.get("datasource_item"), item.get("sample")
    sample = readable_sample(shown)
    answers = [message for message in sample["output"] if message.get("role", "assistant") == "assistant"]
    absent = error_words(sample.get("error")) if not answers else None
    return (
        row if isinstance(row, dict) else {},
        _sample(sample, answers) if answers else None,
        shown if isinstance(shown, dict) else None,
        absent,
    )


def _sample(sample: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """As a chat completion: the last answer, with all calls of tools on the way to it."""
    calls = [call for message in answers for call in message.get("tool_calls") or []]
    message: dict[str, Any] = {"role": "assistant", "content": answers[-1]["content"]}
    if calls:
        message["tool_calls"] = calls
    if answers[-1].get("function_call"):
        message["function_call"] = answers[-1]["function_call"]
    reason = sample.get("finish_reason")
    choice = {"index": 0, "message": message, "finish_reason": reason if isinstance(reason, str) else "stop"}
    model = sample.get("model")
    return {"choices": [choice], **({"model": model} if isinstance(model, str) and model else {})}
