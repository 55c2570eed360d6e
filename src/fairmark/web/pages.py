"""Every page: its method, its path and its handler. What is posted comes from our own forms only (guard.py)."""

from typing import NamedTuple

from fairmark.web import (
    compare,
    demo,
    downloads,
    editor,
    evals,
    graders,
    keys,
    models,
    neweval,
    newrun,
    payloads,
    playground,
    progress,
    rows,
    runs,
    signin,
)
from fairmark.web import eval as one_eval
from fairmark.web.guard import Handler


class Page(NamedTuple):
    """One method on one path. `public`: it needs no session. `takes_files`: long bodies go to disk as they come."""

    method: str
    path: str
    handler: Handler
    public: bool = False
    takes_files: bool = False


PAGES = [
    Page("GET", "/", evals.home),
    Page("GET", "/sign-in", signin.show, public=True),
    Page("POST", "/sign-in", signin.sign_in, public=True),
    Page("POST", "/sign-out", signin.sign_out),
    Page("GET", "/evals", evals.list_),
    Page("GET", "/evals/new", neweval.show),
    Page("POST", "/evals/new", neweval.create),
    Page("GET", "/evals/{eval_id}", one_eval.show),
    Page("GET", "/evals/{eval_id}/edit", one_eval.edit),
    Page("POST", "/evals/{eval_id}/edit", one_eval.save),
    Page("POST", "/evals/{eval_id}/delete", one_eval.delete),
    Page("GET", "/evals/{eval_id}/export.json", one_eval.export),
    Page("GET", "/evals/{eval_id}/compare", compare.page),
    Page("GET", "/evals/{eval_id}/new-run", newrun.show),
    Page("POST", "/evals/{eval_id}/new-run", newrun.start, takes_files=True),
    Page("POST", "/evals/{eval_id}/new-run/preview", newrun.look, takes_files=True),
    Page("POST", "/demo", demo.create),
    Page("GET", "/playground", playground.show),
    Page("GET", "/playground/examples/{kind}", playground.example),
    Page("POST", "/playground/commands", playground.commands),
    Page("GET", "/models", models.show),
    Page("POST", "/models/test", models.test),
    Page("GET", "/keys", keys.show),
    Page("POST", "/keys", keys.create),
    Page("POST", "/keys/{key_id}/revoke", keys.revoke),
    Page("GET", "/evals/{eval_id}/runs/{run_id}", runs.page),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/events", progress.events),
    Page("POST", "/evals/{eval_id}/runs/{run_id}/cancel", runs.cancel),
    Page("POST", "/evals/{eval_id}/runs/{run_id}/delete", runs.delete),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/download.jsonl", downloads.jsonl),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/download.csv", downloads.table),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}.json", rows.raw),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}", rows.page),
    Page("GET", "/graders", graders.list_),
    Page("GET", "/graders/new", editor.pick),
    Page("POST", "/graders/check", editor.check),
    Page("POST", "/graders/endpoint", editor.test_endpoint),
    Page("GET", "/graders/new/{kind}", editor.new),
    Page("POST", "/graders/new/{kind}", editor.create),
    Page("GET", "/graders/{key}", graders.show),
    Page("GET", "/graders/{key}/edit", editor.edit),
    Page("POST", "/graders/{key}/edit", editor.update),
    Page("GET", "/graders/{key}/versions", graders.versions),
    Page("POST", "/graders/{key}/restore", graders.restore),
    Page("POST", "/graders/{key}/lock", graders.lock),
    Page("POST", "/graders/{key}/delete", graders.delete),
    Page("GET", "/graders/{key}/pack", graders.pack),
    Page("GET", "/payloads/sources", payloads.sources),
    Page("GET", "/payloads/rows", payloads.rows),
    Page("POST", "/payloads/run", payloads.run),
]
