"""endpoint graders: what is accepted, and what is shown of them. How they ask is in tests/endpoints."""

from typing import Any

import pytest

import fairmark
from fairmark.endpoints.base import Target
from fairmark.graders.endpoint import Endpoint
from fairmark.parse import parse

URL = "https://rewards.example.com:8100/team"
ADDRESS = "It takes an address such as https://rewards.example.com:8100."


def problems(**fields: Any) -> list[str]:
    return [str(problem) for problem in fairmark.validate({"type": "endpoint", "url": URL, **fields}).errors]


def test_a_grader_with_everything_is_valid_and_echoed_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_SECRET_REWARDS", "never-shown")
    grader = {
        "type": "endpoint",
        "name": "remote",
        "url": URL,
        "headers": {"Authorization": "Bearer ${FAIRMARK_SECRET_REWARDS}"},
        "timeout_s": 5,
        "batch_size": 8,
        "description": "ours",
        "team": 1,
    }
    checked = fairmark.validate(grader)
    assert (checked.errors, checked.grader) == ([], grader)


def test_what_is_not_given_has_its_default() -> None:
    spec = parse({"type": "endpoint", "url": URL})
    assert isinstance(spec, Endpoint)
    assert spec.target == Target(URL, {}, 60.0, 64)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("rewards.example.com", 'found "rewards.example.com".'),
        ("ftp://rewards.example.com", 'found "ftp://rewards.example.com".'),
        ("file:///etc/passwd", 'found "file:///etc/passwd".'),
        ("http://", 'found "http://".'),
        ("http://x:99999", 'found "http://x:99999", which is not a URL.'),
        ("http://[::1", 'found "http://[::1", which is not a URL.'),
        ("http://me:secret@x", "it holds a user or a password, which would be shown with it. Put them into headers."),
        ("http://１２７.0.0.1", 'found "http://１２７.0.0.1", which has characters that an address cannot have.'),
        ("http://ⓛocalhost", 'found "http://ⓛocalhost", which has characters that an address cannot have.'),
        ("http://x/a b", 'found "http://x/a b", which has characters that an address cannot have.'),
        ("http://x\\@y", "it holds a user or a password, which would be shown with it. Put them into headers."),
        (
            "http://x/?a=1",
            'found "http://x/?a=1": /score and the like are put after it, so that it ends with its path.',
        ),
        ("http://x/#a", 'found "http://x/#a": /score and the like are put after it, so that it ends with its path.'),
    ],
)
def test_a_wrong_address_is_told_at_validation(url: str, found: str) -> None:
    (problem,) = problems(url=url)
    assert problem in (f"$.url: {found} {ADDRESS}", f"$.url: {found}")


@pytest.mark.parametrize("url", ["http://[::1]:8100", "http://127.1", "https://x", "http://a-b.c_d.example/p/q/"])
def test_an_address_need_not_be_reachable_to_be_valid(url: str) -> None:
    assert problems(url=url) == []


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([], "$.headers: found a list of 0. It takes an object."),
        ({"a b": "x"}, '$.headers["a b"]: not the name of a header.'),
        ({"Host": "x"}, "$.headers.Host: this header is set by Fairmark."),
        ({"X": 5}, "$.headers.X: found a number (5). It takes a string."),
        ({"X": "a\r\nY: b"}, "$.headers.X: it has characters that a header cannot have."),
        (
            {"X": "${OPENAI_API_KEY}"},
            '$.headers.X: found "${OPENAI_API_KEY}". Graders can name only variables of the environment that begin '
            "with FAIRMARK_SECRET_.",
        ),
    ],
)
def test_wrong_headers_are_told_at_validation(headers: Any, message: str) -> None:
    assert problems(headers=headers) == [message]


@pytest.mark.parametrize("value", [0, -1, 3601, True, "5", None, float("nan"), float("inf")])
def test_a_wrong_timeout_is_told_at_validation(value: Any) -> None:
    (problem,) = problems(timeout_s=value)
    assert problem.endswith("It takes seconds, more than 0 and up to 3600.")


@pytest.mark.parametrize("value", [0, 257, 1.5, True, "5", None])
def test_a_wrong_batch_size_is_told_at_validation(value: Any) -> None:
    (problem,) = problems(batch_size=value)
    assert problem.endswith("It takes a whole number from 1 to 256.")


def test_this_machine_is_not_asked_unless_it_is_allowed() -> None:
    result = fairmark.grade({"type": "endpoint", "url": "http://127.0.0.1:8100"}, "x")
    assert result.error == (
        "the endpoint 127.0.0.1 is not a public address, so it is not asked. To allow it, set "
        "FAIRMARK_ENDPOINT_ALLOW=127.0.0.1:8100"
    )
    assert result.errors["other_error"] is True
