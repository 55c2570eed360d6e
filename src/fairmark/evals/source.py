"""The rows of a run: its data source, checked when the run is created and read line by line when it is worked off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fairmark import jsontext, longjson
from fairmark.data.dataset import DataFile
from fairmark.errors import GradingFailed, InvalidData, InvalidGrader, InvalidSource
from fairmark.graders.judging import SAMPLING, read_sampling, unused_sampling
from fairmark.longjson import LongList
from fairmark.row import split_row
from fairmark.store import Store
from fairmark.text.messages import Messages
from fairmark.text.template import Template, Variable

TYPES = ("jsonl", "completions", "responses")
_MOST_TOOLS = 128
_FOR_HOSTED = ("tool_choice", "include", "parallel_tool_calls", "max_tool_calls")
"""What goes to a provider that runs tools itself, besides `text` and `tools`."""
# The parameters of each type besides those of every model.
_USED = {
    "completions": ("response_format", "tools", "modalities", "audio"),
    "responses": ("text", "tools", "modalities", "audio"),
}


class SourceRow(NamedTuple):
    """A row of a run, by its position from 0."""

    position: int
    item: dict[str, Any]
    sample: Any
    shown: dict[str, Any] | None = None
    """What an output item shows as its sample, where that is more than what graders see of it."""
    absent: str | None = None
    """Why it has no sample, where one was asked for in vain: nothing can be graded then."""


class Sampling(NamedTuple):
    """How a row's sample is got from the model under test."""

    model: str
    messages: Messages | Variable
    sampling: dict[str, Any]
    more: dict[str, Any]
    hosted: tuple[str, ...] = ()
    """Tools that only its provider can run, which it is asked to do."""


NOT_HERE = (
    "its content is not on this server: it was deleted just now, or lies at another server. Servers on one database "
    "need one FAIRMARK_HOME between them, where files lie."
)


class UploadedFile(NamedTuple):
    """A file by its id: where it lies, and what its owner calls it."""

    path: Path
    name: str


class RowSource(Protocol):
    """Where the rows of a run come from."""

    sampling: Sampling | None

    @property
    def path(self) -> Path | None:
        """The file that they are in, where there is one."""
        ...

    def rows(self) -> Iterator[SourceRow]:
        """From the first to the last, in the same order each time. Raises InvalidSource."""
        ...


class Source:
    """A data source that was looked at and can be used."""

    def __init__(self, data_source: dict[str, Any], file: UploadedFile | None) -> None:
        self._file = file
        self.sampling = read_model_sampling(data_source)
        self._content: list[Any] | LongList | None = None
        source = data_source.get("source")
        if not isinstance(source, dict):
            shown = "missing" if source is None else f"found {jsontext.describe(source)}"
            message = f'{shown}. It takes an object such as {{"type": "file_id", "id": "…"}}.'
            raise InvalidSource(".source", message, _code(source, "invalid_type"))
        match source.get("type"):
            case "file_content":
                content = source.get("content")
                if not isinstance(content, (list, LongList)) or not content:
                    shown = "an empty list" if content == [] else jsontext.describe(content)
                    raise InvalidSource(".source.content", f'found {shown}. It takes rows: [{{"item": {{…}}}}, …].')
                self._content = content
            case "file_id":
                if file is None:
                    shown = jsontext.describe(source.get("id"))
                    raise InvalidSource(".source.id", f"found {shown}. There is no such file.", "file_not_found")
                if not file.path.exists():
                    raise InvalidSource(".source.id", NOT_HERE, "file_not_here")
            case kind:
                shown = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
                known = "file_content, file_id, stored_completions, responses"
                raise InvalidSource(".source.type", f"{shown}. Use one of: {known}.", _code(kind))

    @property
    def path(self) -> Path | None:
        return None if self._content is not None or self._file is None else self._file.path

    def check(self) -> int:
        """Reads every row once and counts them. Raises InvalidSource for the first that is none."""
        try:
            for index, entry in enumerate(self._content or ()):
                problem = _unwrapped(entry)
                if problem is not None:
                    raise InvalidSource(f".source.content[{index}]", problem)
        except jsontext.NotJson as error:  # of a long list, which is read only now
            raise InvalidSource(".source.content", f"The body is not JSON: {error}.", "invalid_json") from None
        count = 0
        for row in self._rows():
            if isinstance(row, InvalidData):
                raise InvalidSource(self._where(count), str(row))
            count += 1
        return count

    def rows(self) -> Iterator[SourceRow]:
        for index, row in enumerate(self._rows()):
            if isinstance(row, InvalidData):  # it was read before, so the file has changed since
                raise InvalidSource(self._where(index), str(row))
            item, sample = row
            yield SourceRow(index, item, sample)

    def _where(self, index: int) -> str:
        return ".source.id" if self._content is None else f".source.content[{index}]"

    def _rows(self) -> Iterator[tuple[dict[str, Any], Any] | InvalidData]:
        if self._content is not None:
            for row in self._content:
                try:
                    yield _split(row)
                except GradingFailed as error:
                    yield InvalidData(str(error))
            return
        assert self._file is not None  # noqa: S101  # rows are here or there
        try:
            for data_row in DataFile(str(self._file.path), _split, self._file.name, decode=read_row):
                yield data_row if isinstance(data_row, InvalidData) else (data_row.item, data_row.sample)
        except InvalidData as error:
            raise InvalidSource(".source.id", str(error).removeprefix(f"{self._file.path}: ")) from None


