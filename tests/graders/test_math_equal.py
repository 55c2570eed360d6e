"""math_equal."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fairmark

SAME = [
    (r"$10^{9000}$", "10^{9000}"),
    ("It costs $5 and in total $7.", "7"),
    ("We have $2+$ hmm, so 12", "12"),
    ("The answer is 42!", "42"),
    ("The answer is 5!", "120"),
    ("1/2", "0.5"),
    (r"\frac12", "0.5"),
    (r"\boxed{\frac{\sqrt{2}}{2}}", r"\frac{1}{\sqrt2}"),
    (r"First \boxed{1}, but rather \boxed{2}.", "2"),
    ("x^2+2x+1", "(x+1)^2"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"\frac{x^2-1}{x-1}", "x+1"),
    (r"2\pi", "6.283185"),
    ("$x=5$", "5"),
    ("x = 5", "x=5"),
    ("2x+3y=6", "4x+6y=12"),
    (r"\{1,2,3\}", r"\{3,2,1\}"),
    ("1, 2", "2, 1"),
    (r"\pm 3", "3, -3"),
    (r"x = 1 \text{ or } x = 2", "1, 2"),
    ("(1,2)", r"\left(1, 2\right)"),
    (r"\left(\frac{1}{2},3\right)", "(0.5,3)"),
    (r"(-\infty, 3]", r"\left(-\infty,3\right]"),
    (r"(0,1)\cup(2,3)", r"(2,3)\cup(0,1)"),
    (r"x \in [0,1]", "[0,1]"),
    ("x<5", "5>x"),
    (r"x \le 5", "5 >= x"),
    (r"50\%", "1/2"),
    ("1,234", "1234"),
    (r"3\frac{1}{2}", "7/2"),
    (r"\text{yes}", "Yes"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & 4\end{bmatrix}"),
    (r"\log_2 8", "3"),
    (r"\ln e^2", "2"),
    (r"5\text{ cm}", "5"),
    (r"90^\circ", "90"),
    ("sqrt(8)", "2*sqrt(2)"),
    (r"e^{i\pi}", "-1"),
    ("The answer is $42$.", "42"),
    ("so it is 42", "42"),
    (r"\binom{5}{2}", "10"),
    ("5!", "120"),
    ("|-3|", "3"),
    (r"\sqrt[3]{27}", "3"),
    ("a_1+b", "b+a_1"),
    ("x²+1", "x^2+1"),
    ("2½", "5/2"),
    ("θ", r"\theta"),
    ("1.5e3", "1500"),
    ("1e-3", "0.001"),
    ("1 000 000", "10^6"),
    (r"1\,000", "1000"),
    ("x = 1,000", "1000"),
    ("x = 2 3/4", "11/4"),
    (r"x=2\frac{3}{4}", "11/4"),
    (r"0.1\overline{6}", "1/6"),
    (r"\sin 30^\circ", "1/2"),
    (r"\cos(60^\circ)", "1/2"),
    (r"\lfloor 2.5 \rfloor", "2"),
    ("5 cm", "5"),
    ("12 cm^2", "12"),
    ("6:8", "3:4"),
    ("3:4:5", "6:8:10"),
    ("x<5", r"(-\infty,5)"),
    ("5 > x >= 2", "[2,5)"),
    (r"x<1 \text{ or } x>2", r"(-\infty,1)\cup(2,\infty)"),
]
DIFFERENT = [
    # What cannot be computed or read does not come to a number that stands in it.
    ("$10^{100000000}$", "100000000"),
    ("$2^{10^{10}}$", "10"),
    (r"$\frac{1}{0}$", "0"),
    (r"$\log_{2}(8$", "8"),
    ("$x^2+$", "2"),
    (r"$\binom{100000}{50000}$", "50000"),
    ("1/3", "0.333"),
    ("x^2", "x"),
    (r"\sqrt{x^2}", "x"),
    ("(1,2)", "(2,1)"),
    ("[0,1)", "[0,1]"),
    ("x<5", "x>5"),
    ("5", "6"),
    (r"\{1,2\}", r"\{1,2,3\}"),
    ("nothing", "5"),
    ("yes", "no"),
    ("x=5", "y=6"),
    ("9^{9^{9^9}}", "1"),
    ("", "5"),
    ("50", r"50\%"),
    ("1, 2", "1"),
    ("0.1", "0"),
    ("1+" * 500 + "1", "3"),
    ("__import__('os').system('true')", "0"),
    ("1 000", "0"),
    ("2 3", "6"),
    ("2e-3", "0.002"),  # 2e less 3
    ("10^{100}", "10^{100}+1"),
    (r"\cos 60", "1/2"),
    ("x<5", r"(-\infty,5]"),
    ("3:4", "4:3"),
    ("2m", "2"),
    ("2L", "2"),
    ("①", "1"),
    (r"\sum_{k=1}^{10} k", "10"),
]


OTHERWISE = {
    (r"First \boxed{1}, but rather \boxed{2}.", "2"),  # the last box counts here; math-verify takes both
    (r"e^{i\pi}", "-1"),
    ("so it is 42", "42"),  # no formula there
    ("The answer is 5!", "120"),  # 5 there, and either here
    ("50", r"50\%"),  # 50 % is a half here, and either there
    # As people write them, and not read there: raised signs, groups of digits, powers of ten, mixed numbers, periods.
    *(("x²+1", "x^2+1"), ("2½", "5/2"), ("1.5e3", "1500"), ("1e-3", "0.001"), ("x = 2 3/4", "11/4")),
    *(("1 000 000", "10^6"), (r"1\,000", "1000"), ("x = 1,000", "1000"), ("1 000", "0"), (r"0.1\overline{6}", "1/6")),
    *((r"\sin 30^\circ", "1/2"), (r"\cos(60^\circ)", "1/2")),  # a degree counts nowhere there
    *(("12 cm^2", "12"), ("2m", "2"), ("3:4:5", "6:8:10")),  # m is a variable here
    *(("x<5", r"(-\infty,5)"), ("5 > x >= 2", "[2,5)")),  # the same the other way round is one there
    (r"x<1 \text{ or } x>2", r"(-\infty,1)\cup(2,\infty)"),
}
"""Where math-verify says otherwise, and what is meant here."""
PYTHON = Path(__file__).parents[2] / ".venv-clients" / "mathverify" / "bin" / "python"
SCRIPT = """
import json, sys
from math_verify import parse, verify

