"""Rates."""

import pytest

from fairmark.work.bucket import Bucket


def test_without_a_rate_nobody_waits() -> None:
    bucket = Bucket(None, 1)
    for now in range(1000):
        assert bucket.delay(1e9, now) == 0.0
        bucket.take(1e9)


def test_what_it_holds_goes_at_once_and_the_rest_evenly() -> None:
    bucket = Bucket(60, holds=3)
    waits = []
    for _ in range(5):
        waits.append(bucket.delay(1.0, 100.0))
        bucket.take(1.0)
    assert waits == pytest.approx([0, 0, 0, 1, 2])
    assert bucket.delay(1.0, 103.0) == 0.0
    assert bucket.delay(3.0, 10_000.0) == 0.0
    assert bucket.delay(9.0, 10_000.0) == 0.0  # more than it ever holds goes when it is full


def test_an_even_one_holds_a_second_or_at_least_one() -> None:
    assert Bucket.evenly(600).delay(10.0, 5.0) == 0.0
    slow = Bucket.evenly(6)
    assert slow.delay(1.0, 5.0) == 0.0
    slow.take(1.0)
    assert slow.delay(1.0, 5.0) == pytest.approx(10.0)
