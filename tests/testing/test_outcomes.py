"""How a check ends where it was not passed."""

import pytest

from fairmark.testing.outcomes import Below, Ungraded


def test_a_failure_is_an_assertion_and_an_error_is_caught_by_nobody_by_accident() -> None:
    assert issubclass(Below, AssertionError)
    assert issubclass(Ungraded, pytest.fail.Exception)
    assert not issubclass(Ungraded, Exception)
