"""Which addresses reward servers may have, in every spelling."""

import ipaddress

import pytest

from fairmark.endpoints.addresses import is_public, literal, read_allowed
from fairmark.errors import InvalidSettings

PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104  # nobody listens there
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",  # where clouds keep their machines' secrets
    "168.63.129.16",  # where Azure does
    "100.100.100.200",  # where Alibaba does
    "192.0.0.192",  # where Oracle did
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%2",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "100::1",
    "5f00::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_only_we_can_reach_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_what_everybody_can_reach_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.1"]
)
def test_every_spelling_of_this_machine_is_read_as_its_address(host: str) -> None:
    assert str(literal(host)) == "127.0.0.1"


def test_brackets_and_long_forms_of_ipv6_are_read_as_the_address() -> None:
    assert str(literal("[0:0:0:0:0:0:0:1]")) == "::1"


@pytest.mark.parametrize("host", ["example.com", "localhost", "cafe.de", "dead.beef", "1.2.3.4.5", "x"])
def test_a_name_is_no_address(host: str) -> None:
    assert literal(host) is None


@pytest.mark.parametrize(
    ("setting", "host", "port", "address", "permitted"),
    [
        ("", "localhost", 80, "127.0.0.1", False),
        ("", "example.com", 80, "1.1.1.1", True),
        ("localhost", "localhost", 80, "127.0.0.1", True),
        ("LOCALHOST", "localhost.", 80, "::1", True),
        ("localhost", "other", 80, "127.0.0.1", False),  # the name is trusted, not what it leads to
        ("localhost:8100", "localhost", 8100, "127.0.0.1", True),
        ("localhost:8100", "localhost", 8101, "127.0.0.1", False),
        ("127.0.0.1", "whatever", 80, "127.0.0.1", True),
        ("127.1", "127.0.0.1", 80, "127.0.0.1", True),
        ("127.0.0.1:8100", "2130706433", 8100, "127.0.0.1", True),
        ("127.0.0.1", "localhost", 80, "127.0.0.2", False),
        ("127.0.0.1", "localhost", 80, "::ffff:127.0.0.1", True),
        ("10.0.0.0/8", "rewards", 80, "10.200.1.1", True),
        ("10.0.0.0/8", "rewards", 80, "11.0.0.1", True),  # public anyway
        ("10.0.0.0/8", "rewards", 80, "192.168.0.1", False),
        ("10.0.0.0/8", "rewards", 80, "::ffff:10.0.0.1", True),
        (" a.b , [::1]:8100 , fd00::/8 ", "x", 8100, "::1", True),
        (" a.b , [::1]:8100 , fd00::/8 ", "x", 8101, "::1", False),
        (" a.b , [::1]:8100 , fd00::/8 ", "x", 1, "fd12::1", True),
        ("::1", "x", 8101, "::1", True),
    ],
)
def test_the_list_permits_what_it_names_and_nothing_else(
    setting: str, host: str, port: int, address: str, permitted: bool
) -> None:
    assert read_allowed(setting).permits(host, port, ipaddress.ip_address(address)) is permitted


@pytest.mark.parametrize("entry", ["http://x", "10.0.0.0/33", "a b", "x:99999", "x:y", "me@x", ":80", "*"])
def test_a_wrong_entry_is_told_with_what_is_allowed(entry: str) -> None:
    with pytest.raises(InvalidSettings, match=r"endpoint_allow: found .* It takes hosts"):
        read_allowed(f"localhost, {entry}")
