"""Registered graders out of an archive: a pack, so that criteria that refer to them go on working."""

from fairmark.errors import FairmarkError
from fairmark.moving.load.loading import Loading, read_object
from fairmark.moving.load.report import Clash
from fairmark.registry.keeping import Registration
from fairmark.registry.packs import make_pack, read_pack

KIND = "graders"
PACK = "graders.json"


async def load_graders(loading: Loading, registration: Registration) -> None:
    """Those that are not there yet; those that are and differ only where clashes are to be replaced.

    A key is a name that criteria use, so that there are no copies under other ones.
    """
    content = loading.archive.read(PACK)
    pack = None if content is None else read_object(loading, KIND, PACK, content)
    if pack is None:
        return
    there = make_pack(await loading.store.graders.all(loading.project))
    known = {grader["key"]: grader for grader in there["graders"]}
    tally = loading.report.of(KIND)
    try:
        packed = read_pack(pack)
        wanted = []
        for new, entry in zip(packed, pack["graders"], strict=True):
            if new.key not in known:
                tally.new += 1
            elif known[new.key] == {name: entry.get(name) for name in known[new.key]}:
                tally.unchanged += 1
                continue
            elif loading.on_clash == "replace":
                loading.report.clashes.append(Clash(KIND, new.key, _REASON, "replaced"))
                tally.changed += 1
            else:
                loading.report.clashes.append(Clash(KIND, new.key, _REASON, "skipped"))
                tally.skipped += 1
                continue
            wanted.append(new)
        if wanted and not loading.dry_run:
            await registration.bring(loading.project, wanted, update=loading.on_clash == "replace")
    except FairmarkError as error:
        loading.report.problem(KIND, PACK, f"none of its graders was registered: {error}")


_REASON = "a grader of this key is registered here and says something else."
