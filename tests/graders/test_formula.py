"""Formulas: the arithmetic, and what is refused."""

import ast
import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairmark.errors import FormulaFailed, InvalidGrader
from fairmark.graders.formula import MAX_DEPTH, MAX_LENGTH, Formula
from tests.thoroughness import share


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1", 1.0),
        (".5 + 1. + 1e-1 + 2E+1", 21.6),
        ("1 - 2 - 3", -4.0),
        ("12 / 2 / 3", 2.0),
        ("2 + 3 * 4", 14.0),
        ("(2 + 3) * 4", 20.0),
        ("-2 ^ 2", -4.0),
        ("(-2) ^ 2", 4.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("2 ^ -1", 0.5),
        ("2 * -3", -6.0),
        ("--3", 3.0),
        ("+3", 3.0),
        ("4 ^ 0.5", 2.0),
        ("min(a, b, 3)", 0.25),
        ("max(a)", 0.25),
        ("abs(a - b)", 0.25),
        ("floor(2.7) + ceil(2.1)", 5.0),
        ("exp(0) + sqrt(16) + log(exp(1))", 6.0),
        ("0.5 * a\n+\t0.5 * b", 0.375),
        ("min + min(1, 2)", 3.0),
    ],
)
def test_a_formula_has_the_value_arithmetic_gives_it(source: str, value: float) -> None:
    assert Formula(source).evaluate({"a": 0.25, "b": 0.5, "min": 2.0}) == pytest.approx(value, abs=1e-12)


def test_variables_are_listed_once_and_functions_are_not_variables() -> None:
    assert Formula("max(b, a) + a * b - c").variables == ("b", "a", "c")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / a", "division by zero, with a = 0."),
        ("0 ^ -1", "there is no such root, logarithm or power."),
        ("(-8) ^ (1 / 3)", "there is no such root, logarithm or power."),
        ("sqrt(a - 1)", "there is no such root, logarithm or power, with a = 0."),
        ("log(a)", "there is no such root, logarithm or power, with a = 0."),
        ("exp(1000)", "the result is too large."),
        ("10 ^ 400", "the result is too large."),
        ("1e308 * 10", "the result is too large."),
        ("1 / (1e308 * 10)", "the result is too large."),
        ("1e308 + 1e308", "the result is too large."),
    ],
)
def test_a_formula_without_a_finite_value_fails_and_says_why(source: str, reason: str) -> None:
    with pytest.raises(FormulaFailed) as failure:
        Formula(source).evaluate({"a": 0.0})
    assert str(failure.value) == f'calculate_output "{source}": {reason}'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "expected a number, a grader's key or a parenthesis, found end of the formula"),
        ("   ", "found end of the formula"),
        ("a +", "found end of the formula"),
        ("a b", 'unexpected "b" at character 3'),
        ("(a", 'expected ")", found end of the formula'),
        ("a)", 'unexpected ")" at character 2'),
        ("a ** b", 'found "*" at character 4'),
        ("a % b", 'unexpected "%" at character 3'),
        ("a == b", 'unexpected "=" at character 3'),
        ("a.b", 'unexpected "." at character 2'),
        ("a[0]", 'unexpected "[" at character 2'),
        ("round(a)", 'unknown function "round" at character 1'),
        ("min()", "min at character 1 takes at least one argument, found 0"),
        ("abs(a, b)", "abs at character 1 takes one argument, found 2"),
        ("sqrt(a,)", 'found ")" at character 8'),
        ("1e999", "the number 1e999 is too large"),
        ("__import__('os')", 'unexpected "\'" at character 12'),
        ("٣", 'unexpected "٣" at character 1'),
        ("a\x00", 'unexpected "\\u0000" at character 2'),
        ("\ud800", 'unexpected "\\ud800" at character 1'),
    ],
)
def test_what_is_no_formula_is_refused_with_its_place(source: str, message: str) -> None:
    with pytest.raises(InvalidGrader) as error:
        Formula(source)
    assert message in error.value.problems[0].message


@pytest.mark.parametrize("source", ["(" * 5000 + "1" + ")" * 4999, "-" * 9000 + "1", "2^" * 4000 + "1", "abs(" * 2000])
def test_nesting_is_bounded(source: str) -> None:
    with pytest.raises(InvalidGrader, match=f"nested deeper than {MAX_DEPTH} levels"):
        Formula(source)


def test_length_is_bounded_and_the_longest_formula_works() -> None:
    longest = "1+" * (MAX_LENGTH // 2 - 1) + "1"
    assert Formula(longest).evaluate({}) == MAX_LENGTH // 2
    with pytest.raises(InvalidGrader, match=f"at most {MAX_LENGTH} characters"):
        Formula(longest + "+10")


numbers = st.floats(min_value=-100, max_value=100, allow_nan=False).map(lambda number: round(number, 3))
leaves = numbers.map(lambda number: f"({number!r})") | st.sampled_from(["a", "b", "0.5", "3"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "^"]), inner).map(" ".join)
    return st.one_of(
        binary,
        binary.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        st.tuples(st.sampled_from(["abs", "floor", "ceil", "exp", "sqrt", "log"]), inner).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda three: f"{three[0]}({three[1]}, {three[2]})"
        ),
    )


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def python_value(node: ast.AST) -> float:
    """The value by Python's own grammar and operators. Complex and infinite numbers on the way are no numbers."""
    match node:
        case ast.Expression(body=body):
            return python_value(body)
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return {"a": A, "b": B}[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -python_value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            value = BINARY[type(op)](python_value(left), python_value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            value = (getattr(math, name, None) or getattr(builtins, name))(*map(python_value, arguments))
        case _:
            raise AssertionError(ast.dump(node))
    if isinstance(value, complex) or not math.isfinite(value):
        raise ArithmeticError
    return float(value)


A, B = 0.75, -2.5


@settings(derandomize=True, max_examples=share(2000), deadline=None)
@given(source=st.recursive(leaves, _combined, max_leaves=12))
def test_formulas_agree_with_pythons_own_arithmetic(source: str) -> None:
    """Python's ** has the same precedence and grouping as our ^."""
    try:
        expected = python_value(ast.parse(source.replace("^", "**"), mode="eval"))
    except (ArithmeticError, ValueError):
        with pytest.raises(FormulaFailed):
            Formula(source).evaluate({"a": A, "b": B})
        return
    assert Formula(source).evaluate({"a": A, "b": B}) == expected
