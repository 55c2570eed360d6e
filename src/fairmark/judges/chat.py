"""Gets a structured answer out of a chat model, by the best way the model knows.

The ways, best first: a JSON schema that the server enforces, a tool call, JSON mode, plain text. A server that refuses
one is asked by the next, and that is remembered for the model. An answer that cannot be read is sent back once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from fairmark import jsontext
from fairmark.errors import GradingFailed, JudgeFailed, JudgeRefused, JudgeUnreadable, NotAnAnswer, Rejected
from fairmark.judgement import Judgement
from fairmark.judges.base import Completion, Prompt, Question
from fairmark.judges.client import Tab
from fairmark.judges.gguf import EMBEDDED
from fairmark.judges.logprobs import MOST_LISTED, listed_at_result
from fairmark.judges.models import RUNGS, Model, Rung
from fairmark.judges.reply import Said
from fairmark.judges.responses import as_chat, as_items

_ABOUT_FORMAT = re.compile(
    r"response_format|json_schema|json_object|structured|schema|grammar|tool|function|minimum", re.IGNORECASE
)
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|unrecognized|unknown|unexpected|does not support|only the default"
)
# Said of questions that are too long, where the "functions" may be counted among others.
_TOO_LONG = re.compile(r"context[ _](?:length|window|size)|too long|too many tokens", re.IGNORECASE)
_REFUSES_FORM = frozenset({400, 404, 415, 422, 501})
_TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")

# Models on this machine: steps at most, and characters of each text. What the smallest one says is not worth more.
_BOUNDS = {EMBEDDED: (2, 120)}
_OTHER_BOUNDS = (16, 2000)


class Sender(Protocol):
    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]: ...


class Chat:
    """Asks chat models one question at a time; what it learns about a model serves the next."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._rungs: dict[str, int] = {}
        self._left_out: dict[str, set[str]] = {}

    async def ask(self, model: Model, question: Question, tab: Tab | None = None) -> Judgement:
        """What came of the question. Raises nothing for what the judge or its server do."""
        tab = tab or Tab()
        said: Said | None = None
        reply: dict[str, Any] = {}
        value: dict[str, Any] = {}
        failure: GradingFailed | None = None
        try:
            _check_blocks(model, question.messages)
            messages = _as_known(model, question.messages)
            mended = False
            while True:
                rung, reply = await self._send(model, question, messages, tab)
                tab.spend(reply)
                said = Said(model.name, reply)
                said.check()
                try:
                    value = self._read(said, question, rung in ("json_schema", "tools"))
                    break
                except NotAnAnswer as wrong:
                    if mended:
                        raise JudgeUnreadable(f"{model.name}: {wrong}.") from None
                    messages = _sent_back(messages, said.output, str(wrong), question)
                    mended = True
        except GradingFailed as error:
            error.args = (model.provider.hide(str(error)),)  # it may quote what the judge said
            failure = error
        sampled = reply.get("model")
        return Judgement(
            question.model,
            question.messages,
            question.sampling,
            sampled if isinstance(sampled, str) and sampled else None,
            said.output if said else "",
            value,
            said.finish_reason if said else None,
            tab.usage,
            model.cost(tab.usage),
            tab.seconds,
            tab.attempts,
            model.warning,
            failure,
            listed_at_result(said.text, said.choice) if said is not None and question.logprobs else None,
        )

    async def complete(self, model: Model, prompt: Prompt, tab: Tab) -> Completion:
        """What the model answers, in its own form. Raises nothing for what the model or its server do; NotGraded where
        the tab says that nothing may be spent any more."""
        reply: dict[str, Any] = {}
        failure: GradingFailed | None = None
        try:
            _check_blocks(model, prompt.messages)
            messages = _as_known(model, prompt.messages)

            def body(left_out: set[str]) -> dict[str, Any]:
                asked = {"model": model.real_name, "messages": messages}
                return {**asked, **_parameters(model, prompt.sampling, left_out), **prompt.more}

            if prompt.hosted:
                reply = await self._respond(model, prompt, messages, tab)
            else:
                reply = await self._post(model, body, tab)
            tab.spend(reply)
        except GradingFailed as error:
            failure = error
        return Completion(reply, tab.usage, model.cost(tab.usage), tab.seconds, tab.attempts, failure)

    async def _respond(
        self, model: Model, prompt: Prompt, messages: Sequence[Mapping[str, Any]], tab: Tab
    ) -> dict[str, Any]:
        """The answer of a model whose provider runs tools for it, as a chat completion. Nothing is left with the
        provider."""

        def body(left_out: set[str]) -> dict[str, Any]:
            asked = {"model": model.real_name, "input": as_items(messages), "store": False}
            return {**asked, **_of_responses(_parameters(model, prompt.sampling, left_out)), **prompt.more}

        try:
            return as_chat(await self._post(model, body, tab, "responses"))
        except Rejected as rejected:
            tools = ", ".join(prompt.hosted)
            told = f"{rejected} Its provider was asked to run tools of its own: {tools}."
            if rejected.status in (404, 405):
                told += " Only providers with a responses API run tools."
            raise JudgeFailed(told) from None

    @staticmethod
    def _read(said: Said, question: Question, enforced: bool) -> dict[str, Any]:
        if enforced:
            try:
                return said.read(question.shape, None)
            except NotAnAnswer:
                if said.arguments is not None:
                    raise
        return said.read(question.shape, question.quoted())

    async def _send(
        self, model: Model, question: Question, messages: Sequence[Mapping[str, Any]], tab: Tab
    ) -> tuple[Rung, dict[str, Any]]:
        """Asks by the best way the model is not known to refuse."""
        first = RUNGS.index(model.structured_output) if model.structured_output else 0
        while True:
            at = max(first, self._rungs.get(model.key, 0))
            try:
                return RUNGS[at], await self._post(model, partial(_body, model, question, messages, RUNGS[at]), tab)
            except Rejected as rejected:
                if at + 1 == len(RUNGS) or not _is_about_format(rejected):
                    raise
                # Others may have learned it meanwhile; nobody climbs back.
                self._rungs[model.key] = max(at + 1, self._rungs.get(model.key, 0))

    async def _post(
        self,
        model: Model,
        body_of: Callable[[set[str]], dict[str, Any]],
        tab: Tab,
        path: str = "chat/completions",
    ) -> dict[str, Any]:
        """Sends a body that leaves out what the model is known not to take, and learns more of that."""
        left_out = self._left_out.setdefault(model.key, set())
        while True:
            # Others may learn of the same parameter while this is under way.
            known = set(left_out)
            body = body_of(known)
            try:
                return await self._sender.post(model, path, body, tab)
            except Rejected as rejected:
                if rejected.code == "content_filter":
                    raise JudgeRefused(str(rejected)) from None
                parameter = _parameter(rejected, body)
                if parameter is None or parameter in known:
                    raise
                left_out.add(parameter)


