r"""numeric: compare the number in a text with the expected one. The reward is 1.0 or 0.0.

Numbers are exact: 0.1 + 0.2 is 0.3 here. They are read as people and models write them: 1,234.5, 1e3, -½, 2 1/2,
12.5 %, \boxed{\frac{1}{2}}.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, Problem
from fairmark.graders.compared import Tolerance
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template, fixed_text

MOST_DIGITS = 400
MOST_EXPONENT = 400
MOST_UNIT_CHARS = 40
_NUMBER = "one number, such as 1,234.5, 1e3, 1/2 or 50 %"

Take = Literal["last", "first", "only"]
Percent = Literal["fraction", "ignore"]


class Numeric(GraderSpec):
    """Compare the number in a text with the expected one; the reward is 1 or 0."""

    type: Literal["numeric"]
    input: Template
    reference: Template
    tolerance: Tolerance = 0.0
    relative_tolerance: Tolerance = 0.0
    take: Take = "last"
    percent: Percent = "fraction"
    decimal_comma: Annotated[bool, Strict()] = False

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """It passes when it holds; a pass_threshold has nothing to add."""
        return 1.0

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """A reference that is the same for every row."""
        text = fixed_text(fields.get("reference"))
        if text is not None and _only(text, percent="fraction", decimal_comma=False) is None:
            yield Problem(
                ".reference", f"found {jsontext.quote(text)}. It takes {_NUMBER}, or a template: {{{{ item.… }}}}."
            )


def grade(spec: Numeric, row: Row, ctx: Context) -> Grade:
    text, wanted = spec.input.render(row), spec.reference.render(row)
    expected = _only(wanted, spec.percent, decimal_comma=False)  # JSON writes numbers with a point
    if expected is None:
        shown = jsontext.quote(wanted)
        raise GradingFailed(f"reference: expected {_NUMBER}; found {shown}.")
    answered = _only(text, spec.percent, spec.decimal_comma) if spec.take == "only" else _among(text, spec)
    if answered is None:
        row.warn("there is no number in the input" if spec.take != "only" else "the input is not one number")
        return Grade(0.0)
    allowed = max(_exactly(spec.tolerance), abs(expected) * _exactly(spec.relative_tolerance))
    return Grade(float(abs(answered - expected) <= allowed))


def _exactly(value: float) -> Fraction:
    """As it is written: 0.1 is a tenth, and not the binary number next to it."""
    return Fraction(repr(value))


def _only(text: str, percent: Percent, decimal_comma: bool) -> Fraction | None:
    """The number that the text is, with at most a currency before it and a unit after it; None where it is none."""
    boxed = _last_box(text)
    text = _plain(text if boxed is None else boxed)
    numbers = list(islice(_numbers(text, "first", percent, decimal_comma), 2))
    if len(numbers) != 1:
        return None
    ((value, start, end),) = numbers
    before, after = text[:start].strip(), text[end:].strip()
    is_alone = before in ("", "=") and len(after) <= MOST_UNIT_CHARS and _UNIT.fullmatch(after) is not None
    return value if is_alone else None


def _among(text: str, spec: Numeric) -> Fraction | None:
    r"""The first or last number of the text, or of what its last \boxed{} holds, where it has one with a number."""
    boxed = _last_box(text)
    for part in (boxed, text):
        if part is not None:
            number = next(_numbers(_plain(part), spec.take, spec.percent, spec.decimal_comma), None)
            if number is not None:
                return number[0]
    return None


# A unit: km, m/s, °C, kg·m², "apples", "US dollars". No digits but raised ones: two numbers must not pass for one.
_UNIT = re.compile(r"(?:[^\W\d]|[ °·/²³⁻¹'\"])*\.?")


def _last_box(text: str) -> str | None:
    r"""What the last \boxed{…} or \fbox{…} holds; None without one, or where it never ends."""
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


_FRAC = re.compile(r"\\[dtc]?frac\s*(?:\{\s*(-?[\d.,]+)\s*\}|(\d))\s*(?:\{\s*(-?[\d.,]+)\s*\}|(\d))")
_TEX_WORDS = re.compile(r"\\(?:text|mathrm|textbf|mathbf|operatorname|mbox)\s*\{([^{}]*)\}")
_REPLACED = (
    (re.compile(r"\\left|\\right|\\[,;:! ]|\\quad|(?<!\\)\$|\\\(|\\\)|\\\[|\\\]"), " "),
    (re.compile(r"(?<=\d)\{,\}(?=\d)"), ","),
    (re.compile(r"\\(?=[%$#&_])"), ""),
    (re.compile(r"\^\s*\{?\\circ\}?|\\degree"), "°"),
    (
        re.compile(r"(?:\\times|\\cdot|×|·|\*)\s*10\s*(?:\^|\*\*)\s*(?:\{\s*([-+−]?\d+)\s*\}|\(?([-+−]?\d+)\)?)"),
        r"e\1\2",
    ),
    (re.compile(r"(?<![\w.,])10\s*\^\s*(?:\{\s*([-+−]?\d+)\s*\}|([-+−]?\d+))"), r"1e\1\2"),
    (re.compile(r"(?<=[^\W\d])\s?\^\s?\{?\s?-?\d+\s?\}?"), ""),
    (re.compile(r"(?<=\d)\s+e(?=[-+−]?\d)"), "e"),
    (re.compile(r"[−–‐‑﹣－](?=\s*[\d.½¼¾⅐-⅞(\\$€£¥])"), "-"),
    (re.compile(r"[\u00a0\u2007\u2009\u202f]"), " "),
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED_POWER = re.compile(r"(?:(?P<times>×|·|\*|\\times|\\cdot)\s*|(?<![\w.,]))10(?P<power>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


def _plain(text: str) -> str:
    """The text with LaTeX and typographic signs as plain ones: 1/2 for a fraction, e for a power of ten."""
    text = _RAISED_POWER.sub(lambda found: ("e" if found["times"] else "1e") + found["power"].translate(_RAISED), text)
    if "\\" in text:
        text = _TEX_WORDS.sub(r" \1 ", text)
        text = _FRAC.sub(lambda frac: f" {frac[1] or frac[2]}/{frac[3] or frac[4]} ", text)
    for pattern, plain in _REPLACED:
        text = pattern.sub(plain, text)
    return text


@lru_cache(maxsize=2)
def _grammar(decimal_comma: bool) -> re.Pattern[str]:
    """A number in a text. No digits that hang on a letter (H2O), a further point (3.1.4) or a power."""
    point, comma = (",", ".") if decimal_comma else (".", ",")
    grouped = rf"\d{{1,3}}(?:[{comma} _'’]\d{{3}})+(?!\d)"
    whole = rf"(?:{grouped}|\d+)(?:[{point}]\d+|[{point}](?!\d))?|[{point}]\d+"
    power = r"(?:[eE][-+−]?\d{1,9})?"
    single = rf"(?:{whole}){power}"
    return re.compile(
        rf"(?<![\w.,/^])(?<!\^[{{(])(?P<sign>[-+]\s*)?(?P<currency>[$€£¥]\s*)?(?P<inner>[-+])?"
        rf"(?:(?P<mixed>\d+)\s*(?P<vulgar>[½¼¾⅐-⅞])|(?P<alone>[½¼¾⅐-⅞])"
        rf"|(?P<ones>\d+)\s+(?P<small>\d+)\s*/\s*(?P<large>\d+)(?![\d/])"
        rf"|(?P<above>{single})\s*/\s*(?P<minus>-)?(?P<below>{single})(?![\d/]|\s*/\s*\d)"
        rf"|(?P<number>{single})(?!\s*/\s*\d))"
        rf"(?![{point}{comma}]?\d|\s?\^|[⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹])(?P<percent>\s*%)?"
    )


def _numbers(text: str, take: Take, percent: Percent, decimal_comma: bool) -> Iterator[tuple[Fraction, int, int]]:
    """The numbers of a plain text, each with where it begins and ends; the last one first where that is wanted."""
    matches: Iterable[re.Match[str]] = _grammar(decimal_comma).finditer(text)
    if take == "last":
        matches = reversed(list(matches))
    for match in matches:
        value = _value(match, decimal_comma)
        if value is None:
            continue
        if (match["sign"] or "").startswith("-") != ((match["inner"] or "") == "-"):
            value = -value
        if match["percent"] and percent == "fraction":
            value /= 100
        yield value, match.start(), match.end()


def _value(match: re.Match[str], decimal_comma: bool) -> Fraction | None:
    """Without its sign; None for what is no number after all: 1/0, or one too large to be meant."""
    if match["alone"]:
        return _vulgar(match["alone"])
    if match["mixed"]:
        ones = _decimal(match["mixed"], decimal_comma)
        return None if ones is None else ones + _vulgar(match["vulgar"])
    parts = [match[name] for name in ("ones", "small", "large", "above", "below", "number") if match[name]]
    values = [_decimal(part, decimal_comma) for part in parts]
    match values:
        case [Fraction() as number]:
            return number
        case [Fraction() as above, Fraction() as below] if below:
            return -above / below if match["minus"] else above / below
        case [Fraction() as ones, Fraction() as small, Fraction() as large] if large:
            return ones + small / large
        case _:
            return None


def _vulgar(sign: str) -> Fraction:
    """½ as 1/2."""
    above, _, below = unicodedata.normalize("NFKC", sign).partition("⁄")
    return Fraction(int(above), int(below))


def _decimal(digits: str, decimal_comma: bool) -> Fraction | None:
    point, comma = (",", ".") if decimal_comma else (".", ",")
    plain = re.sub(rf"[{comma} _'’]", "", digits).replace(point, ".").replace("−", "-")
    mantissa, _, exponent = plain.lower().partition("e")
    if len(mantissa) > MOST_DIGITS or abs(int(exponent or 0)) > MOST_EXPONENT:
        return None
    return Fraction(mantissa.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0)
