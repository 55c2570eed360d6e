"""The library by reference: graders in this machine's own registry."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import InvalidGrader
from fairmark.parse import parse
from fairmark.registry import lookup as registry
from fairmark.registry.keeping import Registration
from fairmark.registry.lookup import Registry
from fairmark.registry.specify import aspecify, specify
from fairmark.settings import settings
from fairmark.store import InvalidDatabase, Store, StoreUnavailable
from tests.test_references import EXACT, REFERENCE, multi

ITEM = {"answer": "Paris"}
ROWS = [{"item": ITEM, "sample": "Paris"}, {"item": ITEM, "sample": "Rome"}]
Change = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The settings of this process, with a home of the test's own."""
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path))
    monkeypatch.delenv("FAIRMARK_DB", raising=False)
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


@pytest.fixture
def change(home: Path, migrated_file: Path) -> Change:
    """Another process: it registers a grader, or changes it, and tells nobody."""
    shutil.copy(migrated_file, home)

    def do(key: str, grader: dict[str, Any]) -> None:
        async def work() -> None:
            store = await Store.open(None, home, exclusive=False)
            try:
                registration = Registration(store.graders, Registry(store.graders.find))
                if await registration.update("default", key, grader=grader) is None:
                    await registration.create("default", key, grader)
            finally:
                await store.close()

        asyncio.run(work())

    return do


@pytest.fixture
def registered(change: Change) -> None:
    change("exact-match", EXACT)


@pytest.mark.usefixtures("registered")
def test_a_reference_grades_as_its_grader_does_by_every_door() -> None:
    async def rows() -> AsyncIterator[Any]:
        for row in ROWS:
            yield row

    async def by_async_doors() -> list[list[float]]:
        return [
            [(await fairmark.agrade(REFERENCE, row["sample"], ITEM)).reward for row in ROWS],
            [each.reward for each in await fairmark.agrade_many(REFERENCE, ROWS)],
            [each.reward async for each in fairmark.agrade_stream(REFERENCE, ROWS)],
            [each.reward async for each in fairmark.agrade_stream(REFERENCE, rows())],
        ]

    found = [
        [fairmark.grade(REFERENCE, row["sample"], ITEM).reward for row in ROWS],
        [fairmark.grade(json.dumps(REFERENCE), row["sample"], ITEM).reward for row in ROWS],
        [each.reward for each in fairmark.grade_many(REFERENCE, ROWS)],
        [each.reward for each in fairmark.grade_many(REFERENCE, ROWS * 2000, workers=2)][:2],
        [each.reward for each in fairmark.grade_stream(REFERENCE, iter(ROWS))],
        [each.reward for each in fairmark.grade_many(multi({"a": REFERENCE}), ROWS)],
        *asyncio.run(by_async_doors()),
    ]
    assert found == [[1.0, 0.0]] * len(found)


@pytest.mark.usefixtures("registered")
def test_a_result_names_the_version_it_was_graded_by() -> None:
    (note,) = fairmark.grade(REFERENCE, "Paris", ITEM).model_dump()["registered"]
    assert note == {"id": note["id"], "key": "exact-match", "version": 1}
    assert note["id"].startswith("grader_")
    (again,) = fairmark.grade_many(REFERENCE, ROWS * 2000, workers=2)[-1].model_dump()["registered"]
    assert again == note
    inside = fairmark.grade(multi({"a": REFERENCE, "b": EXACT}), "Paris", ITEM).model_dump()
    assert inside["registered"] == [note]
    assert "registered" not in fairmark.grade(EXACT, "Paris", ITEM).model_dump()


@pytest.mark.usefixtures("registered")
def test_evaluate_takes_references() -> None:
    data = [{"answer": "Paris", "sample": "Paris"}, {"answer": "Paris", "sample": "Rome"}]
    by_reference = fairmark.evaluate(data=data, evaluators={"exact": REFERENCE})
    inline = fairmark.evaluate(data=data, evaluators={"exact": EXACT})
    assert by_reference["metrics"] == inline["metrics"]


@pytest.mark.usefixtures("registered")
def test_a_reference_is_validated_as_what_it_leads_to() -> None:
    found = fairmark.validate({**REFERENCE, "name": "mine"})
    assert found.valid
    assert found.grader is not None
    assert (found.grader["operation"], found.grader["name"]) == ("eq", "mine")
    lost = fairmark.validate(multi({"a": {**REFERENCE, "key": "lost"}, "b": {"type": "registered"}}))
    assert not lost.valid
    assert [each.path for each in lost.errors] == ["$.graders.b.key"]
    lost = fairmark.validate({**REFERENCE, "key": "lost"})
    assert [str(each) for each in lost.errors] == ['$.key: there is no registered grader "lost".']
    assert fairmark.validate(EXACT).valid


@pytest.mark.usefixtures("home")
def test_a_reference_that_leads_nowhere_is_an_invalid_grader() -> None:
    with pytest.raises(InvalidGrader, match=r'^\$\.key: there is no registered grader "exact-match"\.$'):
        fairmark.grade(REFERENCE, "Paris")
    with pytest.raises(InvalidGrader):
        asyncio.run(fairmark.agrade(REFERENCE, "Paris"))


def test_a_change_by_another_process_counts_after_a_moment(
    change: Change, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    change("exact-match", EXACT)
    assert fairmark.grade(REFERENCE, "Paris", ITEM).reward == 1.0
    change("exact-match", {**EXACT, "operation": "ne"})
    now = registry.local()._memory.clock
    monkeypatch.setattr(registry.local()._memory, "clock", lambda: now() + registry.REMEMBERED_S)
    assert fairmark.grade(REFERENCE, "Paris", ITEM).reward == 0.0
    assert fairmark.grade({**REFERENCE, "version": 1}, "Paris", ITEM).reward == 1.0


def test_what_was_looked_up_is_not_looked_up_again_in_the_same_moment(registered: None, home: Path) -> None:
    first = specify(REFERENCE)
    (home / "fairmark.db").unlink()
    assert specify(REFERENCE) is first
    assert asyncio.run(aspecify(REFERENCE)) is first
    registry.local().forget()
    with pytest.raises(InvalidGrader):
        specify(REFERENCE)


def test_inline_graders_need_no_store(home: Path) -> None:
    assert specify(EXACT) is parse(EXACT)
    assert (
        fairmark.grade({**EXACT, "registered": {"key": "forged"}}, "Paris", ITEM).model_dump().get("registered") is None
    )
    assert not (home / "fairmark.db").exists()


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("mysql://x", InvalidDatabase, "of an unknown kind"),
        ("postgresql://u:secret@127.0.0.1:1/d", StoreUnavailable, "cannot be used now"),
    ],
)
def test_a_store_that_cannot_be_used_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str, error: type[Exception], message: str
) -> None:
    monkeypatch.setenv("FAIRMARK_DB", url)
    settings.cache_clear()
    with pytest.raises(error, match=message) as refused:
        fairmark.grade(REFERENCE, "Paris")
    assert "secret" not in str(refused.value)
