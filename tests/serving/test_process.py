"""A server's sockets: free ports, all addresses of a host, and why it cannot listen."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fairmark.errors import CannotServe
from fairmark.serving.process import bind, on_loopback, url_of


@contextmanager
def bound(host: str, port: int = 0) -> Iterator[list[socket.socket]]:
    sockets = bind(host, port)
    try:
        yield sockets
    finally:
        for listening in sockets:
            listening.close()


def test_a_free_port_is_taken_and_told() -> None:
    with bound("127.0.0.1") as (listening,):
        host, port = listening.getsockname()
        assert (host, port > 0) == ("127.0.0.1", True)
        assert url_of(listening) == f"http://127.0.0.1:{port}"
        with socket.create_connection((host, port), timeout=10):
            pass


def test_a_host_of_several_addresses_has_one_port() -> None:
    with bound("localhost") as sockets:
        assert len({listening.getsockname()[1] for listening in sockets}) == 1
        assert on_loopback(sockets)


def test_an_address_of_version_6_stands_in_brackets() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with bound("::1") as (listening,):
        assert url_of(listening).startswith("http://[::1]:")


def test_everybodys_address_is_no_loopback() -> None:
    with bound("0.0.0.0") as sockets:  # noqa: S104  # that is the question
        assert not on_loopback(sockets)
        with bound("127.0.0.1") as near:
            assert not on_loopback([*near, *sockets])


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    with bound("127.0.0.1") as (listening,):
        port = listening.getsockname()[1]
        with pytest.raises(CannotServe, match=rf"^127\.0\.0\.1:{port}: .*\. Choose another with --port\.$"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 300])
def test_a_host_that_is_none_is_told(host: str) -> None:
    with pytest.raises(CannotServe, match=r"^--host "):
        bind(host, 0)
