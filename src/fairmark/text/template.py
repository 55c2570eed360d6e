"""Templates: `{{ item.answer }}`, `{{ sample.output_tools[0].function.name }}` -> text.

A template is compiled once, when its grader is parsed. Rendering is a single pass: what a variable brings in is
never expanded again. Braces that hold no variable are text.
"""

import re
from collections.abc import Callable
from typing import Any

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidGrader, Problem, SampleNotJson, VariableMissing
from fairmark.row import Row
from fairmark.text.compiled import CompiledText

NAMESPACES = ("item", "sample")
MOST_VARIABLES = 2_000
MOST_RENDERED_CHARS = 16_000_000
"""A row's values may be filled in many times over: a text beyond this is no text for a grader, but a mistake."""

# The innermost pair of double braces. Inside stand no braces, except within a quoted key.
_BRACES = re.compile(r"""\{\{((?:[^{}"']|"[^"{}]*"|'[^'{}]*')*)\}\}""")
# One step of a path: .key, [0], ["key"] or ['key'].
_STEP = re.compile(r"""\.([\w$@-]+)|\[\s*(?:(\d{1,9})|"([^"]*)"|'([^']*)')\s*\]""")
_NAME = re.compile(r"[^\W\d]\w*")
# Meant as a variable: a name alone, or a name and something that begins like a path.
_PATH_LIKE = re.compile(r"[^\W\d]\w*(?:\s*[.\[].*)?", re.DOTALL)
# A brace or two before a namespace in what was left as text: a variable whose braces do not match.
_STRAY = re.compile(r"\{\s*(?:item|sample)\s*[.\[}][^\s{}]*\}*")

# So few values cannot make much more of a row than there is.
_FEW_PARTS = 16

Step = str | int


class Template(CompiledText):
    """A compiled template. `source` is what the user wrote."""

    __slots__ = ("_parts", "render", "variables")

    wanted = "It takes a string; {{ item.… }} and {{ sample.… }} in it are filled in for each row."

    def __init__(self, source: str) -> None:
        parts, problems = _compile(source)
        if problems:
            raise InvalidGrader(problems)
        super().__init__(source)
        self.variables = tuple(part for part in parts if isinstance(part, Variable))
        self._parts = parts
        self.render: Callable[[Row], str] = self._choose()
        """The text for a row. Raises VariableMissing or SampleNotJson."""

    def _choose(self) -> Callable[[Row], str]:
        if not self.variables:
            text = self.source
            return lambda row: text
        if len(self._parts) == 1:
            return _output_text if type(self.variables[0]) is _OutputText else self.variables[0].render
        return self._join

    def _join(self, row: Row) -> str:
        if len(self._parts) > _FEW_PARTS:
            return self._join_bounded(row)
        return "".join([part if isinstance(part, str) else part.render(row) for part in self._parts])

    def _join_bounded(self, row: Row) -> str:
        texts: list[str] = []
        left = MOST_RENDERED_CHARS
        for part in self._parts:
            text = part if isinstance(part, str) else part.render(row)
            left -= len(text)
            if left < 0:
                raise too_long()
            texts.append(text)
        return "".join(texts)

    def render_with(self, row: Row, around: Callable[[str], str]) -> str:
        """The text for a row, with something put around every value that the row brings in."""
        if len(self._parts) > _FEW_PARTS:
            self._join_bounded(row)
        return "".join([part if isinstance(part, str) else around(part.render(row)) for part in self._parts])

    def stray(self) -> list[str]:
        """Pieces of plain text that look like variables with a brace missing. They stay text; a user may be told."""
        texts = [part for part in self._parts if isinstance(part, str)]
        return [stray for text in texts for stray in _STRAY.findall(text)]


def too_long() -> GradingFailed:
    return GradingFailed(
        f"the grader's text for this row is longer than {MOST_RENDERED_CHARS:,} characters: its template fills in long "
        "values many times."
    )


class Variable:
    """A path into the item or the sample."""

    __slots__ = ("namespace", "steps")

    def __init__(self, namespace: str, steps: tuple[Step, ...]) -> None:
        self.namespace = namespace
        self.steps = steps

    def render(self, row: Row) -> str:
        value = self.value(row)
        return value if type(value) is str else self._written(value, row)

    def _written(self, value: Any, row: Row) -> str:
        if value is None:
            row.warn(f"{self} is null, and stands there as the text null.")
        return _write(value)

    def value(self, row: Row) -> Any:
        """What stands at the path. A string that holds a JSON object or list is entered as one."""
        if self.namespace == "item":
            value: Any = row.item
        elif self.steps == ("output_text",):
            return _output_text(row)
        else:
            value = row.sample.members
            if self.steps[:1] == ("output_json",) and "output_json" not in value and not row.sample.is_absent:
                shown = jsontext.quote(row.sample.text)
                raise SampleNotJson(f"{self}: the sample is not JSON. It is: {shown}.")
        for index, step in enumerate(self.steps):
            if type(value) is str:
                value = self._parsed(index, value)
            elif not isinstance(value, (dict, list)) and callable(getattr(value, "tolist", None)):
                value = value.tolist()
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                raise self._missing(index, value)
        return value

    def _parsed(self, index: int, text: str) -> Any:
        try:
            value = jsontext.decode(text)
        except jsontext.NotJson:
            value = text
        if isinstance(value, (dict, list)):
            return value
        raise self._missing(index, text)

    def _missing(self, index: int, value: Any) -> VariableMissing:
        step = self.steps[index]
        owner = _path(self.namespace, self.steps[:index]) if index else f"this {self.namespace}"
        match value:
            case dict():
                message = f"{owner} has no field {jsontext.quote(str(step))}. {_fields(value, step)}"
            case list():
                size = f"{len(value)} element{'' if len(value) == 1 else 's'}"
                message = f"{owner} is a list of {size} and has no [{step}]."
            case _:
                message = f"{owner} is {jsontext.describe(value)} and has no fields."
        return VariableMissing(f"{self}: {message}")

    def __str__(self) -> str:
        return "{{ " + _path(self.namespace, self.steps) + " }}"


