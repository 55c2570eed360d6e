"""Names and addresses: what was looked at is what is connected to, and only what is allowed."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from fairmark.endpoints.addresses import Allowed, read_allowed
from fairmark.endpoints.resolver import Resolver, look_up
from fairmark.errors import EndpointFailed


def resolve(addresses: Sequence[str], allowed: Allowed, host: str = "rewards.example") -> list[tuple[str, int]]:
    async def lookup(name: str, port: int) -> Sequence[str]:
        assert (name, port) == (host, 443)
        return addresses

    found = asyncio.run(Resolver(allowed, lookup).resolve(host, 443))
    assert all(entry["hostname"] == host and entry["port"] == 443 for entry in found)
    return [(entry["host"], entry["family"]) for entry in found]


def test_public_addresses_are_handed_on_and_others_left_out() -> None:
    assert resolve(["10.0.0.1", "93.184.216.34", "2606:2800:220:1::1"], read_allowed("")) == [
        ("93.184.216.34", socket.AF_INET),
        ("2606:2800:220:1::1", socket.AF_INET6),
    ]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "0.0.0.0"])  # noqa: S104
def test_a_name_that_leads_inside_is_refused_with_the_setting_that_would_allow_it(address: str) -> None:
    with pytest.raises(EndpointFailed, match="is not a public address, so it is not asked") as refused:
        resolve([address], read_allowed(""))
    assert "FAIRMARK_ENDPOINT_ALLOW=rewards.example:443" in str(refused.value)


def test_a_listed_name_may_lead_inside() -> None:
    assert resolve(["10.1.2.3"], read_allowed("rewards.example:443")) == [("10.1.2.3", socket.AF_INET)]


def test_a_name_without_an_address_is_a_failure_of_the_network() -> None:
    with pytest.raises(OSError, match="has no address"):
        resolve([], read_allowed(""))


def test_looking_up_asks_this_machine() -> None:
    assert "127.0.0.1" in asyncio.run(look_up("127.0.0.1", 80))
