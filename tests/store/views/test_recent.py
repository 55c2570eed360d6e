"""The last runs of many evals."""

from fairmark.store import Counts, NewItem, Store


async def new_eval(store: Store, name: str = "an eval") -> tuple[int, str]:
    made = await store.evals.create("default", name, {}, {"type": "custom"}, [])
    return made.seq, made.id


async def new_run(store: Store, eval_id: str, name: str) -> str:
    return (await store.runs.create("default", eval_id, name, {}, b"{}", None, 3, {})).id


async def test_each_eval_has_its_last_runs_the_oldest_first_and_the_count_of_all(store: Store) -> None:
    (many, many_id), (few, few_id), (none, _) = [await new_eval(store) for _ in range(3)]
    for number in range(5):
        await new_run(store, many_id, f"many {number}")
    await new_run(store, few_id, "few 0")
    found = await store.recent.of([many, few, none], 3)
    assert found.keys() == {many, few}
    assert [run.name for run in found[many].runs] == ["many 2", "many 3", "many 4"]
    assert found[many].count == 5
    assert ([run.name for run in found[few].runs], found[few].count) == (["few 0"], 1)
    assert (await store.recent.of([few], 3)).keys() == {few}
    assert await store.recent.of([], 3) == {}


async def test_the_pass_rate_is_of_the_rows_that_were_graded(store: Store) -> None:
    seq, eval_id = await new_eval(store)
    created = await store.runs.create("default", eval_id, "a run", {}, b"{}", None, 4, {})
    (before,) = (await store.recent.of([seq], 1))[seq].runs
    assert before.pass_rate is None
    run = await store.runs.claim()
    assert run is not None
    assert await store.runs.start(run)
    counts = Counts()
    for outcome in ("pass", "fail", "fail", "error", "skip"):
        counts.count(outcome, {})
    await store.items.add(run, [NewItem(0, "pass", b"{}")], counts)
    (after,) = (await store.recent.of([seq], 1))[seq].runs
    assert (after.id, after.status, after.total) == (created.id, "in_progress", 4)
    assert (after.passed, after.failed, after.errored, after.skipped) == (1, 2, 1, 1)
    assert after.pass_rate == 1 / 3


async def test_runs_with_warnings_tell_of_how_many_rows(store: Store) -> None:
    _, eval_id = await new_eval(store)
    warned, calm = [await new_run(store, eval_id, name) for name in ("warned", "calm")]
    for warnings in (("no sample", "no item"), ()):
        run = await store.runs.claim()
        assert run is not None
        assert await store.runs.start(run)
        await store.items.add(run, [NewItem(0, "fail", b"{}", warnings=warnings)], Counts())
    assert await store.recent.warnings([warned, calm]) == {warned: 2}
    assert await store.recent.warnings([calm]) == await store.recent.warnings([]) == {}


async def test_search_finds_names_whatever_their_case_the_newest_first(store: Store) -> None:
    for name in ("Äpfel", "100% of a_b", "half an emoji \ud83d", 'with "quotes" and \\', "straße"):
        await new_eval(store, name)
    await store.evals.create("other", "äpfel", {}, {}, [])

    async def names(words: str, limit: int = 10, offset: int = 0) -> tuple[list[str], int]:
        found = await store.evals.search("default", words, limit, offset)
        return [each.name for each in found.evals], found.count

    assert await names("äPF") == (["Äpfel"], 1)
    assert await names("STRASSE") == (["straße"], 1)
    assert await names("%") == (["100% of a_b"], 1)
    assert await names("_") == (["100% of a_b"], 1)
    assert await names('"quotes" and \\') == (['with "quotes" and \\'], 1)
    assert await names("\ud83d") == (["half an emoji \ud83d"], 1)
    assert await names("nothing") == ([], 0)
    assert await names("a", 2) == (["straße", 'with "quotes" and \\'], 4)
    assert await names("a", 2, 2) == (["half an emoji \ud83d", "100% of a_b"], 4)
    assert await names("", 2) == (["straße", 'with "quotes" and \\'], 5)
    assert await names("", 2, 4) == (["Äpfel"], 5)
