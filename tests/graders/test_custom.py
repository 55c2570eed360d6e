"""custom graders hold a place and never grade."""

import fairmark


def test_asking_it_to_grade_is_an_error_that_says_what_to_do() -> None:
    result = fairmark.grade({"type": "custom", "name": "human rating", "description": "By our team."}, "x")
    assert (result.status, result.reward, result.passed) == ("error", 0.0, False)
    assert 'the custom grader "human rating" cannot be asked to grade' in str(result.error)
    assert result.errors["other_error"] is True


def test_it_is_valid_and_echoed_as_it_was_written() -> None:
    grader = {"type": "custom", "name": "human rating", "description": "By our team.", "team": 5}
    assert fairmark.validate(grader).grader == grader


def test_inside_multi_its_lack_of_a_score_is_an_error_of_the_whole() -> None:
    child = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}
    graders = {"rating": {"type": "custom"}, "exact": child}
    result = fairmark.grade({"type": "multi", "graders": graders, "calculate_output": "rating + exact"}, "x")
    assert (result.status, result.reward) == ("error", 1.0)
    assert str(result.error).startswith("rating: the custom grader")