def _is_about_format(rejected: Rejected) -> bool:
    said = f"{rejected.param} {rejected.code} {rejected.said or rejected}"
    is_refusal = rejected.status in _REFUSES_FORM and _TOO_LONG.search(said) is None
    return is_refusal and _ABOUT_FORMAT.search(said) is not None


def _parameter(rejected: Rejected, body: Mapping[str, Any]) -> str | None:
    """The sampling parameter that the server does not know."""
    if rejected.status not in (400, 422):
        return None
    said = (rejected.said or str(rejected)).lower()
    if "logprobs" in body and "logprob" in f"{rejected.param} {said}":
        return "logprobs"
    if rejected.code not in ("unsupported_parameter", "unsupported_value") and not _UNSUPPORTED.search(said):
        return None
    names = ("temperature", "top_p", "seed", "reasoning_effort", *_TOKEN_LIMITS)
    return next((name for name in names if name in body and (rejected.param == name or name in said)), None)


def _body(
    model: Model, question: Question, messages: Sequence[Mapping[str, Any]], rung: Rung, left_out: set[str]
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model.real_name,
        "messages": messages,
        **_parameters(model, question.sampling, left_out),
    }
    if question.logprobs and "logprobs" not in left_out:
        body |= {"logprobs": True, "top_logprobs": MOST_LISTED}
    shape = question.shape
    match rung:
        case "json_schema":
            # Small models ramble until their context is full, where nothing stops them.
            form = shape.schema
            if model.provider.kind == "local":
                form = _bounded(form, *_BOUNDS.get(model.real_name, _OTHER_BOUNDS))
            schema = {"name": shape.name, "strict": True, "schema": form}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        case "tools":
            function = {"name": shape.name, "description": "Give your answer.", "parameters": shape.schema}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": shape.name}}
        case "json_object":
            body["response_format"] = {"type": "json_object"}
            body["messages"] = _with_instruction(messages, question)
        case "text":
            body["messages"] = _with_instruction(messages, question)
    return body


