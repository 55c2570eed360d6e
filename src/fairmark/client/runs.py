"""The evals and runs of a Fairmark server, over HTTP: listed, read row by row, deleted."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote

from fairmark.client.backend import Json
from fairmark.client.remote import RemoteBackend


class ServedRuns:
    def __init__(self, remote: RemoteBackend) -> None:
        self._remote = remote

    async def evals(self) -> AsyncIterator[Json]:
        """Those that changed last come first."""
        async for page in self._remote.pages("evals", {"order": "desc", "order_by": "updated_at"}):
            for eval_ in page:
                yield eval_

    async def runs(self, eval_id: str, limit: int | None = None) -> Sequence[Json]:
        """The newest first; all of them without a limit."""
        runs: list[Json] = []
        async for page in self._remote.pages(f"evals/{quote(eval_id, safe='')}/runs", {"order": "desc"}):
            runs += page
            if limit is not None and len(runs) >= limit:
                break
        return runs

    async def items(self, eval_id: str, run_id: str) -> AsyncIterator[Sequence[Json]]:
        path = f"evals/{quote(eval_id, safe='')}/runs/{quote(run_id, safe='')}/output_items"
        async for page in self._remote.pages(path, {"order": "asc"}):
            yield page

    async def delete(self, eval_id: str, run_id: str) -> None:
        await self._remote.remove(f"evals/{quote(eval_id, safe='')}/runs/{quote(run_id, safe='')}")
