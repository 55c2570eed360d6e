"""Reasons that say the same about different rows, as one text: they are counted and chosen by it."""

import re

from fairmark import jsontext

LONGEST = 300
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|(?<!\w)\'[^\'\n]*\'(?!\w)')
_NAME = re.compile(r"[\w.\-/]{1,40}")
_NUMBER = re.compile(r"(?<![\w.\-#])(?<![\w\]]:)(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)(?![\w.]*\d)")
# Before three digits: they are a status of HTTP then, and tell causes apart.
_STATUS = re.compile(r"(?:answered|status|code|error|http)\W{0,3}$", re.IGNORECASE)


def alike(reason: str) -> str:
    """What is the same in such reasons: of a traceback its last line, numbers as #, quotations of rows as "…".

    Names in quotation marks stay, be they of a field, a package or a model: which one is missing is the point.
    """
    lines = reason.strip().splitlines()
    line = lines[-1].strip() if lines else ""
    line = _QUOTED.sub(lambda quoted: quoted[0] if _NAME.fullmatch(quoted[0][1:-1]) else _emptied(quoted[0]), line)
    return jsontext.shorten(_NUMBER.sub(_counted, line), LONGEST)


def _counted(number: re.Match[str]) -> str:
    is_status = len(number[0]) == 3 and _STATUS.search(number.string, 0, number.start())
    return number[0] if is_status else "#"


def _emptied(quoted: str) -> str:
    return f"{quoted[0]}…{quoted[-1]}" if len(quoted) > 2 else quoted
