"""numeric."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairmark


def graded(text: str, reference: Any, **more: Any) -> fairmark.Result:
    grader = {"type": "numeric", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}", **more}
    return fairmark.grade(grader, text, {"answer": reference})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.5", 1234.5),
        ("1 234.5", 1234.5),
        ("1_234.5", 1234.5),
        ("1'234.5", 1234.5),
        ("1\u202f234.5", 1234.5),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("6.02 × 10^23", "6.02e23"),
        (r"$6.02 \times 10^{23}$", "6.02e23"),
        ("3.0×10⁸", 300000000),
        ("10^6", 1000000),
        ("10⁶", 1000000),
        ("10⁻³", "0.001"),
        (r"3 \times 10⁸", "3e8"),
        ("5 m²", 5),
        ("-½", "-0.5"),
        ("−½", "-1/2"),
        ("3½", 3.5),
        ("2 1/2", 2.5),
        ("1/2", 0.5),
        ("-3/4", "-0.75"),
        ("3/-4", "-0.75"),
        ("50%", 0.5),
        ("12.5 %", 0.125),
        (r"\boxed{5\%}", 0.05),
        (r"\boxed{\frac12}", 0.5),
        (r"\boxed{-\dfrac{3}{4}}", "-3/4"),
        (r"so \boxed{7}, as 3 + 4 = 7, and 8 is not", 7),
        (r"\boxed{\text{none}} but 5", 5),
        (r"\boxed{12{,}345}", 12345),
        (r"\boxed{5\text{ cm}^2}", 5),
        (r"first \boxed{1}, then \boxed{2}", 2),
        ("$1,000,000.00", 1000000),
        ("-$5", -5),
        ("$-5", -5),
        ("€ 5", 5),
        ("5 km", 5),
        ("5km/h", 5),
        ("5 cm^2", 5),
        ("90°", 90),
        (r"90^\circ", 90),
        ("10-3", 3),
        ("The answer is 5.", 5),
        (".5", 0.5),
        ("18\n#### 72", 72),
        ("[1, 2, 3]", 3),
        ("It is 3 and then 42.", 42),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: Any) -> None:
    result = graded(text, number)
    assert (result.reward, result.error) == (1.0, None)
    assert graded(text, 987654321).reward == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "five",
        "H2O",
        "3.14.15",
        "2024/05/01",
        "1,2,3",
        "1/0",
        "2^10",
        "2⁸",
        "inf",
        "nan",
        "-Infinity",
        "1e999",
        "12,34",
    ],
)
def test_an_input_without_a_number_is_a_wrong_answer_and_says_so(text: str) -> None:
    result = graded(text, 5)
    assert (result.reward, result.status) == (0.0, "graded")
    assert "there is no number in the input" in result.warnings


@pytest.mark.parametrize("reference", ["five", "nan", "Infinity", "", "5 or 6", "1/0", "1e999", [1, 2], None, True])
def test_a_reference_that_is_not_one_number_is_an_error(reference: Any) -> None:
    result = graded("5", reference)
    assert (result.status, result.reward) == ("error", 0.0)
    assert str(result.error).startswith("reference: expected one number")


def test_a_field_that_the_row_lacks_is_an_error() -> None:
    grader = {"type": "numeric", "input": "{{ item.text }}", "reference": "5"}
    assert fairmark.grade(grader, "5", {"answer": 5}).errors["invalid_variable_error"] is True


@pytest.mark.parametrize(
    ("text", "more", "reward"),
    [
        ("1.3", {"tolerance": 0.3}, 1.0),  # exactly as far as allowed, though 0.3 is no binary number
        ("1.31", {"tolerance": 0.3}, 0.0),
        ("0.7", {"tolerance": 0.3}, 1.0),
        ("1.01", {"relative_tolerance": 0.01}, 1.0),
        ("1.011", {"relative_tolerance": 0.01}, 0.0),
        ("1.2", {"relative_tolerance": 0.01, "tolerance": 0.2}, 1.0),
        ("1.0000001", {}, 0.0),
        ("1.0000000", {}, 1.0),
    ],
)
def test_it_may_be_off_by_the_larger_tolerance(text: str, more: dict[str, Any], reward: float) -> None:
    assert graded(text, 1, **more).reward == reward


@pytest.mark.parametrize(
    ("text", "more", "reward"),
    [
        ("5 or 6", {}, 0.0),
        ("5 or 6", {"take": "first"}, 1.0),
        ("5 or 6", {"take": "only"}, 0.0),
        ("= 5 km/h", {"take": "only"}, 1.0),
        ("$5", {"take": "only"}, 1.0),
        ("it is 5", {"take": "only"}, 0.0),
        ("5" + " " * 50_000 + "!", {"take": "only"}, 0.0),
        (r"$\boxed{5}$", {"take": "only"}, 1.0),
        ("500%", {}, 1.0),
        ("5%", {"percent": "ignore"}, 1.0),
        ("5,0", {"decimal_comma": True}, 1.0),
    ],
)
def test_which_number_is_taken_and_what_signs_mean(text: str, more: dict[str, Any], reward: float) -> None:
    assert graded(text, 5, **more).reward == reward


def test_a_decimal_comma_is_the_inputs_and_not_the_references() -> None:
    assert graded("1.234,5", 1234.5, decimal_comma=True).reward == 1.0
    assert graded("1,234.5", 1234.5, decimal_comma=True).reward == 0.0


@given(st.integers(-(10**12), 10**12), st.integers(0, 9))
def test_every_decimal_is_itself_in_whatever_way_it_is_written(digits: int, places: int) -> None:
    exact = Fraction(digits, 10**places)
    plain = f"{digits * 10 ** (9 - places)}e-9"
    grouped = f"{abs(digits) // 10**places:,}.{abs(digits) % 10**places:0{places or 1}d}"
    for text in (plain, f"{'-' if digits < 0 else ''}{grouped}", f"\\boxed{{{exact}}}"):
        assert graded(f"about {text} apples", f"{exact.numerator}/{exact.denominator}").reward == 1.0


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tolerance": -1}, "$.tolerance: found -1. It takes a number from 0."),
        ({"tolerance": "1"}, '$.tolerance: found a string ("1"). It takes a number.'),
        ({"take": "any"}, '$.take: unknown take "any". Use one of: last, first, only.'),
        ({"reference": None}, None),
        (
            {"reference": "item.answer"},
            '$.reference: found "item.answer". It takes one number, such as 1,234.5, 1e3, 1/2 or 50 %, or a template: '
            "{{ item.… }}.",
        ),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], told: str | None) -> None:
    found = fairmark.validate({"type": "numeric", "input": "a", "reference": "5", **fields}).errors
    assert len(found) == 1
    assert told is None or str(found[0]) == told
