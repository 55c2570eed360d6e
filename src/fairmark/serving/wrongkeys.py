"""Who tries keys is slowed down: after a few wrong ones an address has to wait, each time longer.

Nobody is kept waiting with an open connection: those who come too early are told when to come again. A key that was
right from the same address goes on working meanwhile: whoever shares an address with a guesser, or with a program whose
key was revoked, is not locked out.
"""

import hashlib
import ipaddress
import math
import time
from typing import TYPE_CHECKING

from fairmark.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

FREE = 5
"""How many wrong keys an address may send before it has to wait."""
REPEATED_AT_MOST = 16
"""How many wrong keys of an address are known again."""
FIRST_WAIT_S = 5.0
"""It doubles with each wrong key after that."""
LONGEST_WAIT_S = 60.0
FORGOTTEN_AFTER_S = 900.0
ADDRESSES_AT_MOST = 10_000
KEYS_AT_MOST = 10_000
"""How many right keys are remembered, with the addresses they came from."""


class _Record:
    """The wrong keys of one address."""

    __slots__ = ("count", "keys", "last", "until")

    def __init__(self) -> None:
        self.count = 0
        self.keys: set[bytes] = set()
        """The first of them, hashed. One that comes again guesses nothing, and counts once."""
        self.until = 0.0
        self.last = 0.0


class WrongKeys:
    """What is known of addresses that sent wrong keys, the latest last. Its size is bounded."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}
        self._right: set[tuple[str, str]] = set()
        self.tell: Callable[[str, str], None] | None = None
        """Has the other processes of the server count what came here."""

    def check(self, address: str, key: str, *, by_hand: bool = False) -> None:
        """Before a key is looked up. Raises 429 while the address has to wait, for keys that are new from there.

        `by_hand`: somebody typed it, and a key that was wrong before is an attempt like any other.
        """
        record = self._records.get(_group(address)) if self._records else None
        wait_s = 0.0 if record is None else record.until - time.monotonic()
        if record is None or wait_s <= 0 or (address, key) in self._right:
            return
        if by_hand or _digest(key) not in record.keys:
            raise _too_many(wait_s)

    def right(self, address: str, key: str) -> None:
        """A key was right: the address begins anew, unless it has to wait just now."""
        if (address, key) not in self._right:
            if len(self._right) >= KEYS_AT_MOST:
                self._right.clear()
            self._right.add((address, key))
        if self._records:
            group = _group(address)
            record = self._records.get(group)
            if record is not None and record.until <= time.monotonic():
                del self._records[group]

    def wrong(self, address: str, key: str, *, by_hand: bool = False) -> None:
        """A key was wrong. `by_hand`: somebody typed it, and each time counts."""
        group, digest = _group(address), _digest(key)
        self._right.discard((address, key))
        if self.count(group, digest.hex(), by_hand=by_hand) and self.tell is not None:
            self.tell(group, digest.hex())

    def count(self, group: str, hashed: str, *, by_hand: bool = True) -> bool:
        """One more wrong key of these addresses; false where it does not count."""
        now, digest = time.monotonic(), bytes.fromhex(hashed)
        record = self._records.pop(group, None)
        if record is None or now - record.last > FORGOTTEN_AFTER_S:
            record = _Record()
        self._records[group] = record
        if len(self._records) > ADDRESSES_AT_MOST:
            del self._records[next(iter(self._records))]
        # Those that were under way when the wait began do not make it longer.
        if record.until > now or (digest in record.keys and not by_hand):
            return False
        record.last = now
        record.count += 1
        if len(record.keys) < REPEATED_AT_MOST:
            record.keys.add(digest)
        if record.count >= FREE:
            record.until = now + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(record.count - FREE, 30))
        return True


def _too_many(wait_s: float) -> ApiError:
    seconds = math.ceil(wait_s)
    unit = "second" if seconds == 1 else "seconds"
    return ApiError(
        429,
        f"Too many wrong keys came from your address. Try again in {seconds} {unit}.",
        "rate_limit_error",
        code="too_many_wrong_keys",
        headers={"retry-after": str(seconds)},
    )


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()[:16]


def _group(address: str) -> str:
    """An address; of IPv6 the network that one customer has, who could take another address for each key."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
