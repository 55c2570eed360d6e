"""A model that thinks by rule: it judges texts and answers questions in the form of the chat completions API.

What it says of a text can be told beforehand, so that tests can write the expected numbers out.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.judges.faults import Answer, Behaviour, Raw, Request, Status, Wire

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima"}
STEPS = [{"description": "Compare.", "conclusion": "Seen by rule."}]


class RuleBasedModel:
    """Judges where the answer has to have a `result`, else answers the question."""

    async def play(self, wire: Wire, request: Request) -> None:
        text = " ".join(_text(message["content"]) for message in request.body["messages"])
        if "SLOW" in text:
            await asyncio.sleep(600)  # nobody waits for it
        await self._behaviour(request.body, text).play(wire, request)

    @staticmethod
    def _behaviour(body: Mapping[str, Any], text: str) -> Behaviour:
        if "BROKEN" in text:
            return Status(400, "this model cannot take that")
        if "REFUSE" in text:
            return Answer(content=None, refusal="I will not say.")
        wanted = _schema(body).get("properties", {}).get("result")
        if wanted is None:
            return _answer(body, text)
        if "BABBLE" in text:
            return Answer("well, where to begin")
        result = _label(wanted["enum"], body) if "enum" in wanted else _score(text)
        return Answer(json.dumps({"steps": STEPS, "result": result}, separators=(",", ":")))


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return schema


def _text(content: Any) -> str:
    """A message's text, whatever parts it has."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def _score(text: str) -> float:
    """On the scale the text speaks of: as good as possible where answer and reference are equal, else rather bad."""
    scale = re.search(r"from 1 to (\d)", text)
    pair = re.search(r"(?s)Reference answer: (.*?)\n+Model answer: (.*)", text)
    same = pair is not None and pair[1].strip() == pair[2].strip()
    if scale:
        return float(scale[1]) if same else 4.0
    return 1.0 if same else 0.25


def _label(labels: list[str], body: Mapping[str, Any]) -> str:
    """By length where lengths are asked for, by what was expected where that is told, by mood otherwise."""
    said = [_text(message["content"]) for message in body["messages"]]
    if "too long" in labels:
        length = len(said[0])
        return "too short" if length < 500 else "too long" if length > 600 else "just right"
    last = said[-1]
    pair = re.search(r"(?s)Answered: (.*?)\n+Expected: (.*)", last)
    if pair and "fail" in labels:
        return "pass" if pair[2].strip().casefold() in pair[1].casefold() else "fail"
    mood = "positive" if "love" in last else "negative" if "hate" in last else "neutral"
    return mood if mood in labels else labels[0]


class _Spoken:
    """A chat completion that is speech: no content, but a transcript."""

    def __init__(self, transcript: str) -> None:
        self._audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1767225600, "transcript": transcript}

    async def play(self, wire: Wire, request: Request) -> None:
        completion = json.loads(Answer(content=None).body(request))
        completion["choices"][0]["message"]["audio"] = self._audio
        await Raw(json.dumps(completion).encode()).play(wire, request)


def _answer(body: Mapping[str, Any], text: str) -> Behaviour:
    """The capital of the country that the question names; as JSON or in a tool call where that is wanted."""
    capital = next((city for country, city in CAPITALS.items() if country in text), "I do not know")
    if "audio" in (body.get("modalities") or []):
        return _Spoken(capital)
    if body.get("tools"):
        return Answer(content=None, arguments=json.dumps({"city": capital}), finish_reason="tool_calls")
    if body.get("response_format"):
        return Answer(json.dumps({"city": capital}))
    return Answer(capital)