def read_row(text: bytes) -> Any:
    """A row, or several, of JSON. Long lists in it may be LongLists; those of items stay so."""
    return longjson.decode(text, rows=True)


def _split(row: Any) -> tuple[dict[str, Any], Any]:
    item, sample = split_row(row)
    if jsontext.deeper_than(row, jsontext.MAX_DEPTH):
        raise GradingFailed(f"row: nested deeper than {jsontext.MAX_DEPTH} levels.")
    return dict(item), longjson.whole(sample)


def _unwrapped(row: Any) -> str | None:
    """What is wrong with a row in a request, which has an item. Only a line of a file may be the item itself: here it
    would be a misspelt key that nobody is told of."""
    if not isinstance(row, dict) or isinstance(row.get("item"), dict):
        return None
    if "item" in row:
        mistake = f"found {jsontext.describe(row['item'])}"
    else:
        keys = ", ".join(jsontext.shorten(str(key), 40) for key in list(row)[:10])
        mistake = f"missing. The row has: {keys}" if keys else "missing"
    return f'item: {mistake}. A row is {{"item": {{…}}, "sample": …}}.'


async def find_file(store: Store, project: str, data_source: Any) -> UploadedFile | None:
    """The file that a data source names; None where it names none, or one that is not there."""
    match data_source:
        case {"source": {"type": "file_id", "id": str() as file_id}}:
            file = await store.files.get(project, file_id)
            return None if file is None else UploadedFile(store.files.content(file.id), file.filename)
        case _:
            return None


def open_source(data_source: Any, file: UploadedFile | None = None) -> Source:
    """The data source of a run; `file` is the one it names. Raises InvalidSource."""
    check_type(data_source)
    return Source(data_source, file)


def _code(value: Any, otherwise: str = "invalid_value") -> str:
    return "missing_required_parameter" if value is None else otherwise


def check_type(data_source: Any) -> None:
    """Raises InvalidSource for what is no data source at all."""
    if not isinstance(data_source, dict):
        mistake = "missing" if data_source is None else f"found {jsontext.describe(data_source)}"
        raise InvalidSource("", f"{mistake}. It takes an object with a type: {', '.join(TYPES)}.", "invalid_type")
    if data_source.get("type") not in TYPES:
        kind = data_source.get("type")
        mistake = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
        raise InvalidSource(".type", f"{mistake}. Use one of: {', '.join(TYPES)}.", _code(kind))


def read_model_sampling(data_source: dict[str, Any]) -> Sampling | None:
    """How to sample; None where the rows bring their samples, or there are none to be got."""
    messages, model = data_source.get("input_messages"), data_source.get("model")
    if data_source["type"] == "jsonl" or (messages is None and model is None):
        return None
    if not isinstance(model, str) or not model:
        mistake = "missing" if model is None else f"found {jsontext.describe(model)}"
        message = f"{mistake}. It takes the name of the model to sample."
        raise InvalidSource(".model", message, _code(model, "invalid_value" if model == "" else "invalid_type"))
    parameters = data_source.get("sampling_params")
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidSource(".sampling_params", f"found {jsontext.describe(parameters)}. It takes an object.")
    parameters = parameters or {}
    try:
        sampling = {name: value for name, value in (read_sampling(parameters) or {}).items() if value is not None}
    except InvalidGrader as error:
        problem = error.problems[0]
        raise InvalidSource(f".sampling_params{problem.path}", problem.message, problem.code) from None
    hosted = _hosted(data_source, parameters)
    more = _as_response(parameters) if hosted else _more(data_source, parameters)
    return Sampling(model, _messages(messages), sampling, more, hosted)


def unused_fields(data_source: dict[str, Any]) -> list[str]:
    """What a data source that can be used says in vain: of each such field where it stands, and what to use instead."""
    kind, parameters = data_source["type"], data_source.get("sampling_params")
    if kind == "jsonl":
        given = [name for name in ("model", "input_messages", "sampling_params") if data_source.get(name) is not None]
        why = "a run of type jsonl grades its rows as they are. Use type completions or responses to ask a model."
        return [f"data_source.{name}: not used: {why}" for name in given]
    if data_source.get("model") is None or not isinstance(parameters, dict):
        return []
    used = (*SAMPLING, *_USED[kind])
    if _hosted(data_source, parameters):
        used += _FOR_HOSTED
    misplaced = {"response_format": "text.format"} if kind == "responses" else {"text": "response_format"}
    return [
        f"data_source.sampling_params.{name}: not used in a run of type {kind}."
        + (f" Use {misplaced[name]}." if name in misplaced else hint)
        for name, hint in unused_sampling(parameters, used)
    ]


