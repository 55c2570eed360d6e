"""Whom a request comes from, and how they reached us: what a proxy in front of us tells, if we trust it."""

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import Scope

from fairmark import jsontext
from fairmark.errors import InvalidSettings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HOST = re.compile(rb"(?:[A-Za-z0-9_.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""What may stand in a link as a host, with its port."""
_SCHEMES = {b"http": "http", b"https": "https"}
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")


class Caller(NamedTuple):
    """Who asks."""

    address: str = ""
    origin: bytes | None = None
    """The origin that they used, such as https://fairmark.example, where they came by a trusted proxy."""


class Proxies:
    """The proxies that we believe: a stranger could write anything into these headers."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._networks = tuple(networks)

    def see_through(self, scope: Scope) -> Caller:
        """Who asks. Behind a trusted proxy the scope has their address, scheme and host, as if they had come directly.

        What is malformed is as if it was not there. Of a list counts what the proxy itself has added, at its end.
        """
        peer: str = (scope.get("client") or ("",))[0]
        if not self._networks or not self._trusts(_address(peer)):
            return Caller(peer)
        told: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            if name.startswith(b"x-forwarded-"):
                told.setdefault(name, []).extend(part.strip() for part in value.split(b","))
        scheme = _SCHEMES.get(told.get(b"x-forwarded-proto", [b""])[-1].lower())
        host = told.get(b"x-forwarded-host", [b""])[-1]
        address = self._behind(peer, told.get(b"x-forwarded-for", []))
        scope["client"] = (address, 0)
        if scheme is not None:
            scope["scheme"] = scheme
        if HOST.fullmatch(host):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [*others, (b"host", host)]
        else:
            host = dict(scope["headers"]).get(b"host", b"localhost")
        return Caller(address, scope["scheme"].encode() + b"://" + host)

    def _behind(self, peer: str, hops: list[bytes]) -> str:
        """The last address that is none of our proxies; where they all are, the first of them."""
        for hop in reversed(hops):
            address = _address(hop.decode("latin-1"))
            if address is None:
                return peer
            peer = str(address)
            if not self._trusts(address):
                break
        return peer

    def _trusts(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def read_proxies(setting: str) -> Proxies:
    """The setting `trusted_proxies`: addresses and networks, with commas between. Raises InvalidSettings."""
    networks = []
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        try:
            networks.append(ipaddress.ip_network(entry, strict=False))
        except ValueError:
            raise InvalidSettings(
                f"trusted_proxies: found {jsontext.quote(entry)}. It takes addresses (127.0.0.1) and networks "
                "(10.0.0.0/8), with commas between."
            ) from None
    return Proxies(networks)


def _address(text: str) -> Address | None:
    """An address, also with the port that some proxies write behind it. IPv4 inside of IPv6 is IPv4."""
    with_port = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address(text if with_port is None else with_port[1] or with_port[2])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
