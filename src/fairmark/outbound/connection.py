"""For all who ask a server over HTTP: why it failed, in words, and when to come again."""

import errno
import math
import os
import re
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import aiohttp

from fairmark import jsontext


def why_it_failed(error: Exception) -> str:
    """Of aiohttp's errors, what a person can do something with."""
    match error:
        case aiohttp.ClientConnectorSSLError() if _speaks_no_tls(error):
            return f"{error.host}:{error.port} does not speak TLS: its address begins with http://, not with https://"
        case aiohttp.ClientConnectorCertificateError():
            wrong = getattr(error.certificate_error, "verify_message", error.certificate_error)
            return f"the certificate of {error.host}:{error.port} is not good ({wrong})"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno or 0
            why = os.strerror(number) if number > 0 else error.os_error.strerror or error.os_error
            return f"cannot connect to {error.host}:{error.port} ({why})"
        case aiohttp.ServerDisconnectedError():
            return "the server closed the connection before it answered"
        case aiohttp.ClientOSError() if error.errno in (None, errno.EPIPE, errno.ECONNRESET):  # or before it heard all
            return "the server closed the connection before it answered"
        case aiohttp.ClientPayloadError():
            return "the connection was cut in the middle of the answer"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy answered {error.status}"
        case aiohttp.ClientResponseError():  # of its parser, which calls it a 400; the marks below a place in it go
            said = " ".join(error.message.split()).rstrip("^ .")
            return f"the server's answer is not HTTP ({jsontext.shorten(said, 120)})"
        case _:
            return str(error) or type(error).__name__


def will_not_pass(error: Exception) -> bool:
    """Whether asking again would get the same: it is the address or the certificate that is wrong."""
    return isinstance(error, aiohttp.InvalidURL | aiohttp.ClientSSLError)


def _speaks_no_tls(error: aiohttp.ClientConnectorSSLError) -> bool:
    why = error.os_error
    reasons = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")  # as OpenSSL's versions call it
    return isinstance(why, ssl.SSLError) and why.reason in reasons


def asked_pause_s(headers: Mapping[str, str]) -> float | None:
    """How long the server asks us to wait, in seconds or until a date; None where it does not say."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            pause = float(value) / unit
        except ValueError:
            try:
                pause = parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, TypeError):
                continue
        if math.isfinite(pause):
            return max(0.0, pause)
    return None


_RESET = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|$)")
_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def used_up_for_s(headers: Mapping[str, str]) -> float:
    """How long no more requests are allowed, as `x-ratelimit-*` tells it (`6m0s`, `20ms`): 0 where some are left."""
    if headers.get("x-ratelimit-remaining-requests") != "0":
        return 0.0
    reset = headers.get("x-ratelimit-reset-requests", "")
    return sum(float(number) * _UNITS_S[unit] for number, unit in _RESET.findall(reset))
