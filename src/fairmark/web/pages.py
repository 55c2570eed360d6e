"""Every page: its method, its path and its handler. What is posted comes from our own forms only (frame/guard.py)."""

from typing import NamedTuple

from fairmark.web.admin import imports, keys, models
from fairmark.web.evals import creating, demo, drafting, gold, listing
from fairmark.web.evals import detail as one_eval
from fairmark.web.frame import signin
from fairmark.web.frame.guard import Handler
from fairmark.web.graders import checking, editor, payloads, playground, registered
from fairmark.web.jobs import curves
from fairmark.web.jobs import listing as jobs
from fairmark.web.labels import screen, summary
from fairmark.web.labels import starting as labelling
from fairmark.web.logs import grading as logs_grading
from fairmark.web.logs import listing as logs
from fairmark.web.runs import about, compare, downloads, groups, progress, regrading, row, starting
from fairmark.web.runs import detail as one_run


class WebPage(NamedTuple):
    """One method on one path. `public`: it needs no session. `takes_files`: long bodies go to disk as they come."""

    method: str
    path: str
    handler: Handler
    public: bool = False
    takes_files: bool = False


PAGES = [
    WebPage("GET", "/", listing.home),
    WebPage("GET", "/sign-in", signin.show, public=True),
    WebPage("POST", "/sign-in", signin.sign_in, public=True),
    WebPage("POST", "/sign-out", signin.sign_out),
    WebPage("GET", "/evals", listing.list_),
    WebPage("GET", "/evals/new", creating.show),
    WebPage("POST", "/evals/new", creating.create),
    WebPage("GET", "/evals/new/forms/{kind}", drafting.kind_form),
    WebPage("POST", "/evals/new/check", drafting.check),
    WebPage("POST", "/evals/new/paste", drafting.paste),
    WebPage("GET", "/evals/{eval_id}", one_eval.show),
    WebPage("GET", "/evals/{eval_id}/edit", one_eval.edit),
    WebPage("POST", "/evals/{eval_id}/edit", one_eval.save),
    WebPage("POST", "/evals/{eval_id}/delete", one_eval.delete),
    WebPage("GET", "/evals/{eval_id}/export.json", one_eval.export),
    WebPage("GET", "/evals/{eval_id}/compare", compare.page),
    WebPage("GET", "/evals/{eval_id}/gold", gold.show),
    WebPage("POST", "/evals/{eval_id}/gold", gold.start),
    WebPage("POST", "/evals/{eval_id}/gold/plan", gold.plan, takes_files=True),
    WebPage("GET", "/evals/{eval_id}/gold/{report_id}", gold.detail),
    WebPage("GET", "/evals/{eval_id}/gold/{report_id}/report", gold.report),
    WebPage("POST", "/evals/{eval_id}/gold/{report_id}/cancel", gold.cancel),
    WebPage("POST", "/evals/{eval_id}/gold/{report_id}/delete", gold.delete),
    WebPage("GET", "/evals/{eval_id}/new-run", starting.show),
    WebPage("POST", "/evals/{eval_id}/new-run", starting.start, takes_files=True),
    WebPage("POST", "/evals/{eval_id}/new-run/preview", starting.look, takes_files=True),
    WebPage("POST", "/evals/{eval_id}/new-run/check", starting.check),
    WebPage("POST", "/evals/{eval_id}/new-run/paste", starting.paste),
    WebPage("GET", "/evals/{eval_id}/logs", logs_grading.show),
    WebPage("POST", "/evals/{eval_id}/logs", logs_grading.start),
    WebPage("GET", "/logs", logs.list_),
    WebPage("GET", "/logs/{kind}/{completion_id}", logs.show),
    WebPage("GET", "/logs/{kind}/{completion_id}/raw.json", logs.raw),
    WebPage("POST", "/logs/{kind}/{completion_id}/delete", logs.delete),
    WebPage("GET", "/jobs", jobs.list_),
    WebPage("GET", "/jobs/{job_id}", jobs.show),
    WebPage("GET", "/jobs/{job_id}/curves.json", curves.show),
    WebPage("POST", "/jobs/{job_id}/cancel", jobs.cancel),
    WebPage("POST", "/jobs/{job_id}/pause", jobs.pause),
    WebPage("POST", "/jobs/{job_id}/resume", jobs.resume),
    WebPage("POST", "/demo", demo.create),
    WebPage("GET", "/playground", playground.show),
    WebPage("GET", "/playground/examples/{kind}", playground.example),
    WebPage("POST", "/playground/commands", playground.commands),
    WebPage("GET", "/models", models.show),
    WebPage("POST", "/models/test", models.test),
    WebPage("GET", "/imports", imports.show),
    WebPage("POST", "/imports", imports.create),
    WebPage("POST", "/imports/file", imports.upload, takes_files=True),
    WebPage("GET", "/imports/{import_id}", imports.detail),
    WebPage("POST", "/imports/{import_id}/cancel", imports.cancel),
    WebPage("POST", "/imports/{import_id}/continue", imports.continue_),
    WebPage("GET", "/keys", keys.show),
    WebPage("POST", "/keys", keys.create),
    WebPage("POST", "/keys/{key_id}/revoke", keys.revoke),
    WebPage("POST", "/limits", keys.set_limits),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}", one_run.page),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/events", progress.events),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/about", about.page),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/again", about.again),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/retry", about.retry),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/continue", about.continue_),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/cancel", one_run.cancel),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/delete", one_run.delete),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/regrade", regrading.start),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/download.jsonl", downloads.jsonl),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/download.csv", downloads.table),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/groups", groups.page),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/label", labelling.show),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/label", labelling.start),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/label/{batch_id}", screen.page),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/label/{batch_id}/rows", screen.parts),
    WebPage("POST", "/evals/{eval_id}/runs/{run_id}/label/{batch_id}/save", screen.save),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/labels", summary.page),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/labels.jsonl", summary.jsonl),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/rows", row.jump),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}.json", row.raw),
    WebPage("GET", "/evals/{eval_id}/runs/{run_id}/rows/{idx:int}", row.page),
    WebPage("GET", "/graders", registered.list_),
    WebPage("GET", "/graders/new", editor.pick),
    WebPage("POST", "/graders/check", editor.check),
    WebPage("POST", "/graders/endpoint", editor.test_endpoint),
    WebPage("GET", "/graders/new/{kind}", editor.new),
    WebPage("POST", "/graders/new/{kind}", editor.create),
    WebPage("GET", "/graders/{key}", registered.show),
    WebPage("GET", "/graders/{key}/edit", editor.edit),
    WebPage("POST", "/graders/{key}/edit", editor.update),
    WebPage("GET", "/graders/{key}/versions", registered.versions),
    WebPage("POST", "/graders/{key}/restore", registered.restore),
    WebPage("POST", "/graders/{key}/lock", registered.lock),
    WebPage("POST", "/graders/{key}/delete", registered.delete),
    WebPage("GET", "/graders/{key}/pack", registered.pack),
    WebPage("GET", "/graders/{key}/judge", checking.show),
    WebPage("POST", "/graders/{key}/judge", checking.start),
    WebPage("POST", "/graders/{key}/judge/plan", checking.plan, takes_files=True),
    WebPage("GET", "/graders/{key}/judge/{check_id}", checking.detail),
    WebPage("GET", "/graders/{key}/judge/{check_id}/report", checking.report),
    WebPage("POST", "/graders/{key}/judge/{check_id}/cancel", checking.cancel),
    WebPage("POST", "/graders/{key}/judge/{check_id}/delete", checking.delete),
    WebPage("GET", "/payloads/sources", payloads.sources),
    WebPage("GET", "/payloads/rows", payloads.rows),
    WebPage("POST", "/payloads/run", payloads.run),
]
