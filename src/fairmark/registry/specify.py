"""What a caller passes as a grader -> its spec, references looked up in this machine's own registry.

For the library and the commands. A server looks references up in its own store, for whoever asks.
"""

from fairmark import readiness, references
from fairmark.errors import InvalidGrader
from fairmark.parse import Grader, Validation, parse
from fairmark.registry.lookup import LOCAL_PROJECT, itself, local
from fairmark.spec import GraderSpec

# fairmark.work.eventloop is imported where a reference has to be looked up: most graders hold none.


def specify(grader: Grader) -> GraderSpec:
    """The typed spec. Raises InvalidGrader."""
    if not references.may_hold(grader):
        return parse(grader)
    known = local().remembered(LOCAL_PROJECT, grader, itself)
    if known is not None:
        return known
    from fairmark.work import eventloop

    return eventloop.run(local().spec(LOCAL_PROJECT, grader))


async def aspecify(grader: Grader) -> GraderSpec:
    """`specify` for callers that have an event loop."""
    if not references.may_hold(grader):
        return parse(grader)
    known = local().remembered(LOCAL_PROJECT, grader, itself)
    if known is not None:
        return known
    from fairmark.work import eventloop

    return await eventloop.on_own_loop(local().spec(LOCAL_PROJECT, grader))


def validate(grader: Grader) -> Validation:
    """Check a grader without running anything. Never raises on bad JSON: it tells every problem."""
    try:
        return readiness.validate(specify(grader) if references.may_hold(grader) else grader)
    except InvalidGrader as error:
        return Validation(False, errors=error.problems)
