"""The forms of ids, as on the wire."""

import hashlib
import re
import secrets
import uuid

_PLAUSIBLE = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Providers give ids of their own: whatever can be seen and stand in a path.
_COMPLETION = re.compile(r"[!-~]{1,256}")
_NOT_IN_A_PATH = re.compile(r"[/?#%\\]|^\.{1,2}$")
_MOST_ITEMS = 2**31


def new(prefix: str) -> str:
    """`eval_` or `evalrun_` and 32 hexadecimal digits."""
    return prefix + uuid.uuid4().hex


def new_file() -> str:
    return f"file-{secrets.token_hex(12)}"


def made_by(owner: str, prefix: str, part: str) -> str:
    """The id of something that `owner` makes as one of its parts: the same however often it is made."""
    digits = 24 if prefix == "file-" else 32
    return prefix + hashlib.sha256(f"{owner} {part}".encode()).hexdigest()[:digits]


def plausible(text: str) -> bool:
    """Whether it is worth a look. Users send anything as an id, also what a database refuses."""
    return _PLAUSIBLE.fullmatch(text) is not None


def plausible_completion(text: str) -> bool:
    """The same for the id of a completion, which another gave it."""
    return _COMPLETION.fullmatch(text) is not None and _NOT_IN_A_PATH.search(text) is None


def of_item(run_id: str, idx: int) -> str:
    """An output item's id holds its run and its index, so that it is found without an index of its own."""
    return f"{_items_of(run_id)}{idx:08x}"


def index_in(run_id: str, item_id: str) -> int | None:
    """The index in that id; None where it is not the id of an item of this run."""
    start = _items_of(run_id)
    digits = item_id.removeprefix(start)
    if not item_id.startswith(start) or not re.fullmatch("[0-9a-f]{8}", digits):
        return None
    idx = int(digits, 16)
    return idx if idx < _MOST_ITEMS else None


def _items_of(run_id: str) -> str:
    return f"outputitem_{hashlib.sha256(run_id.encode()).hexdigest()[:24]}"
