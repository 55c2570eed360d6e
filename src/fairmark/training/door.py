"""The server, as a worker sees it: jobs are taken there, and told about."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from fairmark.client.remote import RemoteBackend, opened_session
from fairmark.errors import ServerFailed
from fairmark.outbound.connection import why_it_failed
from fairmark.work import eventloop

ASK_S = 30.0
DOWNLOAD_S = 3600.0
CHUNK_BYTES = 1 << 20


class Taken(NamedTuple):
    """A job that is ours."""

    job: dict[str, Any]
    lease: str


class JobDoor(RemoteBackend):
    """Every call may raise ServerFailed, and may be made again later; AccessDenied, where the key is not let in."""

    def take(self, worker: str, models: Sequence[str], lease_s: int) -> Taken | None:
        body = {"worker": worker, "models": list(models), "lease_s": lease_s}
        answer = eventloop.run(self._ask("POST", "fine_tuning/workers/take", body, deadline_s=ASK_S))
        job, lease = answer.get("job"), answer.get("lease")
        if job is None:
            return None
        if not isinstance(job, dict) or not isinstance(job.get("id"), str) or not isinstance(lease, str):
            raise self._strange("job")
        return Taken(job, lease)

    def tell(self, job_id: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """The job as it is then. Raises LeaseLost where it is not ours any more."""
        path = f"fine_tuning/jobs/{job_id}/progress"
        return dict(eventloop.run(self._ask("POST", path, dict(told), deadline_s=ASK_S)))

    def job(self, job_id: str) -> dict[str, Any] | None:
        """None where there is none."""
        answer = eventloop.run(self._find("GET", f"fine_tuning/jobs/{job_id}", deadline_s=ASK_S))
        return None if answer is None else dict(answer)

    def save(self, file_id: str, target: Path) -> None:
        """A file's content."""
        eventloop.run(self._save(file_id, target))

    async def _save(self, file_id: str, target: Path) -> None:
        url = URL(f"{self._base}/v1/files/{file_id}/content")
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        try:
            async with asyncio.timeout(DOWNLOAD_S):
                session = opened_session()
                async with session.get(url, headers=headers, allow_redirects=False, proxy=self._proxy) as answer:
                    if answer.status != 200:
                        raise ServerFailed(f"{self._place} answered {answer.status} when asked for {file_id}.")
                    with target.open("wb") as file:
                        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                            await asyncio.to_thread(file.write, chunk)
        except TimeoutError:
            raise ServerFailed(f"{self._place} did not give {file_id} within {DOWNLOAD_S:g} s.") from None
        except aiohttp.ClientError as error:
            raise ServerFailed(f"{self._place}: {why_it_failed(error)}.") from None
