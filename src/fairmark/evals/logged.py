"""Runs over what is stored: the completions and responses that a data source chooses, copied when the run is created.

What is chosen is fixed then. A row's `item.input` are the messages that were sent, its sample what was answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidSource
from fairmark.evals.copied import copied_row
from fairmark.evals.item import given_sample
from fairmark.judges.responses import as_chat, as_messages
from fairmark.store import Chosen, Eval, Store, StoredCompletion
from fairmark.store.completions import Kind

KINDS: dict[str, Kind] = {"stored_completions": "chat", "responses": "response"}
MOST_ROWS = 10_000
"""Without a limit."""
HIGHEST_LIMIT = 1_000_000
LONGEST_CHAIN = 50
"""Of responses that go on from one another."""
_AT_ONCE = 50
_AT_ONCE_BYTES = 2_000_000
_TIMES = ("created_after", "created_before")
_FILTERS = ("metadata", "model", *_TIMES, "limit")
_OF_RESPONSES = (
    "instructions_search", "reasoning_effort", "temperature", "top_p", "users", "tools", "has_tool_calls",
    "allow_parallel_tool_calls",
)  # fmt: skip
Keep = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""Whether a response is meant: by its request, and by itself."""


class LogSelection(NamedTuple):
    chosen: Chosen
    keep: Keep | None
    limit: int


def is_logged(data_source: Any) -> bool:
    """Whether its rows are what is stored."""
    match data_source:
        case {"source": {"type": str() as kind}}:
            return kind in KINDS
        case _:
            return False


def with_inputs(data_source: dict[str, Any]) -> dict[str, Any]:
    """A model that is asked anew gets what was asked before, where nothing else is said."""
    if data_source.get("model") is None or data_source.get("input_messages") is not None:
        return data_source
    return {**data_source, "input_messages": {"type": "item_reference", "item_reference": "item.input"}}


def read_wanted(source: Mapping[str, Any], config: Mapping[str, Any]) -> LogSelection:
    """What a run's source chooses, within what its eval's config does. Raises InvalidSource."""
    kind = KINDS[source["type"]]
    known = _FILTERS if kind == "chat" else (*_FILTERS, *_OF_RESPONSES)
    for name in source:
        if name not in ("type", *known):
            near = jsontext.nearest(str(name), known)
            message = f"unknown.{near} Filters are: {', '.join(known)}."
            raise InvalidSource(f".source.{jsontext.shorten(str(name), 40)}", message, "unknown_parameter")
    metadata = [_pairs(source.get("metadata"), ".source.metadata")]
    if config.get("type") in ("logs", "stored_completions"):
        metadata.append(_pairs(config.get("metadata"), ".data_source_config.metadata"))
    for name, value in metadata[0].items():
        if metadata[-1].get(name, value) != value:
            message = f"found {jsontext.quote(value)}, but the eval is about {jsontext.quote(metadata[-1][name])} only."
            raise InvalidSource(f".source.metadata.{jsontext.shorten(name, 40)}", message)
    model = source.get("model")
    if model is not None and not isinstance(model, str):
        raise InvalidSource(".source.model", f"found {jsontext.describe(model)}. It takes a string.", "invalid_type")
    after, before = (_whole(source.get(name), f".source.{name}", 0) for name in _TIMES)
    limit = _whole(source.get("limit"), ".source.limit", 1) or MOST_ROWS
    if limit > HIGHEST_LIMIT:
        raise InvalidSource(".source.limit", f"found {limit}. It takes at most {HIGHEST_LIMIT}.")
    chosen = Chosen(kind, model, {**metadata[-1], **metadata[0]}, after, before)
    return LogSelection(chosen, _keep(source) if kind == "response" else None, limit)


