"""Which addresses reward servers may have. A grader comes from anywhere; it must not reach what only we can reach."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from fairmark import jsontext
from fairmark.errors import InvalidSettings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Azure answers its machines' questions about themselves at an address that looks public.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
# Of IPv6 only this is handed out to the public; what else there is may wrap an IPv4 address.
_UNICAST = ipaddress.ip_network("2000::/3")
# Not public either. Pythons differ in whether they know; the IPv6 ones wrap addresses, or are for documents.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
    )
)


def is_public(address: Address) -> bool:
    """Whether everybody can reach it. What is reserved, or wraps another address, is not."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _UNICAST or address.scope_id is not None:
            return False
    return (
        address.is_global
        and not address.is_reserved
        and not address.is_multicast
        and not address.is_link_local
        and not address.is_loopback
        and address not in _METADATA
        and not any(address in network for network in _SPECIAL)
    )


def literal(host: str) -> Address | None:
    """The address that a host's name is, in any spelling that a computer takes for one; None for a real name.

    `127.1`, `2130706433`, `0x7f.1` and `0177.0.0.1` are all this machine.
    """
    bare = host[1:-1] if host.startswith("[") else host
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    if not re.fullmatch(r"[0-9A-Fa-fxX.]+", bare):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be reached although it is not public; without `public`, what may be reached at all."""

    hosts: frozenset[tuple[str, int | None]] = frozenset()
    """Names and addresses as texts; with a port, at that port only."""
    networks: tuple[Network, ...] = ()
    public: bool = True

    def may_look_up(self, host: str, port: int) -> bool:
        """Whether a name may be asked about: a question to a name server already reaches whoever owns the name."""
        return self.public or bool(self.networks) or self._names({host.lower().rstrip(".")}, port)

    def permits(self, host: str, port: int, address: Address) -> bool:
        """Whether the address, found under this name, may be connected to."""
        if self.public and is_public(address):
            return True
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        names = {host.lower().rstrip("."), str(address), str(mapped or address)}
        if self._names(names, port):
            return True
        return any(
            candidate in network
            for network in self.networks
            for candidate in (address, mapped)
            if candidate is not None
        )

    def _names(self, names: set[str], port: int) -> bool:
        return any((name, wanted) in self.hosts for name in names for wanted in (port, None))

    def filter(self, host: str, port: int, addresses: Sequence[Address]) -> list[Address]:
        return [address for address in addresses if self.permits(host, port, address)]


def read_allowed(setting: str) -> Allowed:
    """The setting `endpoint_allow`: hosts, host:port and networks, with commas between. Raises InvalidSettings."""
    hosts: set[tuple[str, int | None]] = set()
    networks: list[Network] = []
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        if "/" in entry:
            try:
                networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                raise _wrong(entry) from None
        else:
            hosts.add(_host(entry))
    return Allowed(frozenset(hosts), tuple(networks))


def _host(entry: str) -> tuple[str, int | None]:
    try:
        return str(ipaddress.ip_address(entry)), None  # an IPv6 address without brackets, among others
    except ValueError:
        pass
    try:
        parts = urlsplit(f"//{entry}")
        name, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong(entry) from None
    if not name or not re.fullmatch(r"[a-z0-9._:-]+", name) or parts.username is not None:
        raise _wrong(entry)
    address = literal(name)
    return (str(address) if address else name.rstrip(".")), port


def _wrong(entry: str) -> InvalidSettings:
    return InvalidSettings(
        f"endpoint_allow: found {jsontext.quote(entry)}. It takes hosts (rewards.internal), hosts with a port "
        "(127.0.0.1:8100) and networks (10.0.0.0/8), with commas between."
    )
