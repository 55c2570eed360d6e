"""adaptive-sdk's own reward server, with a rule of ours. Prints its address, and ends when standard input closes."""
# mypy: disable-error-code="import-not-found, misc, no-any-unimported"

import sys
import time
from typing import Any

import uvicorn
from adaptive_sdk.external import Response as RewardResponse
from adaptive_sdk.external import RewardServer, ServerInfo, ValidatedRequest, reward_server
from adaptive_sdk.external.reward_types import BaseModel


class Metadata(BaseModel):
    minimum: int


class Primes(RewardServer[Metadata]):
    async def score(self, request: ValidatedRequest[Metadata]) -> RewardResponse:
        text = request.turns[-1].content
        number = int(text)  # raises for what is no number: a rule with a bug
        above = number > request.metadata.minimum
        reason = f"{number} {'exceeds' if above else 'does not exceed'} {request.metadata.minimum}"
        return RewardResponse(reward=float(above), metadata={"reason": reason})

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1.2", name="primes", description="Numbers above a minimum.")


def on_loopback(config: type[uvicorn.Config]) -> Any:
    """It listens on every address; a test must not."""

    def make(app: Any, **options: Any) -> uvicorn.Config:
        return config(app, **{**options, "host": "127.0.0.1", "log_level": "critical"})

    return make


def main() -> None:
    reward_server.uvicorn.Config = on_loopback(uvicorn.Config)
    running = Primes(port=0, metadata_cls=Metadata, blocking=False).server
    while not running.started:
        time.sleep(0.01)
    print(f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}", flush=True)  # noqa: T201
    sys.stdin.read()
    running.stop()


if __name__ == "__main__":
    main()