# The two paths nearly every grader uses, without the general walk.


class _OutputText(Variable):
    """`sample.output_text`."""

    __slots__ = ()

    def render(self, row: Row) -> str:
        return _output_text(row)


class _Field(Variable):
    """A field of the item."""

    __slots__ = ()

    def render(self, row: Row) -> str:
        try:
            value = row.item[self.steps[0]]  # type: ignore[index]  # a number is no key of a dict: KeyError
        except KeyError:
            raise self._missing(0, row.item) from None
        return value if type(value) is str else self._written(value, row)


def _path(namespace: str, steps: tuple[Step, ...]) -> str:
    text = namespace
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _STEP.fullmatch(f".{step}"):
            text += f".{step}"
        else:
            text += f"[{jsontext.quote(step)}]"
    return text


def _output_text(row: Row) -> str:
    """`sample.output_text`: it always exists, and is "" with a warning when there is no sample."""
    sample = row.sample
    if sample.is_absent:
        row.warn_of_no_sample()
    return sample.text


def _write(value: Any) -> str:
    """JSON; what JSON does not know, such as a Decimal or a date, as its text, without quotation marks."""
    while value is not None and not isinstance(value, (dict, list, tuple, bool, int, float, str)):
        value = jsontext.plain(value)  # a time of numpy becomes one of Python, and that its text
    return value if isinstance(value, str) else jsontext.write(value)


def _fields(value: dict[str, Any], step: Step) -> str:
    if not value:
        return "It has none."
    names = [str(key) for key in value]
    text = "It has: " + ", ".join(jsontext.shorten(name, 40) for name in names[:20])
    text += f" and {len(names) - 20} more." if len(names) > 20 else "."
    dotted = next((name for name in names if name.startswith(f"{step}.")), None)
    if dotted:
        text += f" A key with dots is written [{jsontext.quote(dotted)}]."
    return text


def _compile(source: str) -> tuple[list[str | Variable], list[Problem]]:
    parts: list[str | Variable] = []
    problems: list[Problem] = []
    known: dict[str, Variable | None] = {}
    end = variables = 0
    for braces in _BRACES.finditer(source):
        inside = braces.group(1).strip()
        try:
            variable = known[inside] = known[inside] if inside in known else _variable(inside)
        except ValueError as error:
            problems.append(Problem("", f"{jsontext.shorten(braces.group(), 80)}: {error}"))
            continue
        if variable is None:
            continue
        if braces.start() > end:
            parts.append(source[end : braces.start()])
        parts.append(variable)
        end = braces.end()
        variables += 1
        if variables > MOST_VARIABLES:
            return parts, [*problems, Problem("", f"found more than {MOST_VARIABLES:,} variables in one template.")]
    if end < len(source):
        parts.append(source[end:])
    return parts, problems


def _variable(inside: str) -> Variable | None:
    """The variable between two braces; None where the braces are just text; ValueError where one was meant."""
    if not _PATH_LIKE.fullmatch(inside):
        if _first_word(inside) in NAMESPACES:
            raise ValueError(f"not a path. {_PATHS}")
        return None
    namespace = _first_word(inside)
    if namespace not in NAMESPACES:
        raise ValueError(f"unknown namespace {jsontext.quote(namespace)}. Use item or sample: {{{{ item.name }}}}.")
    steps: list[Step] = []
    position = len(namespace)
    while position < len(inside):
        step = _STEP.match(inside, position)
        if step is None:
            raise ValueError(f"cannot read {jsontext.quote(inside[position:])}. {_PATHS}")
        key, index, double, single = step.groups()
        steps.append(int(index) if index else next(text for text in (key, double, single) if text is not None))
        position = step.end()
    if namespace == "sample" and steps == ["output_text"]:
        return _OutputText(namespace, tuple(steps))
    if namespace == "item" and len(steps) == 1:
        return _Field(namespace, tuple(steps))
    return Variable(namespace, tuple(steps))


_PATHS = """A path is made of .key, [0] and ["a key"]; there are no filters and no expressions."""


def _first_word(text: str) -> str:
    word = _NAME.match(text)
    return word.group() if word else ""


def fixed_text(value: Any) -> str | None:
    """What a template is for every row; None where rows make a difference, and for what is no template."""
    if not isinstance(value, str):
        return None
    try:
        return None if Template(value).variables else value
    except InvalidGrader:
        return None
