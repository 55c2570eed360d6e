"""Wrong keys: who has to wait, how long, and what is kept of it."""

import pytest

from fairmark.errors import ApiError
from fairmark.serving import wrongkeys
from fairmark.serving.wrongkeys import FREE, WrongKeys
from tests.clocks import Clock, standing


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return standing(monkeypatch, wrongkeys)


def wait_s(kept: WrongKeys, address: str = "10.0.0.1", key: str = "new", *, by_hand: bool = False) -> int:
    """What a key is told to wait."""
    try:
        kept.check(address, key, by_hand=by_hand)
    except ApiError as refused:
        return int(refused.headers["retry-after"])
    return 0


def tried(count: int, address: str = "10.0.0.1") -> WrongKeys:
    kept = WrongKeys()
    for number in range(count):
        kept.wrong(address, f"wrong {number}")
    return kept


def test_the_wait_begins_after_a_few_and_doubles_up_to_a_minute(clock: Clock) -> None:
    kept = tried(FREE - 1)
    waits = []
    for number in range(6):
        assert wait_s(kept) == 0
        kept.wrong("10.0.0.1", f"later {number}")
        waits.append(wait_s(kept))
        clock.now += waits[-1]
    assert waits == [5, 10, 20, 40, 60, 60]


def test_the_refusal_says_when_to_come_again(clock: Clock) -> None:
    kept = tried(FREE)
    clock.now += 4.5
    with pytest.raises(ApiError, match=r"Try again in 1 second\.$") as refused:
        kept.check("10.0.0.1", "new")
    assert (refused.value.status, refused.value.code) == (429, "too_many_wrong_keys")
    assert refused.value.headers == {"retry-after": "1"}


def test_many_at_once_make_the_wait_no_longer_than_one() -> None:
    assert wait_s(tried(500)) == 5


def test_another_address_does_not_wait() -> None:
    kept = tried(FREE)
    assert (wait_s(kept, "10.0.0.1"), wait_s(kept, "10.0.0.2")) == (5, 0)


def test_an_address_of_ipv6_is_as_good_as_its_neighbours() -> None:
    kept = tried(FREE, "2001:db8:1:2::1")
    assert (wait_s(kept, "2001:db8:1:2:ffff::9"), wait_s(kept, "2001:db8:1:3::1")) == (5, 0)


def test_a_right_key_resets_but_not_while_the_address_waits(clock: Clock) -> None:
    kept = tried(FREE - 1)
    kept.right("10.0.0.1", "right")
    kept.wrong("10.0.0.1", "wrong again")
    assert wait_s(kept) == 0
    kept = tried(FREE)
    kept.right("10.0.0.1", "right")
    assert (wait_s(kept), wait_s(kept, key="right")) == (5, 0)
    clock.now += 5
    kept.right("10.0.0.1", "right")
    kept.wrong("10.0.0.1", "wrong again")
    assert wait_s(kept) == 0


def test_a_key_that_is_right_no_more_waits_like_any_other() -> None:
    kept = tried(FREE)
    kept.right("10.0.0.1", "revoked")
    kept.wrong("10.0.0.1", "revoked")
    assert wait_s(kept, key="revoked") == 5


def test_the_same_wrong_key_counts_once_but_for_those_who_type_it() -> None:
    kept = WrongKeys()
    for _ in range(50):
        kept.wrong("10.0.0.1", "old")
    assert wait_s(kept) == 0
    for _ in range(FREE):
        kept.wrong("10.0.0.2", "old", by_hand=True)
    assert wait_s(kept, "10.0.0.2", "old", by_hand=True) == 5


def test_all_is_forgotten_after_a_while(clock: Clock) -> None:
    kept = tried(FREE + 1)
    clock.now += wrongkeys.FORGOTTEN_AFTER_S + 1
    kept.wrong("10.0.0.1", "much later")
    assert wait_s(kept) == 0


def test_what_is_kept_is_bounded_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrongkeys, "ADDRESSES_AT_MOST", 10)
    monkeypatch.setattr(wrongkeys, "KEYS_AT_MOST", 10)
    kept = WrongKeys()
    for number in range(100):
        for key in range(FREE + 50):
            kept.wrong(f"10.0.0.{number}", f"wrong {key}")
        kept.right(f"10.0.0.{number}", "right")
    assert len(kept._records) == 10
    assert max(len(record.keys) for record in kept._records.values()) <= wrongkeys.REPEATED_AT_MOST
    assert len(kept._right) <= 10
    assert (wait_s(kept, "10.0.0.89"), wait_s(kept, "10.0.0.90")) == (0, 5)
