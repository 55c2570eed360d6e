"""Putting graders under keys: what is checked before anything is kept."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fairmark.errors import DuplicateKey, FunctionRefused, InvalidGrader, InvalidKey, LockedGrader, VersionConflict
from fairmark.graders import grades_by_itself
from fairmark.registry.keeping import Registration, grader_type, record
from fairmark.registry.lookup import Registry, itself
from fairmark.store import Grader, NewGrader, Store
from tests.test_references import EXACT, REFERENCE, multi

T = TypeVar("T")
FUNCTION = "async def grade(thread: StringThread) -> float:\n    return 1.0\n"
JUDGE = {"type": "binary_judge", "model": "gpt-4.1", "criteria": "It is polite."}
DOWN = "http://127.0.0.1:9"
"""The discard port: nobody answers there, and nobody may ask there either."""


class Desk:
    """A registration with its store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.registry = Registry(store.graders.find)
        self.registration = Registration(store.graders, self.registry)

    async def create(self, key: str, grader: Any = EXACT, **more: Any) -> Grader:
        return (await self.registration.create("default", key, grader, **more)).grader

    async def keys(self) -> list[str]:
        return [each.key for each in await self.store.graders.all("default")]


OnDesk = Callable[[Callable[[Desk], Coroutine[Any, Any, T]]], T]


@pytest.fixture
def desk(migrated_file: Path, tmp_path: Path) -> Iterator[OnDesk[Any]]:
    """Runs a coroutine function on a desk of the test's own."""
    shutil.copy(migrated_file, tmp_path)
    with asyncio.Runner() as runner:
        store = runner.run(Store.open(None, tmp_path))
        try:
            yield lambda work: runner.run(work(Desk(store)))
        finally:
            runner.run(store.close())


def test_a_grader_is_kept_normalised(desk: OnDesk[Grader]) -> None:
    made = desk(lambda on: on.create("exact-match", {**EXACT, "operation": "neq", "comment": "kept"}))
    assert made.grader == {**EXACT, "operation": "ne", "comment": "kept"}
    assert (made.key, made.name, made.version) == ("exact-match", "exact-match", 1)


def test_a_grader_without_a_name_is_kept_without_and_called_by_its_key(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        nameless = {key: value for key, value in EXACT.items() if key != "name"}
        made = await on.create("exact-match", nameless)
        assert made.grader == nameless
        assert (await on.registry.spec("default", REFERENCE)).name == "exact-match"

    desk(work)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "key: found null. A key has 1 to 128 of a-z, 0-9 and . _ - and begins with a letter or a digit."),
        ("Exact", 'key: found "Exact". A key has 1 to 128 of a-z'),
        ("", 'key: found "". A key has 1 to 128'),
        ("a b", 'key: found "a b". A key has 1 to 128'),
        ("a" * 129, "A key has 1 to 128"),
        ("grader_" + 32 * "0", f'key: found "grader_{32 * "0"}", which looks like an id. A key has 1 to 128'),
    ],
)
def test_a_bad_key_is_refused_and_nothing_is_kept(desk: OnDesk[Any], key: Any, message: str) -> None:
    async def work(on: Desk) -> None:
        with pytest.raises(InvalidKey) as refused:
            await on.create(key)
        assert message in str(refused.value)
        assert await on.keys() == []

    desk(work)


def runaway(depth: int) -> str:
    return "{{#if completion}}" * depth + "x" + "{{/if}}" * depth


@pytest.mark.parametrize(
    ("grader", "path"),
    [
        ({**EXACT, "operation": "equals"}, "$.operation"),
        ({**EXACT, "input": "{{ nothing.x }}"}, "$.input"),
        ({"type": "magic"}, "$.type"),
        ("{", "$"),
        (5, "$"),
        (REFERENCE, "$.type"),
        (multi({"a": REFERENCE}), "$.graders.a.key"),
        (multi({"a": {**EXACT, "operation": "equals"}}), "$.graders.a.operation"),
        (multi({"a": multi({"a": EXACT})}), "$.graders.a.type"),
        ({**JUDGE, "user_template": "{{#if completion}}never closed"}, "$.user_template"),
        ({**JUDGE, "system_template": "{{#exec completion}}{{/exec}}"}, "$.system_template"),
        ({**JUDGE, "user_template": "{{ completion.__class__.__mro__ }}"}, "$.user_template"),
        ({**JUDGE, "user_template": runaway(150)}, "$.user_template"),
        ({**JUDGE, "user_template": "x" * 70_000}, "$.user_template"),
    ],
)
def test_a_wrong_grader_is_refused_with_its_place_and_nothing_is_kept(
    desk: OnDesk[Any], grader: Any, path: str
) -> None:
    async def work(on: Desk) -> None:
        with pytest.raises(InvalidGrader) as refused:
            await on.create("wrong", grader)
        assert refused.value.problems[0].path == path
        assert await on.keys() == []
        kept = await on.create("kept")
        with pytest.raises(InvalidGrader):
            await on.registration.update("default", "kept", grader=grader, name="changed")
        assert await on.store.graders.get("default", "kept") == kept

    desk(work)