def _pairs(value: Any, where: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidSource(where, f"found {jsontext.describe(value)}. It takes an object.", "invalid_type")
    for name, text in value.items():
        if not isinstance(text, str):
            place = f"{where}.{jsontext.shorten(name, 40)}"
            raise InvalidSource(place, f"found {jsontext.describe(text)}. It takes a string.", "invalid_type")
    return value


def _whole(value: Any, where: str, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
        message = f"found {jsontext.describe(value)}. It takes a whole number, {least} or more."
        raise InvalidSource(where, message, "invalid_type" if not isinstance(value, int) else "invalid_value")
    return value


def _keep(source: Mapping[str, Any]) -> Keep | None:
    """The filters that look into a response and into how it was asked for."""
    tests: list[Keep] = []
    words = _typed(source, "instructions_search", str, "a string")
    if words:
        tests.append(lambda asked, said: words.casefold() in _instructions(asked, said).casefold())
    effort = _typed(source, "reasoning_effort", str, "a string")
    if effort is not None:
        tests.append(lambda asked, said: effort in (_effort(asked), _effort(said)))
    for name in ("temperature", "top_p"):
        number = _typed(source, name, (int, float), "a number")
        if number is not None:
            tests.append(lambda asked, said, name=name, number=number: number in (asked.get(name), said.get(name)))  # type: ignore[misc]
    for name, read in (("users", _users), ("tools", _tools)):
        names = _typed(source, name, list, "a list of strings")
        if names:
            tests.append(lambda asked, said, names=names, read=read: any(one in names for one in read(asked, said)))  # type: ignore[misc]
    calls = _typed(source, "has_tool_calls", bool, "true or false")
    if calls is not None:
        tests.append(lambda asked, said: calls == bool(as_chat(said)["output_tools"]))
    parallel = _typed(source, "allow_parallel_tool_calls", bool, "true or false")
    if parallel is not None:
        tests.append(lambda asked, said: said.get("parallel_tool_calls", True) == parallel)
    return (lambda asked, said: all(test(asked, said) for test in tests)) if tests else None


def _typed(source: Mapping[str, Any], name: str, kind: Any, wanted: str) -> Any:
    value = source.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidSource(f".source.{name}", f"found {jsontext.describe(value)}. It takes {wanted}.", "invalid_type")
    return value


def _effort(of: Mapping[str, Any]) -> Any:
    reasoning = of.get("reasoning")
    return reasoning.get("effort") if isinstance(reasoning, Mapping) else None


# Of an imported response there is no request: what was asked for stands in what was said.


def _instructions(asked: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    told = asked.get("instructions") or said.get("instructions") or ""
    return told if isinstance(told, str) else jsontext.write(told)


def _users(asked: Mapping[str, Any], said: Mapping[str, Any]) -> Sequence[Any]:
    return [user for user in (asked.get("user"), said.get("user")) if user is not None]


def _tools(asked: Mapping[str, Any], said: Mapping[str, Any]) -> Sequence[Any]:
    tools = asked.get("tools") or said.get("tools")
    listed = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return [name for tool in listed for name in (tool.get("type"), tool.get("name"))]


class CopiedLog(NamedTuple):
    rows_file: str
    total: int


async def copy_logged(store: Store, project: str, eval_: Eval, data_source: Mapping[str, Any]) -> CopiedLog:
    """The rows of a run, in a file of its own. Raises InvalidSource where nothing is chosen."""
    wanted = read_wanted(data_source["source"], eval_.data_source_config)
    copying = _Copying(store, project, wanted)
    name = await store.row_files.write(copying.lines())
    if copying.total:
        return CopiedLog(name, copying.total)
    await store.row_files.delete([name])
    what = "chat completion" if wanted.chosen.kind == "chat" else "response"
    raise InvalidSource(
        ".source",
        f"it chooses no stored {what} of this project. They are stored when they are asked for through this server "
        "with store: true, or imported.",
        "no_rows",
    )


class _Copying:
    def __init__(self, store: Store, project: str, wanted: LogSelection) -> None:
        self._store = store
        self._project = project
        self._wanted = wanted
        self.total = 0

    async def lines(self) -> AsyncIterator[bytes]:
        waiting: list[tuple[StoredCompletion, bytes]] = []
        size = 0
        async for completion, input_ in self._store.completions.newest(self._project, self._wanted.chosen):
            waiting.append((completion, input_))
            size += completion.size
            if len(waiting) >= _AT_ONCE or size >= _AT_ONCE_BYTES:
                async for line in self._rows(waiting):
                    yield line
                waiting, size = [], 0
                if self.total >= self._wanted.limit:
                    return
        async for line in self._rows(waiting):
            yield line

    async def _rows(self, waiting: list[tuple[StoredCompletion, bytes]]) -> AsyncIterator[bytes]:
        for row in await asyncio.to_thread(_read_all, waiting, self._wanted.keep):
            if self.total >= self._wanted.limit:
                return
            before = await self._before(row.previous) if row.previous is not None else []
            self.total += 1
            yield await asyncio.to_thread(row.line, before)

    async def _before(self, previous: str) -> list[Any]:
        """The items that came before, as far back as they are stored."""
        chain: list[list[Any]] = []
        seen: set[str] = set()
        id_: str | None = previous
        while id_ is not None and id_ not in seen and len(chain) < LONGEST_CHAIN:
            seen.add(id_)
            completion = await self._store.completions.get(self._project, "response", id_)
            inputs = await self._store.completions.read_input(self._project, "response", id_)
            if completion is None or inputs is None:
                break
            said = jsontext.decode(completion.body)
            chain.append([*(jsontext.decode(bytes(one)) for one in inputs), *(said.get("output") or [])])
            asked = jsontext.decode(completion.request)
            id_ = _previous(asked, said)
        return [item for items in reversed(chain) for item in items]


def _previous(asked: Mapping[str, Any], said: Mapping[str, Any]) -> str | None:
    id_ = asked.get("previous_response_id") or said.get("previous_response_id")
    return id_ if isinstance(id_, str) else None


_SAMPLING = ("temperature", "top_p", "seed")


class _LoggedRow(NamedTuple):
    completion: StoredCompletion
    input: list[Any]
    asked: dict[str, Any]
    said: dict[str, Any]

    @property
    def previous(self) -> str | None:
        return _previous(self.asked, self.said) if self.completion.kind == "response" else None

    def line(self, before: list[Any]) -> bytes:
        completion = self.completion
        if completion.kind == "chat":
            messages = [_message(message) for message in self.input if isinstance(message, dict)]
            sample = {name: value for name, value in self.said.items() if name in ("id", "model", "choices", "usage")}
        else:
            messages = self._of_response(before)
            sample = as_chat(self.said)
        item = {
            "input": messages,
            "id": completion.id,
            "model": completion.model,
            "created_at": completion.created_at,
            "metadata": completion.metadata,
        }
        shown = {
            **given_sample(sample),
            "input": messages,
            **{name: value for name in _SAMPLING if (value := self.asked.get(name, self.said.get(name))) is not None},
        }
        return copied_row(item, sample, shown)

    def _of_response(self, before: list[Any]) -> list[dict[str, Any]]:
        known = {item["id"]: item for item in before if isinstance(item, dict) and isinstance(item.get("id"), str)}
        items = [known.get(item.get("id"), item) if _is_reference(item) else item for item in self.input]
        instructions = self.asked.get("instructions") or self.said.get("instructions")
        first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
        return [*first, *as_messages([*before, *items])]


def _is_reference(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "item_reference"


def _message(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A message as it was sent."""
    message = {
        name: value for name, value in stored.items() if name not in ("id", "content_parts") and value is not None
    }
    parts = stored.get("content_parts")
    return {**message, "content": parts if parts is not None else stored.get("content")}


def _read_all(completions: Sequence[tuple[StoredCompletion, bytes]], keep: Keep | None) -> list[_LoggedRow]:
    rows = []
    for completion, input_ in completions:
        row = _LoggedRow(
            completion,
            jsontext.decode(input_),
            jsontext.decode(completion.request) or {},
            jsontext.decode(completion.body),
        )
        if keep is None or keep(row.asked, row.said):
            rows.append(row)
    return rows
