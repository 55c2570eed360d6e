"""From a host's name to addresses that may be reached."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp.abc import AbstractResolver, ResolveResult

from fairmark.endpoints.addresses import Allowed
from fairmark.errors import EndpointFailed

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name. Raises OSError."""


class Resolver(AbstractResolver):
    """Finds addresses, and hands on only those that may be reached: what was looked at is what is connected to."""

    def __init__(self, allowed: Allowed, lookup: Lookup) -> None:
        self._allowed = allowed
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if not self._allowed.may_look_up(host, port):
            raise refused(host, port, host, self._allowed)
        addresses = [ipaddress.ip_address(address) for address in await self._lookup(host, port)]
        permitted = self._allowed.filter(host, port, addresses)
        if not permitted:
            if not addresses:
                raise OSError(f"{host} has no address")
            raise refused(host, port, str(addresses[0]), self._allowed)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET6 if address.version == 6 else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in permitted
        ]

    async def close(self) -> None:
        pass


async def look_up(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in entries]


def refused(host: str, port: int, address: str, allowed: Allowed) -> EndpointFailed:
    leads = host if host == address else f"{host} leads to {address}, which"
    lacks = "is not a public address" if allowed.public else "is not among those that this server may ask"
    return EndpointFailed(
        f"the endpoint {leads} {lacks}, so it is not asked. To allow it, set "
        f"FAIRMARK_ENDPOINT_ALLOW={f'[{host}]' if ':' in host else host}:{port}"
    )
