"""LangChain's client for OpenAI, pointed at the server: whole answers, streams, tools, embeddings."""
# mypy: disable-error-code="import-not-found,untyped-decorator"

import asyncio
import os
from typing import Any

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from tests.clients.scripts.facts import tell

SERVER = f"{os.environ['SERVER']}/v1"


@tool
def look(city: str) -> str:
    """Look a city up."""
    return city


def ways(model: ChatOpenAI) -> dict[str, Any]:
    pieces = [piece.text for piece in model.stream("hello")]
    called = model.bind_tools([look]).invoke("hello")
    return {
        "invoked": model.invoke("hello").text,
        "streamed": "".join(pieces),
        "pieces": len(pieces),
        "called": [[call["name"], call["args"]] for call in called.tool_calls],
    }


def refused() -> str:
    try:
        ChatOpenAI(model="no{model", base_url=SERVER, max_retries=0).invoke("hello")
    except Exception as error:
        return type(error).__name__
    return ""


chat = ChatOpenAI(model="luna", base_url=SERVER)
vectors = OpenAIEmbeddings(model="luna", base_url=SERVER, check_embedding_ctx_length=False)
tell(
    {
        "chat": ways(chat),
        "responses": ways(ChatOpenAI(model="luna", base_url=SERVER, use_responses_api=True)),
        "awaited": asyncio.run(chat.ainvoke("hello")).text,
        "embedded": vectors.embed_query("hello"),
        "refused": refused(),
    }
)
