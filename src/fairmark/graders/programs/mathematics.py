"""Inside the sandbox: whether two expressions of mathematics, in LaTeX or plain, mean the same. None is executed."""

import re
import unicodedata
from itertools import permutations
from typing import Any

import sympy

DIGITS = 40
MOST_CHARS = 2_000
MOST_POWER = 10_000
MOST_PARTS = 7
MOST_EXPONENT = 400

CONSTANTS = {
    "pi": sympy.pi,
    "π": sympy.pi,
    "e": sympy.E,
    "i": sympy.I,
    "infty": sympy.oo,
    "infinity": sympy.oo,
    "∞": sympy.oo,
    "oo": sympy.oo,
}
FUNCTIONS = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "asin": sympy.asin, "acos": sympy.acos,
    "atan": sympy.atan, "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "exp": sympy.exp,
    "ln": sympy.log, "log": sympy.log, "abs": sympy.Abs, "sqrt": sympy.sqrt,
}  # fmt: skip
ANGLES = ("sin", "cos", "tan", "cot", "sec", "csc")
OPERATORS = frozenset("sum prod int iint oint lim limsup liminf mod bmod pmod max min sup inf gcd lcm det".split())
"""Commands that stand for a computation which is not made here: no names of variables."""
RELATIONS = {
    "=": "=", "<": "<", "\\lt": "<", ">": ">", "\\gt": ">", "\\le": "<=", "\\leq": "<=", "≤": "<=", "<=": "<=",
    "\\ge": ">=", "\\geq": ">=", "≥": ">=", ">=": ">=", "\\neq": "!=", "\\ne": "!=", "≠": "!=", "!=": "!=",
    "\\in": "in", "∈": "in",
}  # fmt: skip
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
TIMES = ("*", "\\cdot", "\\times", "×", "·")
WORDS = frozenset("yes no so it is the and or not of to in on at as all any one two six ten if by for was".split())
CLOSING = {"(": ")", "[": "]", "\\{": "\\}", "|": "|", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
ROUNDED = {"\\lfloor": sympy.floor, "\\lceil": sympy.ceiling}


class Unread(Exception):
    """The text is no expression that is understood here."""


class Uncomputed(Unread):
    """It is an expression, and its value is not known here: no other part of the text stands for it."""


# 1.5e3, 2e3 and 1e-9 have a power of ten; 2e-3 is 2e less 3, as a formula has it.
TOKEN = re.compile(
    r"\s*(\\[a-zA-Z]+|\\[{}|]|\d+\.\d+[eE][-+]?\d+|\d+[eE]\d+|(?<!\d)1[eE][-+]\d+|\d+(?:\.\d+)?|\.\d+|\*\*|<=|>=|!="
    r"|[A-Za-z]+|\S)"
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
CLEANED = (
    (r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits|mathrm(?=\s*[a-z])|,|;|:|!|quad|qquad)(?![a-zA-Z])", " "),
    (r"\\(?:text|mathrm|textbf|mathbf|mbox|textrm|operatorname)\s*\{\s*(?:and|or)\s*\}", ","),
    (r"(?<=[\d)}])\s*\\(?:text|mathrm|mbox|textrm)\s*\{[^{}]*\}(?:\s*\^\s*\{?\s*-?\d+\s*\}?)?\s*\.?\s*$", ""),
    (r"\^\s*\{?\s*\\circ\s*\}?|\\degree", "°"),
    (r"\\(?:text|mathrm|textbf|mathbf|mbox|textrm|operatorname)\s*\{([^{}]*)\}", r" \1 "),
    (r"\\[dtc]frac", r"\\frac"),
    (r"\\(?=[%$#&_ ])", ""),
    (r"(?<=\d)\{,\}(?=\d)", ""),
    (r"−|–", "-"),
    (r"\$", ""),
    (r"~", " "),
    (r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda raised: "^{" + raised[0].translate(RAISED) + "}"),
    (r"(\d*)\s*([½¼¾⅐-⅞])", lambda mixed: f"({mixed[1] or 0}+{vulgar(mixed[2])})"),
    (r"(\d{1,40})\.(\d{0,40})\\(?:overline|dot|bar)\s*\{(\d{1,40})\}", lambda parts: repeating(*parts.groups())),
    (r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d])", lambda grouped: grouped[0].replace(" ", "")),
    # 2 3/4 and 2\frac{3}{4}: a mixed number, where it stands alone or in a list.
    (
        r"(^|[=,(])\s*(-?)\s*(\d+)(?:\s*\\frac\s*\{(\d+)\}\s*\{(\d+)\}|\s+(\d+)/(\d+))\s*(?=$|[,)])",
        lambda mixed: f"{mixed[1]}{mixed[2]}({mixed[3]}+{mixed[4] or mixed[6]}/{mixed[5] or mixed[7]})",
    ),
)
# None of a single letter: 2L and 5g are products.
UNIT = r"(?:[cmkdn]m|[km]g|m[lL]|ft|lbs?|oz|hrs?|min|sec|mph|mi|yd|[kMG]?Hz|k[JW]|mol|USD|EUR|GBP|m/s|km/h)"
QUANTITY = re.compile(rf"(-?\d[\d,.]*)\s*{UNIT}(?:\s*(?:\^\s*\{{?\s*[23]\s*\}}?))?")
RATIO = re.compile(r"\d+(?:\.\d+)?(?:\s*:\s*\d+(?:\.\d+)?)+")
LETTERS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau phi chi psi omega"
GREEK = {
    unicodedata.lookup(f"GREEK {size} LETTER {name.replace('lambda', 'lamda').upper()}"): spelled
    for name in LETTERS.split()
    for size, spelled in (("SMALL", name), ("CAPITAL", name.capitalize()))
}


def vulgar(sign: str) -> str:
    """½ as 1/2."""
    return unicodedata.normalize("NFKC", sign).replace("⁄", "/")


def repeating(whole: str, fixed: str, period: str) -> str:
    r"""1.\overline{3} as a fraction."""
    above = int(whole + fixed + period) - int(whole + fixed)
    return f"({above}/{10 ** len(fixed) * (10 ** len(period) - 1)})"


MATRIX = re.compile(r"\\begin\{([a-zA-Z]*matrix|array)\}(?:\{[^}]*\})?(.*?)\\end\{\1\}", re.DOTALL)


def cleaned(text: str) -> str:
    for pattern, plain in CLEANED:
        text = re.sub(pattern, plain, text)
    text = text.strip().rstrip(".,;").strip()
    if quantity := QUANTITY.fullmatch(text):
        text = quantity[1].rstrip(".,")
    if RATIO.fullmatch(text):
        first, *others = (part.strip() for part in text.split(":"))
        parts = ",".join(f"{first}/{other}" for other in others)
        text = parts if len(others) == 1 else f"({parts})"
    if re.fullmatch(r"(?:[a-zA-Z]\s*=\s*)?-?\d{1,3}(,\d{3})+(\.\d+)?%?", text):
        text = text.replace(",", "")
    return text


class Reader:
    """Reads one expression by recursive descent. Values: sympy's, and ("list" | "(" … , parts), ("relation", …)."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.is_decimal = any("." in token and token != "." for token in self.tokens)
        self.depth = 0
        self.angles = 0
        """How many functions of angles are around: a degree counts there."""

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.next
        if not token or (wanted is not None and token != wanted):
            raise Unread(f"expected {wanted or 'more'}, found {token or 'the end'}")
        self.at += 1
        return token

    def whole(self) -> Any:
        value = self.listed()
        if self.next:
            raise Unread(f"cannot read {self.next}")
        return value

    def listed(self) -> Any:
        parts = [self.relation()]
        while self.next in (",", ";", "\\cup", "∪", "or", "and"):
            self.take()
            parts.append(self.relation())
        return parts[0] if len(parts) == 1 else ("list", parts)

    def relation(self) -> Any:
        sides, signs = [self.sum()], []
        while self.next in RELATIONS:
            signs.append(RELATIONS[self.take()])
            sides.append(self.sum())
        return ("relation", signs, sides) if signs else sides[0]

    def sum(self) -> Any:
        self.depth += 1
        if self.depth > 60:
            raise Unread("nested too deeply")
        value = self.product()
        while self.next in ("+", "-", "\\pm", "±"):
            sign = self.take()
            other = self.product()
            if sign in ("\\pm", "±"):
                value = ("list", [number(value) + number(other), number(value) - number(other)])
            else:
                value = number(value) + number(other) if sign == "+" else number(value) - number(other)
        self.depth -= 1
        return value

    def product(self) -> Any:
        value = self.signed()
        while True:
            if self.next in TIMES:
                self.take()
                value = number(value) * number(self.signed())
            elif self.next in ("/", "\\div", "÷"):
                self.take()
                value = quotient(number(value), number(self.signed()))
            elif self.begins_factor():
                if self.next[0].isdecimal() and self.tokens[self.at - 1][0].isdecimal():
                    raise Unread("two numbers side by side")
                value = number(value) * number(self.power())
            else:
                return value

    def begins_factor(self) -> bool:
        token = self.next
        if not token or token in RELATIONS or token in TIMES or token in ("or", "and", "\\cup", "\\pm", "\\div", "\\}"):
            return False
        if token in ("\\rfloor", "\\rceil"):
            return False
        return token[0].isalnum() or token[0] in "\\({π∞." or token == "√"

    def signed(self) -> Any:
        if self.next in ("-", "+"):
            sign = self.take()
            value = self.signed()
            return -number(value) if sign == "-" else value
        if self.next in ("\\pm", "±"):
            self.take()
            value = number(self.power())
            return ("list", [value, -value])
        return self.power()

    def power(self) -> Any:
        value = self.atom()
        while self.next in ("^", "**", "!", "%", "_", "°"):
            sign = self.take()
            if sign in ("^", "**"):
                value = raised(number(value), number(self.argument()))
            elif sign == "!":
                if not (isinstance(value, sympy.Integer) and 0 <= value <= 1000):
                    raise Unread("a factorial of that cannot be computed here")
                value = sympy.factorial(value)
            elif sign == "%":
                value = number(value) / 100
            elif sign == "°":
                value = number(value) * sympy.pi / 180 if self.angles else value
            else:
                name = "".join(str(self.argument()).split())
                value = sympy.Symbol(f"{value}_{name}")
        return value

    def argument(self) -> Any:
        """What stands in braces, or a single sign."""
        if self.next == "{":
            self.take()
            value = self.listed()
            self.take("}")
            return value
        if self.next == "-":
            self.take()
            return -number(self.argument())
        token = self.next
        if token[:1].isdigit() and len(token) > 1 and token.isdigit() and self.tokens[self.at - 1].startswith("\\"):
            self.tokens[self.at : self.at + 1] = [token[0], token[1:]]  # \frac12
        return self.atom()

    def atom(self) -> Any:
        token = self.take()
        if token[0].isdecimal() or (token[0] == "." and len(token) > 1):
            return literal(token)
        if token == "{":
            value = self.listed()
            self.take("}")
            return value
        if token in CLOSING:
            return self.bracket(token)
        name = GREEK.get(token, token.lstrip("\\"))
        if token == "√":
            name = "sqrt"
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name == "frac":
            return quotient(number(self.argument()), number(self.argument()))
        if name in ("binom", "dbinom", "tbinom"):
            return chosen(number(self.argument()), number(self.argument()))
        if name == "sqrt":
            return self.root()
        if name in FUNCTIONS:
            return self.function(name)
        if name in ("emptyset", "varnothing", "∅"):
            return ("\\{", [])
        if token.startswith("\\") and name in OPERATORS:
            raise Uncomputed(f"{token} is not computed here")
        if (token.startswith("\\") or token in GREEK) and len(name) > 1:
            return sympy.Symbol(name)
        if token.isalpha():
            if len(token) > 3 or token.lower() in WORDS:
                raise Unread(f"{token} is no sign of mathematics")
            value = sympy.Integer(1)
            for letter in token:
                value *= CONSTANTS.get(letter, sympy.Symbol(letter))
            return value
        raise Unread(f"cannot read {token}")

    def bracket(self, opening: str) -> Any:
        if self.next == CLOSING[opening] and opening == "\\{":
            self.take()
            return ("\\{", [])
        value = self.listed()
        closing = self.take()
        if opening == "|":
            if closing != "|":
                raise Unread("expected |")
            return sympy.Abs(number(value))
        if opening in ROUNDED:
            if closing != CLOSING[opening]:
                raise Unread(f"expected {CLOSING[opening]}")
            return ROUNDED[opening](number(value))
        is_list = isinstance(value, tuple) and value[0] == "list"
        if opening == "\\{":
            if closing != "\\}":
                raise Unread("expected a brace")
            return ("\\{", value[1] if is_list else [value])
        if closing not in (")", "]"):
            raise Unread(f"expected a bracket, found {closing}")
        if not is_list:
            if closing != CLOSING[opening]:
                raise Unread("brackets do not match")
            return ("[]", [value]) if opening == "[" else value
        return (opening + closing, value[1])

    def root(self) -> Any:
        degree: Any = sympy.Integer(2)
        if self.next == "[":
            self.take()
            degree = number(self.sum())
            self.take("]")
        return raised(number(self.argument()), quotient(sympy.Integer(1), degree))

    def function(self, name: str) -> Any:
        base = exponent = None
        while self.next in ("_", "^"):
            if self.take() == "_":
                base = number(self.argument())
            else:
                exponent = number(self.argument())
        self.angles += name in ANGLES
        if self.next in ("(", "{"):
            argument = number(self.atom())
        else:
            argument = number(self.signed())
            while self.next and self.begins_factor() and self.next.lstrip("\\") not in FUNCTIONS:
                argument *= number(self.power())
        self.angles -= name in ANGLES
        value = sympy.log(argument, base) if base is not None and name == "log" else FUNCTIONS[name](argument)
        if exponent == -1 and name in ("sin", "cos", "tan"):
            return FUNCTIONS[f"arc{name}"](argument)
        return value if exponent is None else raised(value, exponent)


def literal(token: str) -> Any:
    """A number as it is written."""
    _, _, exponent = token.lower().partition("e")
    if abs(int(exponent or 0)) > MOST_EXPONENT:
        raise Uncomputed("a power that is too large")
    return sympy.Rational(token)


def number(value: Any) -> Any:
    """An expression, where one is needed."""
    if isinstance(value, tuple):
        raise Unread("found a list where one value should be")
    return value


def chosen(among: Any, taken: Any) -> Any:
    if any(isinstance(value, sympy.Integer) and abs(value) > 1000 for value in (among, taken)):
        raise Uncomputed("a binomial coefficient of that cannot be computed here")
    return sympy.binomial(among, taken)


def quotient(above: Any, below: Any) -> Any:
    if below == 0:
        raise Uncomputed("a division by zero")
    return above / below


def raised(base: Any, exponent: Any) -> Any:
    if exponent.is_number and (not exponent.is_finite or abs(exponent) > MOST_POWER) and base not in (0, 1, -1):
        raise Uncomputed("a power that is too large")
    if base == 0 and exponent.is_negative:
        raise Uncomputed("a division by zero")
    return base**exponent


def read(text: str) -> tuple[Any, bool]:
    """The value of a text, and whether it is written with decimals. Raises Unread."""
    if len(text) > MOST_CHARS:
        raise Unread("it is too long")
    matrix = MATRIX.search(text)
    if matrix:
        rows = [row for row in re.split(r"\\\\", matrix[2]) if row.strip()]
        cells = [[read(cell) for cell in row.split("&")] for row in rows]
        parts = [("()", [value for value, _ in row]) for row in cells]
        return ("matrix", parts), any(decimal for row in cells for _, decimal in row)
    reader = Reader(cleaned(text))
    if not reader.tokens:
        raise Unread("it is empty")
    return reader.whole(), reader.is_decimal


def same(first: Any, second: Any, tolerance: float) -> bool:
    first, second = assigned(first, second), assigned(second, first)
    first, second = as_interval(first, second), as_interval(second, first)
    if isinstance(first, tuple) != isinstance(second, tuple):
        return False
    if not isinstance(first, tuple):
        return same_number(first, second, tolerance)
    kind, *_ = first
    if kind == "relation" or second[0] == "relation":
        return kind == second[0] and same_relation(first, second, tolerance)
    parts, others = first[1], second[1]
    if len(parts) != len(others):
        return False
    unordered = ("list", "\\{")
    if kind in unordered and second[0] in unordered:
        return same_in_any_order(parts, others, tolerance)
    if kind != second[0]:
        return False
    return all(same(one, other, tolerance) for one, other in zip(parts, others, strict=True))


def same_in_any_order(parts: list[Any], others: list[Any], tolerance: float) -> bool:
    if len(parts) > MOST_PARTS:
        left = list(others)
        for part in parts:
            partner = next((index for index, other in enumerate(left) if same(part, other, tolerance)), None)
            if partner is None:
                return False
            del left[partner]
        return True
    return any(all(map(lambda one, two: same(one, two, tolerance), parts, order)) for order in permutations(others))


def assigned(value: Any, other: Any) -> Any:
    """Of `x = 5` the 5, where the other side gives no equation; of a set of one, or x in a set, the set."""
    if (
        isinstance(value, tuple)
        and value[0] == "relation"
        and not (isinstance(other, tuple) and other[0] == "relation")
    ):
        _, signs, sides = value
        if all(sign in ("=", "in") for sign in signs) and isinstance(sides[0], sympy.Symbol):
            return sides[-1]
        if all(sign == "=" for sign in signs) and not any(isinstance(side, tuple) for side in sides):
            return sides[-1]
    return value


def as_interval(value: Any, other: Any) -> Any:
    """Of `2 < x <= 5` the interval, where the other side gives one."""
    if not (isinstance(value, tuple) and value[0] == "relation"):
        return value
    if not (isinstance(other, tuple) and other[0] in ("()", "(]", "[)", "[]") and len(other[1]) == 2):
        return value
    _, signs, sides = value
    if all(sign in (">", ">=") for sign in signs):
        signs, sides = [FLIPPED[sign] for sign in reversed(signs)], sides[::-1]
    if any(sign not in ("<", "<=") for sign in signs) or any(isinstance(side, tuple) for side in sides):
        return value
    match [isinstance(side, sympy.Symbol) for side in sides]:
        case [True, False]:
            return ("(]" if signs[0] == "<=" else "()", [-sympy.oo, sides[1]])
        case [False, True]:
            return ("[)" if signs[0] == "<=" else "()", [sides[0], sympy.oo])
        case [False, True, False]:
            return (("[" if signs[0] == "<=" else "(") + ("]" if signs[1] == "<=" else ")"), [sides[0], sides[2]])
    return value


def same_relation(first: Any, second: Any, tolerance: float) -> bool:
    _, signs, sides = first
    _, others, their = second
    if len(sides) != len(their):
        return False
    if signs == ["="] and others == ["="] and not any(isinstance(side, tuple) for side in (*sides, *their)):
        one, two = sides[0] - sides[1], their[0] - their[1]
        if one == 0 or two == 0:
            return bool(one == two)
        ratio = sympy.cancel(one / two)
        return bool(ratio.is_number and ratio != 0) or same_number(one, two, tolerance)
    flipped = [FLIPPED.get(sign, sign) for sign in reversed(others)]
    straight = signs == others and all(same(a, b, tolerance) for a, b in zip(sides, their, strict=True))
    return straight or (
        signs == flipped and all(same(a, b, tolerance) for a, b in zip(sides, reversed(their), strict=True))
    )


POINTS = [(sympy.Rational(7 + 3 * n, 5 + n) * (-1) ** n) for n in range(1, 9)]


def same_number(first: Any, second: Any, tolerance: float) -> bool:
    """By what they are, else by their values to 40 digits: at eight points, where they have variables."""
    if first == second:
        return True
    if not (first.is_finite is not False and second.is_finite is not False):
        return False
    names = sorted(first.free_symbols | second.free_symbols, key=str)
    if not names:
        return bool(near(first, second, tolerance))
    decided = 0
    for shift in range(len(POINTS)):
        at = {name: POINTS[(shift + 3 * index) % len(POINTS)] for index, name in enumerate(names)}
        close = near(first.subs(at), second.subs(at), tolerance)
        if close is False:
            return False
        decided += close is True
    return decided >= 3


def near(first: Any, second: Any, tolerance: float) -> bool | None:
    """None where one of them has no value."""
    if first.is_Rational and second.is_Rational and not tolerance:
        return bool(first == second)
    one, two = sympy.N(first, DIGITS), sympy.N(second, DIGITS)
    if not (one.is_number and two.is_number and one.is_finite and two.is_finite):
        return None if (one.has(sympy.nan, sympy.zoo) or two.has(sympy.nan, sympy.zoo)) else False
    size = max(abs(one), abs(two), sympy.Float(1e-30))
    return bool(abs(one - two) <= size * max(sympy.Float(tolerance), sympy.Float("1e-30")))


def last_box(text: str) -> str | None:
    start = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    if start < 0:
        return None
    start = text.index("{", start) + 1
    depth = 1
    for brace in re.finditer(r"\\.|[{}]", text[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[start : start + brace.start()]
    return None


FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")


def candidates(text: str) -> list[str]:
    """Where the result of an answer may stand, the likeliest first; only the first that can be read counts."""
    boxed = last_box(text)
    if boxed is not None:
        return [boxed]
    text = text[-20_000:]
    formulas = list(FORMULA.finditer(text))[-1:]
    places = [next(group for group in formula.groups() if group) for formula in formulas]
    places += said(text)
    lines = [line for line in text.splitlines() if line.strip()]
    # A number inside a formula that cannot be read is a part of it, and not what it comes to.
    beside = "".join(f"{text[: formula.start()]} {text[formula.end() :]}" for formula in formulas) or text
    return [*places, text, *lines[-1:], *NUMBER.findall(beside)[-1:]]


def said(text: str) -> list[str]:
    """What follows the last "answer is"."""
    parts = re.split(r"(?i)\b(?:answer|result|solution)\b\s*(?:is|:|=)\s*", text)
    return [parts[-1].split("\n")[0]] if len(parts) > 1 else []


def exclaims(place: str, expected: Any, tolerance: float) -> bool:
    """Whether it is right without the mark at its end: after words, 42! may be no factorial."""
    if not place.rstrip().endswith("!"):
        return False
    try:
        return same(expected, read(place.rstrip()[:-1])[0], tolerance)
    except Unread:
        return False


def shown(value: Any) -> str:
    try:
        return str(value)[:200]
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a number of thousands of digits"


def words(text: str) -> str:
    return " ".join(re.sub(r"[\\{}$().,;:!]|\\?(?:text|mathrm|textbf)", " ", text).casefold().split())


def grade(answer: Any, item: Any) -> float:
    """1 or 0; -1 where the expected one cannot be read. What was read is printed."""
    reference, tolerance = item["reference"], item["tolerance"]
    boxed = last_box(reference)
    reference = reference if boxed is None else boxed
    try:
        expected, decimal = read(reference)
    except Unread as why:
        if re.search(
            r"[A-Za-z]{2,}", re.sub(r"\\[a-zA-Z]+", " ", cleaned(reference))
        ):  # a word, such as "yes" or "(C) both"
            place = next(iter(candidates(answer)), answer)
            print(f"compared as words: {words(place)[:200]} and {words(reference)[:200]}")
            return float(words(place) == words(reference))
        print(f"{why}")
        return -1.0
    for place in candidates(answer):
        try:
            answered, has_decimal = read(place)
        except Uncomputed:
            break
        except Unread:
            continue
        print(f"read: {shown(answered)} and {shown(expected)}")
        if same(expected, answered, tolerance if decimal or has_decimal else 0.0):
            return 1.0
        return float(place in said(answer) and exclaims(place, expected, tolerance if decimal else 0.0))
    print("there is no expression in the input that can be read")
    return 0.0
