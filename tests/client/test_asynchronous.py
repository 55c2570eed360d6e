"""Every call of the client, wherever graders are kept and however it is called."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

import fairmark
from fairmark.client import (
    DuplicateKey,
    FunctionRefused,
    InvalidKey,
    LockedGrader,
    Offline,
    Online,
    Score,
    UnknownGrader,
    VersionConflict,
)
from fairmark.parse import parse
from tests.client.graders import by_length, with_a_helper
from tests.client.places import EXACT, OTHER, Place
from tests.endpoints.rewards import reward_server

SOURCE = "async def grade(thread: StringThread) -> float:\n    return 0.25\n"

ROW = {"item": {"question": "?", "answer": "Paris"}, "sample": "paris"}


@pytest.mark.parametrize(
    "grader",
    [
        EXACT,
        '{"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}',
        parse({**EXACT, "name": "x"}),
    ],
    ids=["dict", "text", "spec"],
)
def test_a_grader_may_be_anything_that_is_one(client: fairmark.Client, grader: Any) -> None:
    assert client.graders.create(key="exact", grader=grader).grader["type"] == "string_check"


def test_a_function_may_have_any_name_and_brings_its_imports(place: Place, client: fairmark.Client) -> None:
    made = client.graders.create.function(key="length", fn=by_length, name="Length")
    assert made.name == "Length"
    assert made.grader_config["source_code"].startswith("import re\n\nasync def grade(")
    assert place.rewards("length", [{"item": {"question": "?"}, "sample": "a b c"}]) == [3.0]


def test_a_function_may_stand_wherever_its_source_may(place: Place, client: fairmark.Client) -> None:
    inside = {"type": "multi", "graders": {"length": {"type": "function", "source": by_length}},
              "calculate_output": "length + 1"}  # fmt: skip
    client.graders.create(key="length", grader={"type": "function", "source": by_length})
    client.graders.update(grader_key="length", grader=inside)
    assert place.rewards("length", [{"item": {"question": "?"}, "sample": "a b c"}]) == [4.0]


def test_a_function_may_be_a_source(place: Place, client: fairmark.Client) -> None:
    client.graders.create.function(key="quarter", fn=SOURCE)
    assert place.rewards("quarter", [ROW]) == [0.25]


def test_a_judge_keeps_its_examples_and_templates(client: fairmark.Client) -> None:
    example = {"input": [{"role": "user", "content": "2+2?"}], "output": "4", "passes": True, "reasoning": "It is."}
    made = client.graders.create.binary_judge(
        key="judge",
        criteria="It is right.",
        judge_model="gpt-4o",
        name="Right",
        examples=[example],
        system_template="{{{criteria}}}",
        user_template="{{{completion}}} {{{tone}}}",
        template_variables={"tone": "kind"},
    )
    assert made.grader_config == {
        "model": "gpt-4o",
        "criteria": "It is right.",
        "examples": [example],
        "system_template": "{{{criteria}}}",
        "user_template": "{{{completion}}} {{{tone}}}",
    }
    assert made.grader["template_variables"] == {"tone": "kind"}
    assert not [warning for warning in made.warnings if "there is no variable" in warning]
    assert (made.name, made.metric.key) == ("Right", "judge")


def test_what_is_legal_and_strange_is_told_as_a_warning(client: fairmark.Client) -> None:
    made = client.graders.create.function(key="bare", fn="async def grade(thread):\n    return 1\n")
    assert [warning.rpartition("annotated as ")[2] for warning in made.warnings] == ["StringThread.", "float."]
    found = client.graders.get(grader_key="bare")
    assert found is not None
    assert found.warnings == ()


def test_names_that_a_function_would_miss_are_warned_of(client: fairmark.Client) -> None:
    with (
        pytest.warns(UserWarning, match="helper is neither defined in the function nor imported") as warned,
        pytest.raises(ValueError, match="test_run"),
    ):
        client.graders.create.function(key="helped", fn=with_a_helper)
    assert len(warned) == 1


def test_an_endpoint_that_answers_tells_of_itself(client: fairmark.Client) -> None:
    with reward_server() as setup:
        made = client.graders.create.external_endpoint(key="remote", url=setup.server.url, name="Ours")
        found = client.graders.test_external_endpoint(setup.server.url)
        assert [path.rpartition("/")[2] for path in setup.paths] == ["info", "info"]
    assert (made.grader_type, made.name, made.warnings) == ("REMOTE", "Ours", ())
    assert made.grader_config == {"url": setup.server.url, "version": "7", "description": "Scores by length."}
    assert found == Online("tests", "7", "Scores by length.")


def test_an_endpoint_that_is_down_is_kept_with_a_warning(client: fairmark.Client) -> None:
    made = client.graders.create.external_endpoint(key="remote", url="http://127.0.0.1:9")
    assert len(made.warnings) == 1
    assert "cannot connect to 127.0.0.1:9" in made.warnings[0]
    found = client.graders.test_external_endpoint("http://127.0.0.1:9")
    assert isinstance(found, Offline)
    assert "cannot connect to 127.0.0.1:9" in found.error


WRONG_FUNCTIONS = [
    ("#" * 65_537, "size"),
    ("async def grade(thread)\n", "syntax"),
    ("def grade(thread):\n    return 1.0\n", "structure"),
    ("async def grade(thread, more):\n    return 1.0\n", "signature"),
    ("import numpy\nasync def grade(thread):\n    return 1.0\n", "execution"),
    ("async def grade(thread):\n    return 'four'\n", "test_run"),
]


def test_the_check_that_a_function_fails_is_named_and_nothing_is_kept(client: fairmark.Client) -> None:
    for source, check in WRONG_FUNCTIONS:
        with pytest.raises(ValueError, match=f"^{check}: .") as refused:
            client.graders.create.function(key="wrong", fn=source)
        assert isinstance(refused.value, FunctionRefused)
        last = refused.value.found.checks[-1]
        assert (last.name, last.passed, str(refused.value)) == (check, False, f"{check}: {last.message}")
        assert client.graders.get(grader_key="wrong") is None


def test_all_that_is_wrong_with_a_grader_is_told_and_nothing_is_kept(client: fairmark.Client) -> None:
    with pytest.raises(fairmark.InvalidGrader) as refused:
        client.graders.create(key="wrong", grader={"type": "string_check", "input": 5, "operation": "equals"})
    assert [problem.path for problem in refused.value.problems] == ["$.input", "$.reference", "$.operation"]
    assert refused.value.problems[2].message == 'unknown operation "equals". Use one of: eq, ne, like, ilike.'
    assert client.graders.list() == []


WRONG_KEYS: list[tuple[Any, str]] = [
    ("", '""'),
    ("Exact", '"Exact"'),
    ("a/b", '"a/b"'),
    ("x" * 129, '"xxx'),
    (5, "a number (5)"),
    (None, "null"),
]


def test_a_key_that_cannot_be_one_is_refused(client: fairmark.Client) -> None:
    for key, found in WRONG_KEYS:
        with pytest.raises(InvalidKey, match=re.escape(f"key: found {found}")):
            client.graders.create(key=key, grader=EXACT)
        assert client.graders.list() == []


WRONG_CALLS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda made: made(key="x", grader={"type": "owl"}), r'\$\.type: unknown type "owl"'),
    (lambda made: made(key="x", grader="{"), r"\$: the grader is not JSON"),
    (lambda made: made(key="x", grader=None), r"\$: a grader is an object with a type, found null"),
    (lambda made: made(key="x", grader={**EXACT, "reference": by_length}), "not JSON: Object of type function"),
    (lambda made: made(key="x", grader={**EXACT, "pass_threshold": float("nan")}), "not JSON: Out of range"),
    (lambda made: made(key="x", grader=EXACT, name=5), r"name: found a number \(5\)\. It takes a string"),
    (lambda made: made(key="x", grader=EXACT, description=[]), "description: found a list of 0"),
    (lambda made: made(key="x", grader=EXACT, project=""), r'project: found a string \(""\)'),
    (lambda made: made(key="x", grader=EXACT, project=5), r"project: found a number \(5\)"),
    (lambda made: made.function(key="x", fn=lambda thread: 1.0), "is no def"),
    (lambda made: made.function(key="x", fn=len), "the source of .* cannot be found"),
    (lambda made: made.function(key="x", fn=None), "a function is needed, found a NoneType"),
    (lambda made: made.binary_judge(key="x", criteria=" ", judge_model="m"), r"\$\.criteria: found"),
    (
        lambda made: made.binary_judge(key="x", criteria="c", judge_model="m", examples=[{"output": "a"}]),
        r"\$\.examples\[0\]\.input: missing",
    ),
    (
        lambda made: made.binary_judge(key="x", criteria="c", judge_model="m", user_template="{{#if a}}"),
        r"\$\.user_template: ",
    ),
    (lambda made: made.binary_judge(key="x", criteria="c", judge_model="m", feedback_key=5), "feedback_key: found"),
    (lambda made: made.prebuilt_judge(key="x", type="faithfulness", judge_model="m"), "Use one of: FAITHFULNESS,"),
    (lambda made: made.external_endpoint(key="x", url="ftp://rewards"), r"\$\.url: found"),
]


def test_what_is_wrong_is_a_value_error_that_says_what_and_nothing_is_kept(client: fairmark.Client) -> None:
    for call, message in WRONG_CALLS:
        with pytest.raises(ValueError, match=message):
            call(client.graders.create)
        assert client.graders.list() == []


def test_arguments_are_by_name_only(client: fairmark.Client) -> None:
    graders: Any = client.graders
    for call in (graders.create, graders.create.custom, graders.get, graders.delete, graders.lock, graders.scores):
        with pytest.raises(TypeError, match="positional"):
            call("key")


def test_a_second_grader_of_a_key_is_refused_and_the_first_stays(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT)
    with pytest.raises(DuplicateKey, match=r'^key: there is a grader "exact" already'):
        client.graders.create(key="exact", grader=OTHER)
    assert [each.grader["operation"] for each in client.graders.list()] == ["eq"]


def test_graders_are_listed_in_the_order_in_which_they_were_created(client: fairmark.Client) -> None:
    assert client.graders.list() == []
    for key in ("zebra", "ant", "mole"):
        client.graders.create.custom(key=key)
    assert [each.key for each in client.graders.list()] == ["zebra", "ant", "mole"]


def test_a_grader_that_is_not_there_is_none_to_get_and_an_error_for_all_else(client: fairmark.Client) -> None:
    graders = client.graders
    calls: list[Callable[[str], Any]] = [
        lambda key: graders.update(grader_key=key, description="new"),
        lambda key: graders.lock(grader_key=key, locked=True),
        lambda key: graders.delete(grader_key=key),
        lambda key: graders.versions(grader_key=key),
        lambda key: graders.scores(grader_key=key),
        lambda key: graders.push_scores(grader_key=key, scores=[{"sample_id": "1", "value": 1}]),
    ]
    for key in ("nobody", "", "../evals", "a b", "UPPER", "grader_" + "0" * 32):
        assert graders.get(grader_key=key) is None
        for call in calls:
            with pytest.raises(UnknownGrader, match=r"^there is no registered grader") as unknown:
                call(key)
            assert isinstance(unknown.value, LookupError)


def test_an_update_keeps_the_old_version(place: Place, client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT, description="old")
    assert place.rewards("exact", [ROW]) == [0.0]
    changed = client.graders.update(grader_key="exact", grader=OTHER)
    assert (changed.version, changed.grader, changed.description) == (2, OTHER, "old")
    assert place.rewards("exact", [ROW]) == [1.0]
    assert [(each.version, each.grader) for each in client.graders.versions(grader_key="exact")] == [
        (2, OTHER),
        (1, EXACT),
    ]
    first = client.graders.get(grader_key="exact", version=1)
    assert first is not None
    assert (first.version, first.grader) == (1, EXACT)
    assert client.graders.get(grader_key="exact", version=3) is None


def test_names_and_descriptions_change_without_a_new_version(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT, description="old", name="Old")
    assert client.graders.update(grader_key="exact").name == "Old"
    changed = client.graders.update(grader_key="exact", name="New", description=None)
    assert (changed.name, changed.description, changed.version) == ("New", None, 1)
    assert client.graders.update(grader_key=changed.id, name=None).name == "exact"


def test_an_update_is_checked_as_a_new_grader_is(client: fairmark.Client) -> None:
    client.graders.create.function(key="quarter", fn=SOURCE)
    wrong = {"type": "function", "source": "async def grade(thread):\n    return 'four'\n"}
    with pytest.raises(FunctionRefused, match=r"^test_run: "):
        client.graders.update(grader_key="quarter", grader=wrong)
    strange: list[tuple[dict[str, Any], str]] = [
        ({"version": "1"}, "version: found"),
        ({"version": True}, "version: found"),
        ({"name": 5}, "name: found"),
        ({"grader": None}, "a grader is an object"),
    ]
    for given, message in strange:
        with pytest.raises(ValueError, match=message):
            client.graders.update(grader_key="quarter", **given)
    assert [each.version for each in client.graders.versions(grader_key="quarter")] == [1]


def test_who_changes_an_old_version_is_told(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT)
    client.graders.update(grader_key="exact", grader=OTHER, version=1)
    with pytest.raises(VersionConflict, match=r"^version: the grader \"exact\" has version 2 by now.* version 1\."):
        client.graders.update(grader_key="exact", grader=EXACT, version=1)
    assert client.graders.update(grader_key="exact", grader=EXACT, version=2).version == 3


def test_a_locked_grader_is_neither_changed_nor_deleted_until_it_is_unlocked(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT)
    assert client.graders.lock(grader_key="exact", locked=True).locked is True
    refused = '^the grader "exact" is locked. Unlock it first.$'
    with pytest.raises(LockedGrader, match=refused):
        client.graders.update(grader_key="exact", grader=OTHER)
    with pytest.raises(LockedGrader, match=refused):
        client.graders.update(grader_key="exact", description="new")
    with pytest.raises(LockedGrader, match=refused):
        client.graders.delete(grader_key="exact")
    with pytest.raises(ValueError, match=r'locked: found a string \("yes"\)'):
        client.graders.lock(grader_key="exact", locked="yes")  # type: ignore[arg-type]
    assert client.graders.lock(grader_key="exact", locked=True).locked is True
    assert client.graders.lock(grader_key="exact", locked=False).locked is False
    assert client.graders.update(grader_key="exact", grader=OTHER).version == 2
    assert client.graders.delete(grader_key="exact") is True
    assert client.graders.get(grader_key="exact") is None


def test_a_custom_grader_takes_scores_and_gives_them_back(client: fairmark.Client) -> None:
    made = client.graders.create.custom(key="editors", description="By hand.", name="Editors")
    assert (made.grader_type, made.grader_config, made.name) == ("CUSTOM", {"description": "By hand."}, "Editors")
    pushed: list[Any] = [Score("a", 1.0, "good"), {"sample_id": "b", "value": 2}]
    assert client.graders.push_scores(grader_key="editors", scores=pushed) == 2
    assert client.graders.push_scores(grader_key="editors", scores=iter([Score("a", 0.5)])) == 1
    found = client.graders.scores(grader_key="editors")
    assert [(each.sample_id, each.value, each.reasoning) for each in found] == [("a", 0.5, None), ("b", 2.0, None)]
    assert all(each.created_at and each.created_at > 1_700_000_000 for each in found)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([{"sample_id": "a"}], "missing required field `value`"),
        ([Score("a", 1.0), {"sample_id": "", "value": 1}], r"length >= 1 - at `\$\[1\]\.sample_id`"),
        ([{"sample_id": "a" * 513, "value": 1}], "length <= 512"),
        ([{"sample_id": 5, "value": 1}], r"Expected `str`, got `int` - at `\$\[0\]\.sample_id`"),
        ([{"sample_id": "a", "value": True}], "got `bool`"),
        ([{"sample_id": "a", "value": "1"}], "got `str`"),
        ([Score("a", float("nan"))], r"scores\[0\]\.value: found nan. It takes a finite number"),
        ([{"sample_id": "a", "value": 10**400}], "scores: "),
        (["a"], r"got `str` - at `\$\[0\]`"),
        (5, "not iterable"),
        ([Score("a", 1.0)] * 10_001, "Push at most 10000 at once"),
    ],
)
def test_what_is_no_score_is_refused_with_all_that_came_with_it(
    client: fairmark.Client, scores: Any, message: str
) -> None:
    client.graders.create.custom(key="editors")
    with pytest.raises(ValueError, match=message):
        client.graders.push_scores(grader_key="editors", scores=scores)
    assert client.graders.scores(grader_key="editors") == []


def test_only_a_custom_grader_takes_scores(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT)
    with pytest.raises(ValueError, match='the grader "exact" computes its scores itself'):
        client.graders.push_scores(grader_key="exact", scores=[Score("a", 1.0)])


def test_a_client_may_name_the_project_that_it_would_use_anyway(place: Place) -> None:
    place.open(project=place.project).graders.create(key="exact", grader=EXACT)
    assert [each.key for each in place.open().graders.list()] == ["exact"]
    assert [each.key for each in place.open().graders.list(project=place.project)] == ["exact"]


@pytest.mark.parametrize("project", ["", 5, ["default"]])
def test_a_project_that_is_no_name_is_refused_before_anything_is_asked(place: Place, project: Any) -> None:
    with pytest.raises(ValueError, match=r"^project: found"):
        place.open(project=project)


def test_a_closed_client_says_so(place: Place) -> None:
    client = place.open_async()

    async def use() -> None:
        async with client:
            assert await client.graders.list() == []

    asyncio.run(use())
    with pytest.raises(ValueError, match="this client is closed"):
        asyncio.run(client.graders.list())


def test_a_client_does_not_show_its_key(place: Place) -> None:
    assert "fm-" not in repr(place.open())
    assert repr(place.open()).startswith(("Client(", "AsyncClient("))
