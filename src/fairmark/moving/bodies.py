"""What an archive holds of each thing in the store: as it was received, or in the form that the API gives it.

The same thing has the same bytes wherever it is written from, so that whoever loads it knows it again.
"""

from typing import Any

from fairmark import jsontext, longjson
from fairmark.evals.eval_calls import changed_since, own_eval_wire
from fairmark.evals.file_calls import own_file_wire
from fairmark.evals.run_calls import own_run_wire
from fairmark.store import Eval, File, Run


def eval_body(eval_: Eval) -> bytes:
    if eval_.received is None:
        return jsontext.encode(own_eval_wire(eval_))
    changed = changed_since(eval_)
    return with_members(eval_.received, changed) if changed else eval_.received


def run_body(run: Run) -> bytes:
    """The link back to a server is a path alone: the next server has another address."""
    return run.received if run.received is not None else jsontext.encode(own_run_wire(run, ""))


def file_body(file: File) -> bytes:
    return file.received if file.received is not None else jsontext.encode(own_file_wire(file))


def with_members(body: bytes, changes: dict[str, Any]) -> bytes:
    """An object with some members changed and all others as they are."""
    return jsontext.encode({**longjson.members(body), **changes})