def _messages(value: Any) -> Messages | Variable:
    match value:
        case {"type": "template", "template": template}:
            try:
                messages = Messages(template)
            except InvalidGrader as error:
                problem = error.problems[0]
                raise InvalidSource(f".input_messages.template{problem.path}", problem.message, problem.code) from None
            for variable in (used for template in messages.templates for used in template.variables):
                if variable.namespace != "item":
                    message = f"{variable}: there is no sample yet while one is being made. Use item."
                    raise InvalidSource(".input_messages.template", message)
            return messages
        case {"type": "item_reference", "item_reference": str() as path}:
            try:
                (variable,) = Template("{{ " + path + " }}").variables
            except (InvalidGrader, ValueError):
                message = f"found {jsontext.quote(path)}. It takes a path: item.messages."
                raise InvalidSource(".input_messages.item_reference", message) from None
            if variable.namespace != "item":
                raise InvalidSource(".input_messages.item_reference", f"found {jsontext.quote(path)}. Use item.")
            return variable
        case None:
            raise InvalidSource(".input_messages", f"missing. {_INPUT_MESSAGES}", "missing_required_parameter")
        case _:
            raise InvalidSource(
                ".input_messages", f"found {jsontext.shorten(jsontext.write(value))}. {_INPUT_MESSAGES}"
            )


_INPUT_MESSAGES = (
    'It takes {"type": "template", "template": [messages]} or '
    '{"type": "item_reference", "item_reference": "item.messages"}.'
)


def _more(data_source: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The form of the answer and the tools, as the chat completions API takes them."""
    # Users ask for speech beside the sampling parameters, or among them.
    asked = {name: data_source.get(name, parameters.get(name)) for name in ("modalities", "audio")}
    more: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    wanted = parameters.get("response_format")
    where = ".sampling_params.response_format"
    if data_source["type"] == "responses":
        text = parameters.get("text")
        if text is not None and not isinstance(text, dict):
            message = f'found {jsontext.describe(text)}. It takes an object: {{"format": {{…}}}}.'
            raise InvalidSource(".sampling_params.text", message, "invalid_type")
        wanted = (text or {}).get("format")
        where = ".sampling_params.text.format"
        if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
            wanted = {"type": "json_schema", "json_schema": {k: v for k, v in wanted.items() if k != "type"}}
    if wanted is not None:
        if not isinstance(wanted, dict) or wanted.get("type") not in ("text", "json_object", "json_schema"):
            message = f"found {jsontext.shorten(jsontext.write(wanted))}. Its type is text, json_object or json_schema."
            raise InvalidSource(where, message)
        if wanted["type"] != "text":
            more["response_format"] = wanted
    tools = parameters.get("tools")
    if tools:
        if not isinstance(tools, list) or len(tools) > _MOST_TOOLS:
            raise InvalidSource(".sampling_params.tools", f"It takes a list of at most {_MOST_TOOLS} functions.")
        more["tools"] = [_tool(index, tool) for index, tool in enumerate(tools)]
    return more


def _hosted(data_source: dict[str, Any], parameters: dict[str, Any]) -> tuple[str, ...]:
    """The kinds of tools that only a provider can run."""
    tools = parameters.get("tools")
    if data_source["type"] != "responses" or not isinstance(tools, list):
        return ()
    kinds = [tool.get("type") for tool in tools if isinstance(tool, dict)]
    return tuple(dict.fromkeys(kind for kind in kinds if isinstance(kind, str) and kind not in ("function", "")))


def _as_response(parameters: dict[str, Any]) -> dict[str, Any]:
    """The form of the answer and the tools, as the responses API takes them: the provider looks at them."""
    tools = parameters["tools"]
    if len(tools) > _MOST_TOOLS:
        raise InvalidSource(".sampling_params.tools", f"It takes a list of at most {_MOST_TOOLS} tools.")
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            raise InvalidSource(f".sampling_params.tools[{index}]", "It takes a tool, an object with a type.")
    more = {name: parameters[name] for name in ("text", *_FOR_HOSTED) if parameters.get(name) is not None}
    return {**more, "tools": [_flat(tool) for tool in tools]}


def _flat(tool: dict[str, Any]) -> dict[str, Any]:
    """A function as the responses API writes it."""
    match tool:
        case {"type": "function", "function": dict() as function}:
            return {"type": "function", **function}
        case _:
            return tool


def _tool(index: int, tool: Any) -> dict[str, Any]:
    match tool:
        case {"type": "function", "function": {"name": str()}}:
            return dict(tool)
        case {"type": "function", "name": str()}:  # as the responses API writes it
            return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
        case {"type": str() as kind}:
            only = "is a tool that only its provider can run, in runs of type responses"
            message = f"{jsontext.quote(kind)} {only}. Use functions."
            raise InvalidSource(f".sampling_params.tools[{index}].type", message, "unsupported_tool")
        case _:
            raise InvalidSource(f".sampling_params.tools[{index}]", "It takes a function tool.")
