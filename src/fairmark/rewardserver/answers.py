"""What is answered at each route: rows of a body, graded, in the words of the trainer that asks there."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal
from urllib.parse import parse_qs

from fairmark import jsontext
from fairmark.errors import Refusal
from fairmark.result import Result
from fairmark.rewardserver import nemo, wire
from fairmark.run import agrade_many
from fairmark.spec import GraderSpec
from fairmark.trainers.gather import Gatherer
from fairmark.trainers.needs import complete, needed
from fairmark.trainers.reward import BATCH_DEADLINE_S
from fairmark.trainers.telling import OneByOne

ROW_DEADLINE_S = 170.0
"""OpenRLHF waits for 180 s, and asks again."""
OnError = Literal["zero", "mask"]


class Served:
    """A grader at its paths. Requests of a single row that come together are graded together."""

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec
        self._gatherer = Gatherer(spec, ROW_DEADLINE_S)
        self._needs = needed(spec)
        self._told = OneByOne(spec.name, "given 0, and told")

    async def grade(self, rows: list[wire.Row]) -> list[Result]:
        rows = [complete(row, self._needs) for row in rows]
        if len(rows) == 1:
            results: Sequence[Result] = [await self._gatherer.agrade(rows[0])]
        else:
            results = await agrade_many(self.spec, rows, deadline_s=BATCH_DEADLINE_S)
        self._told.note(results)
        return list(results)


def read_on_error(query: bytes, otherwise: OnError) -> OnError:
    """What an address says about failed rows. Raises Refusal."""
    asked = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("on_error")
    if asked is None:
        return otherwise
    if asked[-1] not in ("zero", "mask"):
        raise Refusal(422, f"on_error: found {jsontext.quote(asked[-1])}. Use: zero, mask.")
    return asked[-1]  # type: ignore[return-value]


async def _score(served: Served, body: bytes, on_error: OnError) -> Any:
    request = wire.read(body, wire.RewardRequest)
    (result,) = await served.grade([wire.row_of(request)])
    return wire.response(result, request.id)


async def _batch_score(served: Served, body: bytes, on_error: OnError) -> Any:
    batch = wire.read(body, wire.RewardBatch)
    results = await served.grade([wire.row_of(request) for request in batch.requests])
    return {
        "responses": [
            wire.response(result, request.id) for result, request in zip(results, batch.requests, strict=True)
        ]
    }


async def _get_reward(served: Served, body: bytes, on_error: OnError) -> Any:
    results = await served.grade(wire.rows_of(wire.read(body, wire.RemoteReward)))
    return wire.remote_rewards(served.spec, results, masked=on_error == "mask")


async def _scores(served: Served, body: bytes, on_error: OnError) -> Any:
    results = await served.grade(wire.rows_of_texts(wire.read(body, wire.Conversations)))
    return wire.plain_scores(results)


async def _verify(served: Served, body: bytes, on_error: OnError) -> Any:
    wire.read(body, nemo.VerifyRequest)  # says what is missing
    fields = wire.read(body, dict[str, Any])
    (result,) = await served.grade([nemo.row_of(fields)])
    return nemo.verified(served.spec, fields, result)


async def _seed_session(served: Served, body: bytes, on_error: OnError) -> Any:
    """Graders keep nothing of a rollout, so that there is nothing to begin."""
    return {}


async def _aggregate_metrics(served: Served, body: bytes, on_error: OnError) -> Any:
    responses = wire.read(body, nemo.AggregateRequest).verify_responses
    return await asyncio.to_thread(nemo.aggregate, responses)


ANSWERS: dict[str, Callable[[Served, bytes, OnError], Coroutine[Any, Any, Any]]] = {
    "score": _score,
    "batch_score": _batch_score,
    "get_reward": _get_reward,
    "scores": _scores,
    "verify": _verify,
    "seed_session": _seed_session,
    "aggregate_metrics": _aggregate_metrics,
}
