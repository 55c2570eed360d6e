"""Formulas: `0.5 * name + max(email, 0.2)` -> a number, without Python's eval.

A formula is parsed once, into closures. Numbers, variables, parentheses, `+ - * / ^`, unary minus, and the functions
below; nothing else. `^` binds tighter than unary minus and groups to the right: `-2^2` is -4, `2^3^2` is 512.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from fairmark import jsontext
from fairmark.errors import FormulaFailed, InvalidGrader
from fairmark.text.compiled import CompiledText

MAX_LENGTH = 10_000
MAX_DEPTH = 50
"""Parentheses, signs and powers inside one another. It bounds Python's stack while parsing and while evaluating."""

Values = Mapping[str, float]
Node = Callable[[Values], float]

# name -> (least, most) number of arguments, and what computes it
FUNCTIONS: dict[str, tuple[int, float, Callable[..., float]]] = {
    "min": (1, math.inf, lambda *values: min(values)),
    "max": (1, math.inf, lambda *values: max(values)),
    "abs": (1, 1, abs),
    "floor": (1, 1, math.floor),
    "ceil": (1, 1, math.ceil),
    "exp": (1, 1, math.exp),
    "sqrt": (1, 1, math.sqrt),
    "log": (1, 1, math.log),
}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<symbol>[-+*/^(),]))"
)


class Formula(CompiledText):
    """A parsed formula. `variables` are the names it uses, in the order of their first use."""

    __slots__ = ("_value", "variables")

    wanted = "It takes a string: a formula over the graders' keys, such as 0.5 * a + 0.5 * b."

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        super().__init__(source)
        self._value = parser.parse()
        self.variables = tuple(parser.variables)

    def evaluate(self, values: Values) -> float:
        """The formula's value, always finite. Raises FormulaFailed where there is none."""
        try:
            return self._value(values)
        except ZeroDivisionError:
            reason = "division by zero"
        except OverflowError:
            reason = "the result is too large"
        except ValueError:
            reason = "there is no such root, logarithm or power"
        values_shown = ", ".join(f"{name} = {values[name]:g}" for name in self.variables)
        raise FormulaFailed(
            f"calculate_output {jsontext.quote(self.source)}: {reason}"
            + (f", with {values_shown}." if values_shown else ".")
        )


class _Parser:
    """Recursive descent. Sums and products are loops, so only real nesting uses the stack."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.variables: dict[str, None] = {}
        self._tokens: list[tuple[str, str, int]] = []
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        if len(self.source) > MAX_LENGTH:
            self._refuse(f"a formula has at most {MAX_LENGTH} characters, this one has {len(self.source)}")
        self._tokens = self._split()
        node = self._sum()
        if self._kind != "end":
            self._refuse(f"unexpected {self._found()}")
        return node

    def _split(self) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(self.source):
            token = _TOKEN.match(self.source, position)
            if token is None:
                rest = self.source[position:].lstrip()
                if not rest:
                    break
                self._refuse(f"unexpected {jsontext.quote(rest[0])}{_place(len(self.source) - len(rest))}")
            kind = str(token.lastgroup)
            tokens.append((kind, token[kind], token.start(kind)))
            position = token.end()
        return [*tokens, ("end", "", len(self.source))]

    @property
    def _kind(self) -> str:
        return self._tokens[self._next][0]

    @property
    def _text(self) -> str:
        return self._tokens[self._next][1]

    def _take(self, *symbols: str) -> str | None:
        kind, text, _ = self._tokens[self._next]
        if kind == "symbol" and text in symbols:
            self._next += 1
            return text
        return None

    def _found(self) -> str:
        kind, text, start = self._tokens[self._next]
        return "end of the formula" if kind == "end" else f"{jsontext.quote(text)}{_place(start)}"

    def _refuse(self, what: str) -> NoReturn:
        raise InvalidGrader.at("", f"{what}. {_ALLOWED}")

    def _sum(self) -> Node:
        first = self._product()
        rest: list[tuple[bool, Node]] = []
        while sign := self._take("+", "-"):
            rest.append((sign == "-", self._product()))
        return _sum_of(first, rest) if rest else first

    def _product(self) -> Node:
        first = self._signed()
        rest: list[tuple[bool, Node]] = []
        while sign := self._take("*", "/"):
            rest.append((sign == "/", self._signed()))
        return _product_of(first, rest) if rest else first

    def _signed(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"nested deeper than {MAX_DEPTH} levels")
        if self._take("-"):
            inner = self._signed()
            node: Node = lambda values: -inner(values)  # noqa: E731  # one line among nodes built alike
        elif self._take("+"):
            node = self._signed()
        else:
            node = self._power()
        self._depth -= 1
        return node

    def _power(self) -> Node:
        base = self._atom()
        return _power_of(base, self._signed()) if self._take("^") else base

    def _atom(self) -> Node:
        kind, text, start = self._tokens[self._next]
        if kind == "number":
            self._next += 1
            number = float(text)
            if math.isinf(number):
                self._refuse(f"the number {jsontext.shorten(text)} is too large")
            return lambda values: number
        if kind == "name":
            self._next += 1
            return self._call(text, start) if self._take("(") else self._variable(text)
        if self._take("("):
            node = self._sum()
            self._close()
            return node
        return self._refuse(f"expected a number, a grader's key or a parenthesis, found {self._found()}")

    def _variable(self, name: str) -> Node:
        self.variables[name] = None
        return lambda values: values[name]

    def _call(self, name: str, start: int) -> Node:
        if name not in FUNCTIONS:
            self._refuse(f"unknown function {jsontext.quote(name)}{_place(start)}")
        least, most, function = FUNCTIONS[name]
        arguments = [] if self._take(")") else [self._sum()]
        if arguments:
            while self._take(","):
                arguments.append(self._sum())
            self._close()
        if not least <= len(arguments) <= most:
            wanted = "one argument" if most == 1 else "at least one argument"
            self._refuse(f"{name}{_place(start)} takes {wanted}, found {len(arguments)}")
        return lambda values: _finite(float(function(*[argument(values) for argument in arguments])))

    def _close(self) -> None:
        if not self._take(")"):
            self._refuse(f'expected ")", found {self._found()}')


def _place(start: int) -> str:
    return f" at character {start + 1}"


def _finite(value: float) -> float:
    """Python raises on some overflows and answers inf on others; here both raise."""
    if not math.isfinite(value):
        raise OverflowError
    return value


def _sum_of(first: Node, rest: list[tuple[bool, Node]]) -> Node:
    def value(values: Values) -> float:
        total = first(values)
        for minus, node in rest:
            total = total - node(values) if minus else total + node(values)
        return _finite(total)

    return value


def _product_of(first: Node, rest: list[tuple[bool, Node]]) -> Node:
    def value(values: Values) -> float:
        total = first(values)
        for over, node in rest:
            total = _finite(total / node(values) if over else total * node(values))
        return total

    return value


def _power_of(base: Node, exponent: Node) -> Node:
    def value(values: Values) -> float:
        # math.pow, not **: a negative number to a fractional power is an error, not a complex number.
        return math.pow(base(values), exponent(values))

    return value


_ALLOWED = (
    f"A formula is made of numbers, the graders' keys, + - * / ^, parentheses and the functions {', '.join(FUNCTIONS)}."
)
