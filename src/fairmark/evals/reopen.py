"""A run that has ended goes on: what it had not done when it was stopped, or what could not be graded, once more.

Grading again never samples again: an answer that is there is kept, only one that a model failed to give is asked for.
"""

import msgspec

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidSource
from fairmark.evals.engine import Engine
from fairmark.evals.local import is_local
from fairmark.evals.sampling import Sampled
from fairmark.evals.source import find_file, open_source
from fairmark.refusals import invalid
from fairmark.store import Eval, Run, Store


async def go_on(store: Store, engine: Engine, eval_: Eval, run: Run) -> None:
    """With the rows that have no result yet. `run` is one with its source. Raises ApiError."""
    done = run.passed + run.failed + run.errored + run.skipped
    if run.total is not None and done >= run.total:
        raise invalid("All rows of this run are done: there is nothing to go on with.", "run_id")
    await _reopen(store, engine, eval_, run, with_errors=False)


async def retry_errors(store: Store, engine: Engine, eval_: Eval, run: Run) -> None:
    """With the rows that could not be graded, and those that have no result yet. Raises ApiError."""
    if not run.errored:
        raise invalid("No row of this run has an error: there is nothing to try again.", "run_id")
    await _reopen(store, engine, eval_, run, with_errors=True)


async def _reopen(store: Store, engine: Engine, eval_: Eval, run: Run, with_errors: bool) -> None:
    if is_local(run.imported):
        message = (
            "This run was made by fairmark eval, which goes on with it: fairmark eval … -o FILE --resume. "
            "Or grade it again: that makes a new run."
        )
        raise ApiError(409, message, param="run_id", code="run_local")
    if run.imported is not None:
        message = "This run was made elsewhere, and nothing here works on it. Grade it again: that makes a new run."
        raise ApiError(409, message, param="run_id", code="run_imported")
    if run.rows_file is None:
        # Before a row is let go: a run whose file is gone could not do it once more.
        data_source = jsontext.decode(run.data_source)
        try:
            open_source(data_source, await find_file(store, run.project, data_source))
        except InvalidSource as error:
            raise invalid(str(error), error.path, error.code) from None
    criteria = [criterion["id"] for criterion in run.criteria or eval_.criteria]
    if not await store.reopening.reopen(run, criteria, _refreshed if with_errors else None):
        message = "The run has not ended: wait until it has, or cancel it."
        raise ApiError(409, message, param="run_id", code="run_not_ended")
    engine.wake()


def _refreshed(body: bytes) -> bytes | None:
    """A stored answer to be graded again, which is paid for and counted already; None where the model gave none."""
    sampled = Sampled.decode(body)
    if sampled.error is not None:
        return None
    return msgspec.structs.replace(sampled, usage=[], cost=None, attempts=0).encode()
