"""The forms of ids, as on the wire."""

import hashlib
import re
import secrets
import uuid

_PLAUSIBLE = re.compile(r"[A-Za-z0-9_-]{1,100}")
_MOST_ITEMS = 2**31


def new(prefix: str) -> str:
    """`eval_` or `evalrun_` and 32 hexadecimal digits."""
    return prefix + uuid.uuid4().hex


def new_file() -> str:
    return f"file-{secrets.token_hex(12)}"


def plausible(text: str) -> bool:
    """Whether it is worth a look. Users send anything as an id, also what a database refuses."""
    return _PLAUSIBLE.fullmatch(text) is not None


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
