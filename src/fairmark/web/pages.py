"""Every page: its method, its path and its handler. What is posted comes from our own forms only (frame/guard.py)."""

from typing import NamedTuple

from fairmark.web.admin import keys, models
from fairmark.web.evals import creating, demo, listing
from fairmark.web.evals import detail as one_eval
from fairmark.web.frame import signin
from fairmark.web.frame.guard import Handler
from fairmark.web.graders import editor, payloads, playground, registered
from fairmark.web.runs import compare, downloads, progress, row, starting
from fairmark.web.runs import detail as one_run


class Page(NamedTuple):
    """One method on one path. `public`: it needs no session. `takes_files`: long bodies go to disk as they come."""

    method: str
    path: str
    handler: Handler
    public: bool = False
    takes_files: bool = False


PAGES = [
    Page("GET", "/", listing.home),
    Page("GET", "/sign-in", signin.show, public=True),
    Page("POST", "/sign-in", signin.sign_in, public=True),
    Page("POST", "/sign-out", signin.sign_out),
    Page("GET", "/evals", listing.list_),
    Page("GET", "/evals/new", creating.show),
    Page("POST", "/evals/new", creating.create),
    Page("GET", "/evals/{eval_id}", one_eval.show),
    Page("GET", "/evals/{eval_id}/edit", one_eval.edit),
    Page("POST", "/evals/{eval_id}/edit", one_eval.save),
    Page("POST", "/evals/{eval_id}/delete", one_eval.delete),
    Page("GET", "/evals/{eval_id}/export.json", one_eval.export),
    Page("GET", "/evals/{eval_id}/compare", compare.page),
    Page("GET", "/evals/{eval_id}/new-run", starting.show),
    Page("POST", "/evals/{eval_id}/new-run", starting.start, takes_files=True),
    Page("POST", "/evals/{eval_id}/new-run/preview", starting.look, takes_files=True),
    Page("POST", "/demo", demo.create),
    Page("GET", "/playground", playground.show),
    Page("GET", "/playground/examples/{kind}", playground.example),
    Page("POST", "/playground/commands", playground.commands),
    Page("GET", "/models", models.show),
    Page("POST", "/models/test", models.test),
    Page("GET", "/keys", keys.show),
    Page("POST", "/keys", keys.create),
    Page("POST", "/keys/{key_id}/revoke", keys.revoke),
    Page("GET", "/evals/{eval_id}/runs/{run_id}", one_run.page),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/events", progress.events),
    Page("POST", "/evals/{eval_id}/runs/{run_id}/cancel", one_run.cancel),
    Page("POST", "/evals/{eval_id}/runs/{run_id}/delete", one_run.delete),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/download.jsonl", downloads.jsonl),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/download.csv", downloads.table),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}.json", row.raw),
    Page("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}", row.page),
    Page("GET", "/graders", registered.list_),
    Page("GET", "/graders/new", editor.pick),
    Page("POST", "/graders/check", editor.check),
    Page("POST", "/graders/endpoint", editor.test_endpoint),
    Page("GET", "/graders/new/{kind}", editor.new),
    Page("POST", "/graders/new/{kind}", editor.create),
    Page("GET", "/graders/{key}", registered.show),
    Page("GET", "/graders/{key}/edit", editor.edit),
    Page("POST", "/graders/{key}/edit", editor.update),
    Page("GET", "/graders/{key}/versions", registered.versions),
    Page("POST", "/graders/{key}/restore", registered.restore),
    Page("POST", "/graders/{key}/lock", registered.lock),
    Page("POST", "/graders/{key}/delete", registered.delete),
    Page("GET", "/graders/{key}/pack", registered.pack),
    Page("GET", "/payloads/sources", payloads.sources),
    Page("GET", "/payloads/rows", payloads.rows),
    Page("POST", "/payloads/run", payloads.run),
]
