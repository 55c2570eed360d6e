"""What the path of a request names: an eval, a run. Raises ApiError, 404, where its project has no such thing."""

from starlette.requests import Request

from fairmark.evals.eval_calls import find_eval
from fairmark.evals.run_calls import find_run
from fairmark.serving.wire import project, state
from fairmark.store import Eval, Run


async def named_eval(request: Request) -> Eval:
    return await find_eval(state(request).store, project(request), request.path_params["eval_id"])


async def named_run(request: Request, *, with_source: bool = True) -> Run:
    """`with_source`: with its data source too, which may be long."""
    named = request.path_params
    return await find_run(
        state(request).store, project(request), named["eval_id"], named["run_id"], with_source=with_source
    )