def _bounded(schema: Mapping[str, Any], items: int, characters: int) -> dict[str, Any]:
    """The schema with an end to every list and every free text."""
    bounded: dict[str, Any] = {**schema}
    if schema.get("type") == "string" and "enum" not in schema:
        bounded["maxLength"] = characters
    if schema.get("type") == "array":
        bounded |= {"maxItems": items, "items": _bounded(schema["items"], items, characters)}
    if "properties" in schema:
        inside = schema["properties"].items()
        bounded["properties"] = {name: _bounded(inner, items, characters) for name, inner in inside}
    return bounded


def _parameters(model: Model, sampling: Mapping[str, Any], left_out: set[str]) -> dict[str, Any]:
    """The sampling parameters that the model takes, under the names that it knows."""
    parameters: dict[str, Any] = {}
    for name, value in sampling.items():
        match name:
            case "max_completions_tokens":
                names = _TOKEN_LIMITS if model.provider.is_openai else _TOKEN_LIMITS[::-1]
                known = next((spelling for spelling in names if spelling not in left_out), None)
                if known is not None:
                    parameters[known] = value
            case "temperature" | "top_p" if model.temperature and name not in left_out:
                parameters[name] = value
            case "reasoning_effort" if model.reasoning_effort and name not in left_out:
                parameters[name] = value
            case "seed" if name not in left_out:
                parameters[name] = value
    return parameters


def _of_responses(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling parameters as the responses API calls them; it takes no seed."""
    named: dict[str, Any] = {}
    for name, value in parameters.items():
        match name:
            case "max_completion_tokens" | "max_tokens":
                named["max_output_tokens"] = value
            case "reasoning_effort":
                named["reasoning"] = {"effort": value}
            case "temperature" | "top_p":
                named[name] = value
    return named


def _with_instruction(messages: Sequence[Mapping[str, Any]], question: Question) -> list[Mapping[str, Any]]:
    """The messages, and at their end the form of the answer, for models that cannot be held to it otherwise."""
    text = (
        "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"
        f"{jsontext.write(question.shape.schema)}"
    )
    return _with_text(messages, text)


def _with_text(messages: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
    """Within the last message where that is the user's: many models take no two of one role in a row."""
    last = messages[-1]
    if last.get("role") != "user":
        return [*messages, {"role": "user", "content": text}]
    content = last["content"]
    content = f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    return [*messages[:-1], {**last, "content": content}]


def _sent_back(
    messages: Sequence[Mapping[str, Any]], output: str, wrong: str, question: Question
) -> list[Mapping[str, Any]]:
    text = (
        f"Your answer could not be read: {wrong}. Answer again, with one JSON object and nothing else, that fits this "
        f"JSON schema:\n{jsontext.write(question.shape.schema)}"
    )
    if not output.strip():
        return _with_text(messages, text)
    return [*messages, {"role": "assistant", "content": output}, {"role": "user", "content": text}]


def _as_known(model: Model, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """OpenAI's role `developer` is `system` everywhere else."""
    if model.provider.is_openai or all(message["role"] != "developer" for message in messages):
        return messages
    return [{**message, "role": "system"} if message["role"] == "developer" else message for message in messages]


def _check_blocks(model: Model, messages: Sequence[Mapping[str, Any]]) -> None:
    if model.vision is not False and model.audio is not False:
        return
    kinds = {
        part["type"] for message in messages if isinstance(message["content"], list) for part in message["content"]
    }
    if model.vision is False and "image_url" in kinds:
        raise JudgeFailed(
            f"{model.name}: the question holds an image, and this model is configured with vision = false."
        )
    if model.audio is False and "input_audio" in kinds:
        raise JudgeFailed(f"{model.name}: the question holds audio, and this model is configured with audio = false.")
