"""The openai package, new or old: asks through the server, whole and as a stream, and every route of what is stored."""
# mypy: disable-error-code="import-not-found"

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI, NotFoundError, OpenAI

from tests.clients.scripts.facts import tell

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HELLO: Any = [{"role": "system", "content": "Say it."}, {"role": "user", "content": "hello"}]


def missing(call: Any) -> str | None:
    try:
        call()
    except NotFoundError as error:
        return str(error.code)
    return None


def synchronous(client: OpenAI) -> dict[str, Any]:
    chat = client.chat.completions
    made = chat.create(model="luna", messages=HELLO, store=True, metadata={"way": "whole"})
    raw = chat.with_raw_response.create(model="luna", messages=HELLO)
    chunks = list(chat.create(model="luna", messages=HELLO, store=True, metadata={"way": "stream"}, stream=True))
    called = chat.create(model="luna", messages=HELLO, tools=[TOOL], store=True, metadata={"way": "tools"})
    listed = list(chat.list(limit=2))
    streamed = next(iter(chat.list(metadata={"way": "stream"})))
    updated = chat.update(made.id, metadata={"way": "changed"})
    messages = list(chat.messages.list(made.id, limit=1))
    response = client.responses.create(model="luna", input="hello", metadata={"way": "response"})
    events = list(client.responses.create(model="luna", input="hello", stream=True))
    items = list(client.responses.input_items.list(response.id))
    stored = client.responses.retrieve(response.id)
    client.responses.delete(response.id)
    embedded = client.embeddings.create(model="luna", input="hello", encoding_format="float")
    deleted = chat.delete(made.id)
    return {
        "answer": made.choices[0].message.content,
        "request_id": made._request_id,
        "headers": [raw.headers.get("x-ratelimit-remaining-requests"), raw.headers.get("openai-processing-ms")],
        "chunks": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "call": called.choices[0].message.tool_calls[0].function.arguments,
        "listed": [[one.metadata["way"], one.model] for one in listed],
        "streamed": [streamed.id == chunks[0].id, streamed.choices[0].message.content, streamed.usage.total_tokens],
        "retrieved": chat.retrieve(streamed.id).choices[0].message.content,
        "updated": updated.metadata,
        "messages": [[message.role, message.content, bool(message.id)] for message in messages],
        "response": [response.output_text, stored.output_text, stored.metadata],
        "events": [events[0].type, events[-1].type, events[-1].response.output_text],
        "stored_stream": client.responses.retrieve(events[-1].response.id).output_text,
        "items": [[item.role, item.content[0].text] for item in items],
        "embedded": embedded.data[0].embedding,
        "deleted": [deleted.id == made.id, deleted.deleted],
        "missing": [missing(lambda: chat.retrieve(made.id)), missing(lambda: client.responses.retrieve(response.id))],
        "models": sorted(model.id for model in client.models.list()),
    }


async def asynchronous(client: AsyncOpenAI) -> dict[str, Any]:
    chat = client.chat.completions
    made = await chat.create(model="luna", messages=HELLO, store=True, metadata={"way": "async"})
    chunks = [chunk async for chunk in await chat.create(model="luna", messages=HELLO, stream=True)]
    listed = [one async for one in chat.list(metadata={"way": "async"})]
    messages = [message async for message in chat.messages.list(made.id)]
    response = await client.responses.create(model="luna", input="hello")
    events = [event async for event in await client.responses.create(model="luna", input="hi", stream=True)]
    items = [item async for item in client.responses.input_items.list(response.id, order="asc")]
    retrieved = await chat.retrieve(made.id)
    embedded = await client.embeddings.create(model="luna", input="hello", encoding_format="float")
    models = [model.id async for model in client.models.list()]
    updated = await chat.update(made.id, metadata={})
    deleted = await chat.delete(made.id)
    stored = await client.responses.retrieve(response.id)
    await client.responses.delete(response.id)
    return {
        "chunks": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "listed": [one.id == made.id for one in listed],
        "messages": [message.role for message in messages],
        "response": stored.output_text,
        "events": events[-1].response.output_text,
        "items": [item.content[0].text for item in items],
        "retrieved": retrieved.choices[0].message.content,
        "embedded": embedded.data[0].embedding,
        "listed_model": "luna" in models,
        "updated": updated.metadata,
        "deleted": deleted.deleted,
    }


if __name__ == "__main__":
    tell(
        {
            "sync": synchronous(OpenAI()),
            "async": asyncio.run(asynchronous(AsyncOpenAI())),
            "python": sys.version_info[1],
        }
    )
