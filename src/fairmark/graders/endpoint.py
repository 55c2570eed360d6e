"""endpoint: a reward server of your own scores the row. The reward is what it answers."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from fairmark import jsontext
from fairmark.context import Context
from fairmark.endpoints.base import EndpointScore, Target
from fairmark.endpoints.targets import read_headers, read_timeout, read_url
from fairmark.errors import GradingFailed, InvalidGrader
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.thread import thread_of

MOST_ROWS = 256


def _read_batch_size(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS:
        raise InvalidGrader.at("", f"found {jsontext.describe(size)}. It takes a whole number from 1 to {MOST_ROWS}.")
    return size


class Endpoint(GraderSpec):
    """Ask a reward server of your own over HTTP; the reward is what it answers."""

    type: Literal["endpoint"]
    url: Annotated[str, PlainValidator(read_url)]
    headers: Annotated[Mapping[str, str], PlainValidator(read_headers)] = {}  # pydantic copies it
    timeout_s: Annotated[float, PlainValidator(read_timeout)] = 60.0
    batch_size: Annotated[int, PlainValidator(_read_batch_size)] = 64
    description: str | None = None

    @property
    def target(self) -> Target:
        return Target(self.url, self.headers, self.timeout_s, self.batch_size)


async def grade_many(spec: Endpoint, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    scores = await ctx.endpoints.score(spec.target, list(map(thread_of, rows)))
    return list(map(_grade, scores))


def _grade(score: EndpointScore | Exception) -> Grade:
    if isinstance(score, EndpointScore):
        if not math.isfinite(score.reward):
            return Grade.failed(GradingFailed(f"the endpoint's reward is {score.reward}, not a finite number."))
        return Grade(score.reward, printed=score.reason, seconds=score.seconds)
    if isinstance(score, GradingFailed):
        return Grade.failed(score)
    return Grade(0.0, skipped=str(score))