def formula(text):
    return text if "$" in text or "boxed" in text else f"${text}$"

def told(answer, reference):
    read = [parse(formula(text), parsing_timeout=None) for text in (reference, answer)]
    return bool(verify(*read, timeout_seconds=None))

print(json.dumps([told(*pair) for pair in json.load(sys.stdin)]))
"""


@pytest.mark.thorough
def test_math_verify_says_the_same() -> None:
    # It computes powers, however many minutes they take.
    huge = re.compile(r"9\^{9|\^{10\^{10|\^{\d{6}")
    pairs = [pair for pair in [*SAME, *DIFFERENT] if len(pair[0]) < 500 and not huge.search(pair[0])]
    done = subprocess.run([PYTHON, "-c", SCRIPT], input=json.dumps(pairs), capture_output=True, text=True, check=True)
    theirs = dict(zip(pairs, json.loads(done.stdout), strict=True))
    assert {pair for pair in pairs if theirs[pair] != (pair in SAME)} == OTHERWISE


def graded(answer: str, reference: Any, **more: Any) -> fairmark.Result:
    grader = {"type": "math_equal", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}", **more}
    return fairmark.grade(grader, answer, {"answer": reference})


@pytest.fixture(scope="module")
def rewards() -> dict[tuple[str, str], fairmark.Result]:
    grader = {"type": "math_equal", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"}
    pairs = [*SAME, *DIFFERENT]
    rows = [{"item": {"answer": reference}, "sample": answer} for answer, reference in pairs]
    return dict(zip(pairs, fairmark.grade_many(grader, rows), strict=True))


@pytest.mark.parametrize("pair", SAME)
def test_what_means_the_same_is_one(pair: tuple[str, str], rewards: dict[tuple[str, str], fairmark.Result]) -> None:
    assert (rewards[pair].error, rewards[pair].reward) == (None, 1.0)


@pytest.mark.parametrize("pair", DIFFERENT)
def test_what_does_not_is_zero_and_no_error(
    pair: tuple[str, str], rewards: dict[tuple[str, str], fairmark.Result]
) -> None:
    assert (rewards[pair].error, rewards[pair].reward) == (None, 0.0)


def test_only_decimals_are_compared_with_a_tolerance() -> None:
    assert graded("1.41421", r"\sqrt{2}").reward == 0.0
    assert graded("1.41421", r"\sqrt{2}", tolerance=1e-5).reward == 1.0
    assert graded("1/3", "1/4", tolerance=1).reward == 0.0


@pytest.mark.parametrize("reference", ["(((", r"\frac{1}{0}", " ", r"\sum_{k=1}^{10} k", "2 3"])
def test_a_reference_that_cannot_be_read_is_an_error(reference: str) -> None:
    result = graded("5", reference)
    assert (result.status, result.reward) == ("error", 0.0)
    assert str(result.error).startswith("reference: ")


def test_a_field_that_one_row_lacks_fails_alone() -> None:
    grader = {"type": "math_equal", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"}
    rows = [{"item": {"answer": 1}, "sample": "1"}, {"item": {}, "sample": "1"}, {"item": {"answer": 2}, "sample": "1"}]
    assert [result.reward_or(None) for result in fairmark.grade_many(grader, rows)] == [1.0, None, 0.0]


def test_what_was_read_is_told() -> None:
    assert graded(r"\boxed{\frac{1}{2}}", "0.25").printed == "read: 1/2 and 1/4\n"


@pytest.mark.parametrize(
    ("fields", "path"),
    [({"tolerance": -1}, "$.tolerance"), ({"timeout_s": 0}, "$.timeout_s"), ({"input": 5}, "$.input")],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], path: str) -> None:
    grader = {"type": "math_equal", "input": "a", "reference": "b", **fields}
    assert [problem.path for problem in fairmark.validate(grader).errors] == [path]
