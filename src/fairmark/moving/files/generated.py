"""Python graders for rules that no kind of ours has: small, readable, and held against the tools they come from.

A rule is the lines that say whether it `holds` for `text` and `expected`; its name in the tool stands above them.
"""

from typing import Any, NamedTuple

# A half of a character beyond U+FFFF counts as one in JavaScript: for lengths, distances and what a dot matches.
_HALVES = '''
def halves(text):
    """As JavaScript sees it: two characters in place of one beyond U+FFFF."""
    return "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))
'''

_DISTANCE = '''
def distance(one, other, most):
    """How many characters have to be changed, added or dropped; most + 1 where it is more than `most`."""
    far = most + 1
    if abs(len(one) - len(other)) > most:
        return far
    before = {column: column for column in range(min(len(other), most) + 1)}
    for row, sign in enumerate(one, 1):
        now = {}
        for column in range(max(0, row - most), min(len(other), row + most) + 1):
            changed = before.get(column - 1, far) + (column > 0 and sign != other[column - 1])
            now[column] = min(changed, before.get(column, far) + 1, now.get(column - 1, far) + 1)
        if min(now.values()) > most:
            return far
        before = now
    return min(before[len(other)], far)
'''

_PARSED = '''
def no_constant(name):
    raise ValueError(name + " is not JSON")


def parsed(text):
    """(True, value) where it is JSON, as JavaScript reads it; (False, None) otherwise."""
    try:
        return True, json.loads(text, parse_constant=no_constant, parse_int=float)
    except ValueError:
        return False, None
'''

_SAME = '''
def same(one, other):
    """Equal and of the same kind: 1 and 1.0 are one number, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
'''

_NORMAL = '''
def normal(text):
    """Lower case, without punctuation, articles and blanks that say nothing."""
    bare = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return " ".join(re.sub(r"\\b(a|an|the)\\b", " ", bare).split())


def alike(one, other):
    one, other = normal(one), normal(other)
    if not one or not other:
        return one == other
    return one in other or other in one
'''


class Rule(NamedTuple):
    holds: str
    imports: str = ""
    beside: str = ""


_LIST = "(expected if isinstance(expected, list) else [expected])"
RULES = {
    "equals": Rule("parsed(text)[0] and same(parsed(text)[1], expected)", "json", _PARSED + "\n" + _SAME),
    "contains": Rule("expected in text"),
    "icontains": Rule("expected.lower() in text.lower()"),
    "contains-any": Rule("any(part in text for part in expected)"),
    "contains-all": Rule("all(part in text for part in expected)"),
    "icontains-any": Rule("any(part.lower() in text.lower() for part in expected)"),
    "icontains-all": Rule("all(part.lower() in text.lower() for part in expected)"),
    "starts-with": Rule("text.startswith(expected)"),
    "regex": Rule("re.search(expected, halves(text)) is not None", "re", _HALVES),
    "levenshtein": Rule("distance(halves(text), halves(expected), {most}) <= {most}", "", _HALVES + "\n" + _DISTANCE),
    "is-json": Rule("parsed(text)[0]", "json", _PARSED),
    "is-json with a schema": Rule(
        "parsed(text)[0] and jsonschema.Draft7Validator(expected).is_valid(parsed(text)[1])",
        "json\njsonschema",
        _PARSED,
    ),
    "Match": Rule(f"any(text.startswith(ideal) for ideal in {_LIST})"),
    "Includes": Rule(f"any(ideal in text for ideal in {_LIST})"),
    "Includes, ignore_case": Rule(f"any(ideal.lower() in text.lower() for ideal in {_LIST})"),
    "FuzzyMatch": Rule(f"any(alike(text, ideal) for ideal in {_LIST})", "re\nstring", _NORMAL),
}


def source(rule: str, expected: str | None, inverse: bool = False, **numbers: int) -> str:
    """The grader's source. `expected`: the Python expression of what the answer is compared with."""
    of = RULES[rule]
    imports = "".join(f"import {name}\n" for name in of.imports.split())
    parts = [f"# {'not-' if inverse else ''}{rule}\n{imports}"]
    if of.beside:
        parts.append(of.beside.lstrip("\n"))
    holds = of.holds.format(**numbers) if numbers else of.holds
    lines = ['text = sample["output_text"]']
    if expected is not None:
        lines.append(f"expected = {expected}")
    lines.append(f"holds = {holds}")
    lines.append(f"return float({'not holds' if inverse else 'holds'})")
    parts.append("def grade(sample, item):\n" + "".join(f"    {line}\n" for line in lines))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def grader(name: str, rule: str, expected: str | None, inverse: bool = False, **numbers: int) -> dict[str, Any]:
    return {"type": "python", "name": name, "source": source(rule, expected, inverse, **numbers)}
