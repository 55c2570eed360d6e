"""What the client asks of the place where graders are kept."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fairmark.endpoints import Offline, Online

Json = dict[str, Any]


class Backend(Protocol):
    """A registry. Lives on the process's own event loop; what it gives is the JSON of the server's API.

    None, or False, where there is no grader of this key. A project of None is the registry's own. Raises what
    `registration` raises.
    """

    async def create(
        self, project: str | None, key: str, grader: Json, name: str | None, description: str | None
    ) -> Json: ...

    async def list(self, project: str | None) -> Sequence[Json]:
        """In the order in which they were created."""
        ...

    async def get(self, project: str | None, key: str, version: int | None) -> Json | None: ...

    async def update(self, project: str | None, key: str, changes: Mapping[str, Any]) -> Json | None:
        """`changes`: any of grader, name, description and locked; and version, the one that they were made to."""
        ...

    async def versions(self, project: str | None, key: str) -> Sequence[Json] | None: ...

    async def delete(self, project: str | None, key: str) -> bool: ...

    async def push_scores(self, project: str | None, key: str, scores: Sequence[Json]) -> bool: ...

    async def scores(self, project: str | None, key: str) -> Sequence[Json] | None: ...

    async def pack(self, project: str | None) -> Json: ...

    async def bring(self, project: str | None, pack: Json, *, update: bool) -> dict[str, str]: ...

    async def test_endpoint(self, url: str) -> Online | Offline: ...