@pytest.mark.parametrize(
    ("grader", "path"),
    [
        ({"type": "function", "source": "def grade(t): return 1"}, "$.source"),
        (multi({"a": {"type": "function", "source": "def grade(t): return 1"}}), "$.graders.a.source"),
        (multi([{"type": "function", "name": "a", "source": "def grade(t): return 1"}]), "$.graders[0].source"),
    ],
)
def test_a_function_that_fails_a_check_is_refused_with_the_check_wherever_it_stands(
    desk: OnDesk[Any], grader: Any, path: str
) -> None:
    async def work(on: Desk) -> None:
        with pytest.raises(FunctionRefused, match="structure: no top-level async def grade") as refused:
            await on.create("wrong", grader)
        assert refused.value.path == path
        assert [(each.name, each.passed) for each in refused.value.found.checks][-1] == ("structure", False)
        assert await on.keys() == []

    desk(work)


def test_a_function_is_run_before_it_is_kept(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        source = "async def grade(thread: StringThread) -> float:\n    return 1 / 0\n"
        with pytest.raises(FunctionRefused, match=r"^test_run: (.|\n)*ZeroDivisionError"):
            await on.create("wrong", {"type": "function", "source": source})
        assert await on.keys() == []
        await on.create("right", {"type": "function", "source": FUNCTION})
        assert await on.keys() == ["right"]

    desk(work)


def test_references_in_a_multi_stay_references(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        await on.create("exact-match")
        both = multi({"a": REFERENCE, "b": {**EXACT, "operation": "neq"}})
        made = await on.create("both", {**both, "registered": {"key": "forged"}})
        assert made.grader == both
        await on.registration.update("default", "exact-match", grader={**EXACT, "operation": "ne"})
        found = await on.registry.spec("default", {"type": "registered", "key": "both"})
        assert [(each["key"], each["version"]) for each in found.registered] == [("both", 1), ("exact-match", 2)]

    desk(work)


def test_every_change_is_known_at_once(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        async def version() -> int:
            return int((await on.registry.spec("default", REFERENCE)).registered[0]["version"])

        with pytest.raises(InvalidGrader):
            await version()
        await on.create("exact-match")
        assert await version() == 1
        await on.registration.update("default", "exact-match", grader={**EXACT, "operation": "ne"})
        assert await version() == 2
        await on.registration.bring("default", [NewGrader("exact-match", EXACT, "x")], update=True)
        assert await version() == 3
        await on.registration.delete("default", "exact-match")
        assert on.registry.remembered("default", REFERENCE, itself) is None
        with pytest.raises(InvalidGrader):
            await version()

    desk(work)


def test_collisions_are_told_and_change_nothing(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        made = await on.create("exact-match")
        with pytest.raises(DuplicateKey):
            await on.create("exact-match", {**EXACT, "operation": "ne"})
        with pytest.raises(VersionConflict):
            await on.registration.update("default", "exact-match", grader={**EXACT, "operation": "ne"}, expected=2)
        assert await on.store.graders.get("default", "exact-match") == made
        await on.registration.update("default", "exact-match", locked=True)
        with pytest.raises(LockedGrader):
            await on.registration.update("default", "exact-match", name="x")
        with pytest.raises(LockedGrader):
            await on.registration.delete("default", "exact-match")

    desk(work)


def test_what_is_not_there_is_none(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        assert await on.registration.update("default", "lost", grader=EXACT) is None
        assert await on.registration.delete("default", "lost") is None

    desk(work)


def test_what_is_probably_not_meant_is_a_warning(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        kept = await on.registration.create("default", "a", {**EXACT, "operatoin": "ne"})
        assert kept.warnings == ["$.operatoin: unknown field, kept but not used. Did you mean operation?"]
        changed = await on.registration.update("default", "a", name="x")
        assert changed is not None
        assert changed.warnings == []

    desk(work)


def test_an_endpoint_that_is_down_is_kept_with_a_warning(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        kept = await on.registration.create("default", "remote", {"type": "endpoint", "url": DOWN, "info": 5})
        (warning,) = kept.warnings
        assert warning.startswith("$.url: ")
        assert kept.grader.info is None
        shown = record(kept.grader)
        assert shown["grader_config"] == {"url": DOWN, "version": None, "description": None}
        again = await on.registration.update("default", "remote", grader=kept.grader.grader)
        assert again is not None
        assert again.grader.version == 1

    desk(work)


@pytest.mark.parametrize(
    ("grader", "kind", "metric", "config"),
    [
        (EXACT, "STRING_CHECK", "BOOL", {}),
        (multi({"a": EXACT}), "MULTI", "SCALAR", {}),
        ({"type": "custom", "description": "why"}, "CUSTOM", "SCALAR", {"description": "why"}),
        (
            {"type": "faithfulness", "model": "gpt-4.1"},
            "PREBUILT",
            "SCALAR",
            {"criteria_key": "FAITHFULNESS", "model": "gpt-4.1"},
        ),
        (
            JUDGE,
            "JUDGE",
            "BOOL",
            {
                "model": "gpt-4.1",
                "criteria": "It is polite.",
                "examples": None,
                "system_template": None,
                "user_template": None,
            },
        ),
        (
            {"type": "function", "source": FUNCTION},
            "FUNCTION",
            "SCALAR",
            {"source_code": FUNCTION, "description": None},
        ),
    ],
)
def test_a_record_has_the_fields_that_adaptives_clients_know(
    desk: OnDesk[Grader], grader: dict[str, Any], kind: str, metric: str, config: dict[str, Any]
) -> None:
    made = desk(lambda on: on.create("a-key", grader, name="A name"))
    found = record(made, ["a warning"])
    assert (found["grader_type"], found["grader_config"]) == (kind, config)
    assert found["project"] == {"id": "default", "key": "default", "name": "default"}
    assert found["metric"] == {
        "id": made.id.replace("grader", "metric"),
        "key": "a-key",
        "name": "a-key",
        "kind": metric,
        "scoring_type": "HIGHER_IS_BETTER",
    }
    assert found["warnings"] == ["a warning"]
    assert "warnings" not in record(made)


def test_a_metric_is_called_by_its_feedback_key_where_there_is_one(desk: OnDesk[Grader]) -> None:
    made = desk(lambda on: on.create("a-key", {**JUDGE, "feedback_key": "politeness"}))
    assert record(made)["metric"]["key"] == "politeness"


def test_kinds_that_adaptive_does_not_have_keep_their_own_names() -> None:
    assert [grader_type(kind) for kind in ("endpoint", "answer_relevancy", "python")] == [
        "REMOTE",
        "PREBUILT",
        "PYTHON",
    ]


def test_a_custom_grader_does_not_grade_by_itself_nor_does_a_multi_with_one(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        await on.create("editors", {"type": "custom"})
        reference = {"type": "registered", "key": "editors"}
        for grader in (reference, multi({"a": reference}), {"type": "custom"}):
            assert not grades_by_itself(await on.registry.spec("default", grader))
        assert grades_by_itself(await on.registry.spec("default", multi({"a": EXACT})))

    desk(work)


def test_graders_of_a_pack_may_refer_to_one_another(desk: OnDesk[Any]) -> None:
    async def work(on: Desk) -> None:
        pinned = {**REFERENCE, "version": 1}
        pack = [
            NewGrader("both", multi({"a": pinned, "b": REFERENCE}), "both"),
            NewGrader("exact-match", EXACT, "exact"),
        ]
        assert await on.registration.bring("default", pack, update=False) == {
            "both": "created",
            "exact-match": "created",
        }
        found = await on.registry.spec("default", {"type": "registered", "key": "both"})
        assert [each["version"] for each in found.registered] == [1, 1, 1]
        lost = NewGrader("both", multi({"a": {**REFERENCE, "version": 2}}), "both")
        with pytest.raises(InvalidGrader, match=r"\$\.graders\[0\]\.grader\.graders\.a\.version: there is no version"):
            await on.registration.bring("default", [lost, pack[1]], update=True)

    desk(work)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (NewGrader("Wrong", EXACT, "x"), InvalidGrader, r'^\$\.graders\[1\]\.key: found "Wrong"\. A key has'),
        (
            NewGrader("wrong", {**EXACT, "operation": "equals"}, "x"),
            InvalidGrader,
            r'^\$\.graders\[1\]\.grader\.operation: unknown operation "equals"',
        ),
        (
            NewGrader("wrong", multi({"a": {"type": "registered", "key": "lost"}}), "x"),
            InvalidGrader,
            r'^\$\.graders\[1\]\.grader\.graders\.a\.key: there is no registered grader "lost"\.$',
        ),
        (
            NewGrader("wrong", {"type": "function", "source": "x = 1"}, "x"),
            FunctionRefused,
            r"^\$\.graders\[1\]\.grader\.source: structure: ",
        ),
    ],
)
def test_one_wrong_grader_in_a_pack_and_nothing_is_kept(
    desk: OnDesk[Any], wrong: NewGrader, error: type[Exception], message: str
) -> None:
    async def work(on: Desk) -> None:
        with pytest.raises(error, match=message):
            await on.registration.bring("default", [NewGrader("right", EXACT, "right"), wrong], update=True)
        assert await on.keys() == []

    desk(work)
