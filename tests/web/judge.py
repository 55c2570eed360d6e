"""A server with a judge that thinks by rule, and graders on it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.judges.faults import Answer, FaultServer, Request, Wire
from tests.server.client import Server

TOML = """
[providers.house]
base_url = "{url}"
[models.careful]
provider = "house"
price_in = 1.0
price_out = 10.0
"""


class Judge:
    """Passes what speaks of Paris. Of a reply it finds two claims, and the first of them is right; of a reply that
    speaks of Atlantis it will not say."""

    async def play(self, wire: Wire, request: Request) -> None:
        text = json.dumps(request.body["messages"], ensure_ascii=False)
        schema = request.body["response_format"]["json_schema"]["schema"]["properties"]
        if "verdicts" in schema and "Atlantis" in text:
            await Answer("I would rather not say.").play(wire, request)
            return
        await Answer(json.dumps(self._answer(schema, "Paris" in text, "Atlantis" in text), ensure_ascii=False)).play(
            wire, request
        )

    @staticmethod
    def _answer(schema: Mapping[str, Any], is_paris: bool, in_atlantis: bool) -> dict[str, Any]:
        steps = [{"description": "Compare <b>both</b>.", "conclusion": "They agree." if is_paris else "They differ."}]
        if "claims" in schema:
            return {"claims": ["He published it.", "It was in Atlantis." if in_atlantis else "It was in August 1990."]}
        if "verdicts" in schema:
            verdicts = [(1, 1, "the first document says so"), (2, 0, "not mentioned")]
            return {"verdicts": [{"index": at, "verdict": bit, "reason": why} for at, bit, why in verdicts]}
        if "verdict" in schema:
            return {"verdict": int(not is_paris), "reason": "it is about something else" if is_paris else "it helps"}
        if "score" in schema:
            return {
                "reasoning": "It names <i>Paris</i>." if is_paris else "It does not.",
                "score": "PASS" if is_paris else "FAIL",
            }
        if "enum" in schema["result"]:
            return {"steps": steps, "result": schema["result"]["enum"][0 if is_paris else -1]}
        return {"steps": steps, "result": 1.0 if is_paris else 0.25}


@contextmanager
def judged_server(folder: Path) -> Iterator[Server]:
    """A server whose model `careful` is the judge above."""
    with FaultServer() as model:
        model.always(Judge())
        (folder / "fairmark.toml").write_text(TOML.format(url=model.url))
        started = Server(folder / "home", {"FAIRMARK_ENDPOINT_ALLOW": "127.0.0.1"})
        yield started
        started.stop()
        assert "Traceback" not in started.stderr.read_text()


def new_grader(
    server: Server, key: str, grader: Mapping[str, Any], headers: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    answer = server.post("/v1/graders", {"key": key, "grader": grader, **more}, headers)
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json()
    return found


def kept_grader(server: Server, key: str) -> dict[str, Any]:
    found: dict[str, Any] = server.get(f"/v1/graders/{key}").json()
    return found
