"""Loading an archive into a store: everything under the ids, times and counts that it had, as history.

Loading again adds what is new, writes again what has changed, and makes no second copy of anything. Whoever is killed
in between loads again. Each kind of thing has a module of its own.
"""

import time
from functools import partial

from fairmark.moving.archive import Archive
from fairmark.moving.load.completions import load_completions
from fairmark.moving.load.evals import load_evals
from fairmark.moving.load.files import load_files
from fairmark.moving.load.graders import load_graders
from fairmark.moving.load.jobs import load_jobs
from fairmark.moving.load.labels import load_labels
from fairmark.moving.load.loading import Loading, Progress
from fairmark.moving.load.report import LoadReport, OnClash
from fairmark.moving.load.runs import load_runs
from fairmark.registry.keeping import Registration
from fairmark.registry.lookup import Registry
from fairmark.store import Store

__all__ = ["LoadReport", "OnClash", "Progress", "load"]


async def load(
    archive: Archive,
    store: Store,
    project: str,
    *,
    on_clash: OnClash = "skip",
    progress: Progress = lambda kind, done: None,
    dry_run: bool = False,
    copies_in: Archive | None = None,
) -> LoadReport:
    """What became of it. `dry_run` only counts. Raises InvalidArchive, StoreUnavailable, or OSError for an archive that
    cannot be read. `copies_in`: a folder that remembers what was copied, where the archive itself does not stay."""
    registry = Registry(store.graders.find)
    expand = partial(registry.expand, project)
    loading = Loading(archive, store, project, on_clash, int(time.time()), expand, progress, dry_run, copies_in)
    await load_graders(loading, Registration(store.graders, registry))
    await load_files(loading)
    await load_evals(loading)
    await load_runs(loading)
    await load_labels(loading)
    await load_jobs(loading)
    await load_completions(loading)
    return loading.report
