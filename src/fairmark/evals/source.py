"""The rows of a run: its data source, checked when the run is created and read line by line when it is worked off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.data.dataset import DataFile
from fairmark.errors import GradingFailed, InvalidData, InvalidGrader, InvalidSource
from fairmark.graders.judging import read_sampling
from fairmark.row import split_row
from fairmark.store import Store
from fairmark.text.messages import Messages
from fairmark.text.template import Template, Variable

TYPES = ("jsonl", "completions", "responses")
_LOG_SOURCES = ("stored_completions", "responses")
_MOST_TOOLS = 128


class SourceRow(NamedTuple):
    """A row of a run, by its position from 0."""

    position: int
    item: dict[str, Any]
    sample: Any


class Sampling(NamedTuple):
    """How a row's sample is got from the model under test."""

    model: str
    messages: Messages | Variable
    sampling: dict[str, Any]
    more: dict[str, Any]


class UploadedFile(NamedTuple):
    """A file by its id: where it lies, and what its owner calls it."""

    path: Path
    name: str


class Source:
    """A data source that was looked at and can be used."""

    def __init__(self, given: dict[str, Any], file: UploadedFile | None) -> None:
        self._file = file
        self.sampling = _sampling(given)
        self._content: list[Any] | None = None
        source = given.get("source")
        if not isinstance(source, dict):
            found = "missing" if source is None else f"found {jsontext.describe(source)}"
            raise InvalidSource(".source", f'{found}. It takes an object such as {{"type": "file_id", "id": "…"}}.')
        match source.get("type"):
            case "file_content":
                content = source.get("content")
                if not isinstance(content, list) or not content:
                    found = "an empty list" if content == [] else jsontext.describe(content)
                    raise InvalidSource(".source.content", f'found {found}. It takes rows: [{{"item": {{…}}}}, …].')
                self._content = content
            case "file_id":
                if file is None:
                    found = jsontext.describe(source.get("id"))
                    raise InvalidSource(".source.id", f"found {found}. There is no such file.", "file_not_found")
            case kind if kind in _LOG_SOURCES:
                message = f"{kind}: this server keeps no log of completions. Use file_content or file_id."
                raise InvalidSource(".source.type", message, "unsupported_source")
            case kind:
                found = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
                raise InvalidSource(".source.type", f"{found}. Use one of: file_content, file_id.")

    def check(self) -> int:
        """Reads every row once and counts them. Raises InvalidSource for the first that is none."""
        for index, given in enumerate(self._content or ()):
            problem = _unwrapped(given)
            if problem is not None:
                raise InvalidSource(f".source.content[{index}]", problem)
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
            for found in DataFile(str(self._file.path), _split, self._file.name):
                yield found if isinstance(found, InvalidData) else (found.item, found.sample)
        except InvalidData as error:
            raise InvalidSource(".source.id", str(error).removeprefix(f"{self._file.path}: ")) from None


def _split(given: Any) -> tuple[dict[str, Any], Any]:
    item, sample = split_row(given)
    if jsontext.deeper_than(given, jsontext.MAX_DEPTH):
        raise GradingFailed(f"row: nested deeper than {jsontext.MAX_DEPTH} levels.")
    return dict(item), sample


def _unwrapped(given: Any) -> str | None:
    """What is wrong with a row in a request, which has an item. Only a line of a file may be the item itself: here it
    would be a misspelt key that nobody is told of."""
    if not isinstance(given, dict) or isinstance(given.get("item"), dict):
        return None
    if "item" in given:
        found = f"found {jsontext.describe(given['item'])}"
    else:
        keys = ", ".join(jsontext.shorten(str(key), 40) for key in list(given)[:10])
        found = f"missing. The row has: {keys}" if keys else "missing"
    return f'item: {found}. A row is {{"item": {{…}}, "sample": …}}.'


async def find_file(store: Store, project: str, given: Any) -> UploadedFile | None:
    """The file that a data source names; None where it names none, or one that is not there."""
    match given:
        case {"source": {"type": "file_id", "id": str() as file_id}}:
            found = await store.files.get(project, file_id)
            return None if found is None else UploadedFile(store.files.content(found.id), found.filename)
        case _:
            return None


def open_source(given: Any, file: UploadedFile | None = None) -> Source:
    """The data source of a run; `file` is the one it names. Raises InvalidSource."""
    if not isinstance(given, dict):
        found = "missing" if given is None else f"found {jsontext.describe(given)}"
        raise InvalidSource("", f"{found}. It takes an object with a type: {', '.join(TYPES)}.", "invalid_type")
    if given.get("type") not in TYPES:
        kind = given.get("type")
        found = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
        raise InvalidSource(".type", f"{found}. Use one of: {', '.join(TYPES)}.")
    return Source(given, file)


def _sampling(given: dict[str, Any]) -> Sampling | None:
    """How to sample; None where the rows bring their samples, or there are none to be got."""
    messages, model = given.get("input_messages"), given.get("model")
    if given["type"] == "jsonl" or (messages is None and model is None):
        return None
    if not isinstance(model, str) or not model:
        found = "missing" if model is None else f"found {jsontext.describe(model)}"
        raise InvalidSource(".model", f"{found}. It takes the name of the model to sample.")
    parameters = given.get("sampling_params")
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidSource(".sampling_params", f"found {jsontext.describe(parameters)}. It takes an object.")
    parameters = parameters or {}
    try:
        sampling = {name: value for name, value in (read_sampling(parameters) or {}).items() if value is not None}
    except InvalidGrader as error:
        problem = error.problems[0]
        raise InvalidSource(f".sampling_params{problem.path}", problem.message, problem.code) from None
    return Sampling(model, _messages(messages), sampling, _more(given, parameters))


def _messages(given: Any) -> Messages | Variable:
    match given:
        case {"type": "template", "template": template}:
            try:
                messages = Messages(template)
            except InvalidGrader as error:
                problem = error.problems[0]
                raise InvalidSource(f".input_messages.template{problem.path}", problem.message, problem.code) from None
            for variable in (each for template in messages.templates for each in template.variables):
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
                ".input_messages", f"found {jsontext.shorten(jsontext.write(given))}. {_INPUT_MESSAGES}"
            )


_INPUT_MESSAGES = (
    'It takes {"type": "template", "template": [messages]} or '
    '{"type": "item_reference", "item_reference": "item.messages"}.'
)


def _more(given: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The form of the answer and the tools, as the chat completions API takes them."""
    # Users ask for speech beside the sampling parameters, or among them.
    asked = {name: given.get(name, parameters.get(name)) for name in ("modalities", "audio")}
    more: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    wanted = parameters.get("response_format")
    where = ".sampling_params.response_format"
    if given["type"] == "responses":
        text = parameters.get("text")
        wanted = text.get("format") if isinstance(text, dict) else None
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


def _tool(index: int, tool: Any) -> dict[str, Any]:
    match tool:
        case {"type": "function", "function": {"name": str()}}:
            return dict(tool)
        case {"type": "function", "name": str()}:  # as the responses API writes it
            return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
        case {"type": str() as kind}:
            message = f"{jsontext.quote(kind)} is a tool that only its provider can run. Use function tools."
            raise InvalidSource(f".sampling_params.tools[{index}].type", message, "unsupported_tool")
        case _:
            raise InvalidSource(f".sampling_params.tools[{index}]", "It takes a function tool.")
