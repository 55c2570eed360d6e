"""A budget: what may be spent, and that nothing is asked once it is."""

import pytest

from fairmark.errors import NotGraded
from fairmark.judgement import Usage
from fairmark.judges.base import Budget


def test_nothing_is_asked_once_the_tokens_are_spent() -> None:
    budget = Budget(tokens=1000)
    budget.spend(Usage(600, 399, 999), None)
    budget.check()
    budget.spend(Usage(1, 0, 1), None)
    with pytest.raises(NotGraded, match=r"^not asked: the budget of 1,000 tokens is spent\.$"):
        budget.check()


def test_nothing_is_asked_once_the_dollars_are_spent() -> None:
    budget = Budget(dollars=0.5)
    budget.spend(Usage(1, 1, 2), 0.25)
    budget.spend(Usage(1, 1, 2), None)
    budget.check()
    budget.spend(Usage(1, 1, 2), 0.25)
    with pytest.raises(NotGraded, match=r"^not asked: the budget of \$0\.5 is spent\.$"):
        budget.check()
    assert budget.spent_tokens == 6


def test_no_limit_is_never_reached_and_nothing_at_all_is_at_once() -> None:
    free = Budget()
    free.spend(Usage(10**9, 0, 10**9), 10.0**9)
    free.check()
    for nothing in (Budget(tokens=0), Budget(dollars=0)):
        with pytest.raises(NotGraded):
            nothing.check()


@pytest.mark.parametrize("limit", [{"tokens": -1}, {"dollars": -0.01}, {"dollars": float("nan")}])
def test_a_limit_is_a_number_from_0_on(limit: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="it takes a number, 0 or more"):
        Budget(**limit)  # type: ignore[arg-type]


def test_what_is_left_of_a_budget_is_never_below_nothing() -> None:
    budget = Budget(tokens=10, dollars=0.5)
    assert budget.left() == (10, 0.5)
    budget.spend(Usage(0, 0, 12), 0.125)
    assert budget.left() == (0, 0.375)
    assert Budget().left() == (None, None)
