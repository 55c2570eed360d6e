"""An eval's runs by pages."""

from fairmark.store import Store


async def test_runs_are_listed_the_newest_first_with_the_count_of_all_and_without_their_sources(store: Store) -> None:
    made = await store.evals.create("default", "an eval", {}, {"type": "custom"}, [])
    other = await store.evals.create("default", "another", {}, {"type": "custom"}, [])
    for number in range(5):
        await store.runs.create(
            "default", made.id, f"run {number}", {}, b'{"rows": 1}', None, 3, {}, [{"id": "pinned"}]
        )
    await store.runs.create("default", other.id, "not ours", {}, b"{}", None, 3, {})
    first = await store.history.page(made.seq, 2)
    assert ([run.name for run in first.runs], first.count) == (["run 4", "run 3"], 5)
    assert first.runs[0].data_source == b""
    assert first.runs[0].criteria == [{"id": "pinned"}]
    last = await store.history.page(made.seq, 2, 4)
    assert ([run.name for run in last.runs], last.count) == (["run 0"], 5)
    beyond = await store.history.page(made.seq, 2, 6)
    assert (beyond.runs, beyond.count) == ([], 5)
