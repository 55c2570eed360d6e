"""adaptive-sdk's own client of reward servers, against the address that it is given. Prints what it found as JSON."""
# mypy: disable-error-code="import-not-found, misc, no-any-unimported"

import asyncio
import json
import sys
from typing import Any

import httpx
from adaptive_sdk.external import Request, RewardClient, Turn


def request(answer: str, **metadata: Any) -> Request:
    return Request(turns=[Turn(role="user", content="2+2?"), Turn(role="assistant", content=answer)], metadata=metadata)


async def main(url: str) -> dict[str, Any]:
    client = RewardClient(url)
    batch = [request("4", expected="4"), request("5", expected="4"), request("4")]
    valid = await client.validate_metadata({"expected": "4"})
    try:
        await client._post("/score", {"turns": [], "metadata": None, "surprise": 1})
        refused = 200
    except httpx.HTTPStatusError as error:
        refused = error.response.status_code
    return {
        "info": (await client.info()).model_dump(),
        "score": (await client.score(request("4", expected="4"))).model_dump(),
        "without metadata": (await client.score(Request(turns=[Turn(role="assistant", content="4")]))).model_dump(),
        "batch": [response.model_dump() for response in await client.batch_score(batch)],
        "metadata is valid": valid.is_valid,
        "unknown field": refused,
    }


def blocking(url: str) -> dict[str, Any]:
    client = RewardClient(url)
    (response,) = client.blocking_batch_score([request("4", expected="4")])
    return {"blocking info": client.blocking_info().model_dump(), "blocking batch": response.model_dump()}


if __name__ == "__main__":
    facts = asyncio.run(main(sys.argv[1])) | blocking(sys.argv[1])
    print(json.dumps(facts))  # noqa: T201
