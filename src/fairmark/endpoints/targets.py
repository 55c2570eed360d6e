"""The address of a reward server and what is sent along, checked before anything is asked."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fairmark import jsontext
from fairmark.endpoints.base import Target
from fairmark.errors import InvalidGrader, Problem

LONGEST_S = 3600.0
SECRET = "FAIRMARK_SECRET_"  # noqa: S105  # how names begin
# A grader may come from anywhere, so that it names only what was put there for graders.
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_OURS = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
# Only what stands for itself: other letters and digits may be taken for ASCII ones by whoever connects.
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


def read_url(url: Any) -> str:
    if not isinstance(url, str):
        raise InvalidGrader.at("", f"found {jsontext.describe(url)}. It takes a string.", "invalid_type")
    wrong = wrong_url(url)
    if wrong is not None:
        raise InvalidGrader.at("", f"{wrong} It takes an address such as https://rewards.example.com:8100.")
    return url


def wrong_url(url: str) -> str | None:
    """What is wrong with the address of a reward server; None where nothing is."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return f"found {jsontext.quote(url)}, which is not a URL."
    if parts.username is not None or parts.password is not None:
        return "it holds a user or a password, which would be shown with it. Put them into headers."
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return f"found {jsontext.quote(url)}."
    if not _HOST.fullmatch(parts.netloc.removesuffix(f":{parts.port}")) or re.search(r"[^!-~]", url):
        return f"found {jsontext.quote(url)}, which has characters that an address cannot have."
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        return f"found {jsontext.quote(url)}: /score and the like are put after it, so that it ends with its path."
    return None


def read_headers(headers: Any) -> dict[str, str]:
    if not isinstance(headers, Mapping):
        raise InvalidGrader.at("", f"found {jsontext.describe(headers)}. It takes an object.", "invalid_type")
    problems = [
        Problem(f".{name}" if re.fullmatch(r"[\w-]+", str(name)) else f"[{jsontext.quote(str(name))}]", message)
        for name, value in headers.items()
        if (message := _wrong_header(name, value)) is not None
    ]
    if problems:
        raise InvalidGrader(problems)
    return dict(headers)


def _wrong_header(name: Any, value: Any) -> str | None:
    if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
        return "not the name of a header."
    if name.lower() in _OURS:
        return "this header is set by Fairmark."
    if not isinstance(value, str):
        return f"found {jsontext.describe(value)}. It takes a string."
    if re.search(r"[^\t -~]", value):
        return "it has characters that a header cannot have."
    for variable in _VARIABLE.findall(value):
        if not re.fullmatch(rf"{SECRET}\w+", variable, re.ASCII):
            return (
                f"found {jsontext.quote(f'${{{variable}}}')}. Graders can name only variables of the environment that "
                f"begin with {SECRET}."
            )
    return None


def read_timeout(seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST_S:
        raise InvalidGrader.at(
            "", f"found {jsontext.describe(seconds)}. It takes seconds, more than 0 and up to {LONGEST_S:g}."
        )
    return seconds


def read_target(url: Any, headers: Any, timeout_s: Any) -> Target:
    """Raises InvalidGrader with everything that is wrong."""
    problems: list[Problem] = []
    read: dict[str, Any] = {}
    for name, reader, value in (
        ("url", read_url, url),
        ("headers", read_headers, headers),
        ("timeout_s", read_timeout, timeout_s),
    ):
        try:
            read[name] = reader(value)
        except InvalidGrader as error:
            problems += [problem.below(f"$.{name}") for problem in error.problems]
    if problems:
        raise InvalidGrader(problems)
    return Target(**read)
