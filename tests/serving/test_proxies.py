"""Proxies: what they may tell, who may tell it, and what is not believed."""

from typing import Any

import pytest

from fairmark.errors import InvalidSettings
from fairmark.serving.proxies import Caller, read_proxies
from tests.server.client import EXACT, Server
from tests.server.conftest import Start, start

__all__ = ["start"]

TRUSTED = "127.0.0.1, 10.0.0.0/8, 2001:db8::/32"
SAID = {"x-forwarded-proto": "https", "x-forwarded-host": "fairmark.example", "x-forwarded-for": "203.0.113.7"}


def seen(told: dict[str, str] | list[tuple[str, str]], peer: str = "127.0.0.1") -> tuple[str, str, str]:
    """(address, scheme, host) of a request that came from `peer`."""
    pairs = told if isinstance(told, list) else list(told.items())
    headers = [(b"host", b"127.0.0.1:8000"), *((name.encode(), value.encode("latin-1")) for name, value in pairs)]
    scope: dict[str, Any] = {"client": (peer, 5000), "scheme": "http", "headers": headers}
    caller = read_proxies(TRUSTED).see_through(scope)
    assert caller.address == scope["client"][0]
    (host,) = [value.decode() for name, value in scope["headers"] if name == b"host"]
    if caller.origin is not None:
        assert caller.origin.decode() == f"{scope['scheme']}://{host}"
    return caller.address, scope["scheme"], host


def test_a_trusted_proxy_tells_address_scheme_and_host() -> None:
    for peer in ("127.0.0.1", "10.1.2.3", "2001:db8::5", "::ffff:10.1.2.3"):
        assert seen(SAID, peer) == ("203.0.113.7", "https", "fairmark.example")


@pytest.mark.parametrize("peer", ["203.0.113.9", "127.0.0.2", "2001:db9::1", "", "unix"])
def test_a_stranger_is_not_believed(peer: str) -> None:
    assert seen(SAID, peer) == (peer, "http", "127.0.0.1:8000")


def test_without_the_setting_nobody_is_believed_and_nothing_is_changed() -> None:
    scope = {"client": ("127.0.0.1", 5000), "scheme": "http", "headers": [(b"x-forwarded-proto", b"https")]}
    assert read_proxies("").see_through(scope) == Caller("127.0.0.1")
    assert scope == {"client": ("127.0.0.1", 5000), "scheme": "http", "headers": [(b"x-forwarded-proto", b"https")]}


@pytest.mark.parametrize(
    ("hops", "address"),
    [
        ("198.51.100.1, 203.0.113.7", "203.0.113.7"),  # what the client itself wrote stands in front
        ("203.0.113.7, 10.0.0.1", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7, 10.0.0.1,10.0.0.2", "203.0.113.7"),
        ("10.0.0.9, 10.0.0.1", "10.0.0.9"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db9::7]:4711", "2001:db9::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", "127.0.0.1"),
        ("unknown", "127.0.0.1"),
        ("203.0.113.7, unknown, 10.0.0.1", "10.0.0.1"),
        ("203.0.113.7, ", "127.0.0.1"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy_of_ours(hops: str, address: str) -> None:
    assert seen({"x-forwarded-for": hops})[0] == address


def test_a_proxy_may_add_a_line_of_its_own() -> None:
    assert seen([("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "203.0.113.7")])[0] == "203.0.113.7"


@pytest.mark.parametrize("host", ["", "a b", "evil.example/path", "user@evil.example", "a\\b", "[::1", "a:b", "é.eu",
                                  "x" * 300, "a:123456", "<script>"])  # fmt: skip
def test_a_host_that_is_none_is_ignored(host: str) -> None:
    assert seen({"x-forwarded-host": host})[2] == "127.0.0.1:8000"


@pytest.mark.parametrize("scheme", ["", "javascript", "ftp", "https://"])
def test_a_scheme_that_is_none_is_ignored(scheme: str) -> None:
    assert seen({"x-forwarded-proto": scheme})[1] == "http"


def test_of_several_hosts_and_schemes_the_proxys_own_counts() -> None:
    told = {"x-forwarded-host": "evil.example, fairmark.example:8443", "x-forwarded-proto": "http, HTTPS"}
    assert seen(told)[1:] == ("https", "fairmark.example:8443")


@pytest.mark.parametrize("wrong", ["proxy.internal", "10.0.0.0/99", "127.0.0.1:80", "127.0.0.1 10.0.0.1"])
def test_a_wrong_setting_is_told(wrong: str) -> None:
    with pytest.raises(InvalidSettings, match="trusted_proxies: found "):
        read_proxies(f"127.0.0.1,{wrong}")


def report_url(server: Server, headers: dict[str, str]) -> str:
    new = {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [EXACT]}
    eval_id = server.post("/v1/evals", new, headers).json()["id"]
    rows = [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    run = server.post(f"/v1/evals/{eval_id}/runs", {"data_source": source}, headers).json()
    url: str = run["report_url"]
    assert url.endswith(f"/evals/{eval_id}/runs/{run['id']}")
    return url.partition("/evals/")[0]


def test_links_lead_to_where_the_client_came_in(start: Start) -> None:
    said = {**SAID, "x-forwarded-host": "localhost:8443"}
    trusting, other = start(env={"FAIRMARK_TRUSTED_PROXIES": "127.0.0.0/8"}), start()
    assert report_url(trusting, said) == "https://localhost:8443"
    assert report_url(trusting, {}) == trusting.url
    assert report_url(other, said) == other.url
    refused = trusting.get("/v1/evals", SAID)  # it has no keys, and the world came by the proxy
    assert (refused.status, refused.error["code"]) == (403, "host_not_allowed")
