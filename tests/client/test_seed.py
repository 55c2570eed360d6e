"""The code of Adaptive ML's page on graders, as it stands there, with our client in the place of theirs."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fairmark
from tests.client.places import Place

IMPORT = "from adaptive_harmony import StringThread\n\n"

EXACT_MATCH = """\
from adaptive_harmony import StringThread

async def grade(thread: StringThread) -> float:
    completion = thread.completion() or ""
    expected = thread.metadata.get("expected", "")
    return 1.0 if completion.strip() == expected.strip() else 0.0

adaptive.graders.create.function(
    key="exact-match",
    fn=grade,
    description="Strict equality between completion and expected answer",
)
"""
REGEX = """\
# Regex match
import re

async def grade(thread: StringThread) -> float:
    completion = thread.completion() or ""
    pattern = thread.metadata.get("pattern", "")
    return 1.0 if re.search(pattern, completion) else 0.0
"""
SHAPE = """\
# Strict JSON shape
import json

async def grade(thread: StringThread) -> float:
    completion = thread.completion() or ""
    try:
        parsed = json.loads(completion)
        return 1.0 if {"name", "email", "age"}.issubset(parsed.keys()) else 0.0
    except Exception:
        return 0.0
"""
KEYWORDS = """\
# Multi-keyword scoring with partial credit
async def grade(thread: StringThread) -> float:
    completion = (thread.completion() or "").lower()
    keywords = thread.metadata.get("keywords", [])
    if not keywords:
        return 0.0
    hits = sum(1 for k in keywords if k.lower() in completion)
    return hits / len(keywords)
"""
BINARY_JUDGE = """\
adaptive.graders.create.binary_judge(
    key="helpful-judge",
    criteria="The response directly answers the user's question without going off-topic",
    judge_model="llama-3.1-8b-instruct",
    feedback_key="helpfulness",
)
"""
# The page's example template, without its quotes.
SYSTEM_TEMPLATE = """\
You are a judge. Evaluate based on: {{criteria}}.
         Output this JSON schema: {{output_schema}}"""
USER_TEMPLATE = """\
Context:
{{context_str_without_last_user}}
       Question:
{{last_user_turn_content}}
       Response:
{{completion}}"""
PREBUILT = """\
adaptive.graders.create.prebuilt_judge(
    key="rag-faithfulness",
    type="FAITHFULNESS",
    judge_model="llama-3.1-8b-instruct",
)
"""
MANAGE = """\
adaptive.graders.list()                                       # all graders in project
adaptive.graders.get(grader_key="exact-match")                # one grader
adaptive.graders.delete(grader_key="exact-match")             # remove
adaptive.graders.lock(grader_key="exact-match", locked=True)  # prevent edits
"""
MANAGED = MANAGE.splitlines()

ITEM = {
    "messages": [
        {"role": "document", "content": "Tim Berners-Lee created the first website."},
        {"role": "document", "content": "Tim Berners-Lee invented the world wide web."},
        {"role": "user", "content": "Who published the first website?"},
    ]
}
REPLY = "Tim Berners-Lee published the first website in August 1990."


def verdicts(*bits: int) -> dict[str, Any]:
    return {"verdicts": [{"index": n, "verdict": bit, "reason": "so"} for n, bit in enumerate(bits, 1)]}


RunPage = Callable[[str, fairmark.Client], ModuleType]


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPage:
    """Runs code of the page as a module of its own, where `adaptive` is the client."""
    folder = tmp_path / "code"
    folder.mkdir()

    def run(code: str, client: fairmark.Client) -> ModuleType:
        file = folder / "page.py"
        file.write_text(code)
        spec = importlib.util.spec_from_file_location("page", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "page", module)
        module.__dict__["adaptive"] = client
        spec.loader.exec_module(module)
        return module

    return run


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        (
            REGEX,
            [
                ({"question": "?", "pattern": r"\d{4}"}, "in 1990", 1.0),
                ({"question": "?", "pattern": r"\d{4}"}, "in August", 0.0),
            ],
        ),
        (
            SHAPE,
            [
                ({"question": "?"}, '{"name": "A", "email": "a@b.c", "age": 3, "more": 1}', 1.0),
                ({"question": "?"}, '{"name": "A", "age": 3}', 0.0),
                ({"question": "?"}, "no JSON", 0.0),
            ],
        ),
        (
            KEYWORDS,
            [
                ({"question": "?", "keywords": ["Red", "fox", "blue", "owl"]}, "A red FOX.", 0.5),
                ({"question": "?", "keywords": ["fox"]}, "A fox.", 1.0),
                ({"question": "?"}, "A fox.", 0.0),
            ],
        ),
    ],
    ids=["regex", "shape", "keywords"],
)
def test_the_pages_functions_grade_by_reference(
    place: Place, client: fairmark.Client, run_page: RunPage, code: str, rows: list[tuple[dict[str, Any], str, float]]
) -> None:
    client.graders.create.function(key="example", fn=run_page(IMPORT + code, client).grade)
    given = [{"item": item, "sample": sample} for item, sample, _ in rows]
    assert place.rewards("example", given) == [reward for _, _, reward in rows]


def test_the_pages_exact_match_is_kept_and_grades(place: Place, client: fairmark.Client, run_page: RunPage) -> None:
    run_page(EXACT_MATCH, client)
    kept = client.graders.get(grader_key="exact-match")
    assert kept is not None
    assert (kept.grader_type, kept.name, kept.version, kept.locked) == ("FUNCTION", "exact-match", 1, False)
    assert kept.description == "Strict equality between completion and expected answer"
    rows = [{"item": {"question": "2+2?", "expected": "4"}, "sample": sample} for sample in (" 4 ", "5")]
    assert place.rewards("exact-match", rows) == [1.0, 0.0]


def test_the_pages_way_to_manage_graders_works(client: fairmark.Client, run_page: RunPage) -> None:
    run_page(EXACT_MATCH, client)
    run_page("\n".join(f"result_{number} = {line}" for number, line in enumerate(MANAGED) if number != 3), client)
    listed, got, deleted = (getattr(sys.modules["page"], f"result_{number}") for number in range(3))
    assert ([each.key for each in listed], got.key, deleted) == (["exact-match"], "exact-match", True)
    assert client.graders.list() == []
    run_page(EXACT_MATCH, client)
    assert run_page(f"locked = {MANAGED[3]}", client).locked.locked is True


def test_the_pages_binary_judge_has_its_metric_and_grades(client: fairmark.Client, run_page: RunPage) -> None:
    made = run_page(f"made = {BINARY_JUDGE}", client).made
    assert (made.grader_type, made.metric.key, made.metric.kind) == ("JUDGE", "helpfulness", "BOOL")
    assert made.grader_config["model"] == "llama-3.1-8b-instruct"
    assert made.grader_config["criteria"].startswith("The response directly answers")
    take_home(client)
    judge = fairmark.FakeJudge([{"reasoning": "On topic.", "score": "PASS"}, {"reasoning": "Off.", "score": "FAIL"}])
    rows = [{"item": {"question": "2+2?"}, "sample": sample} for sample in ("4", "I like owls.")]
    results = fairmark.grade_many({"type": "registered", "key": "helpful-judge"}, rows, judge=judge)
    assert [(result.reward, result.status) for result in results] == [(1.0, "graded"), (0.0, "graded")]


def test_the_pages_example_template_reaches_the_judge_as_it_was_said(client: fairmark.Client) -> None:
    client.graders.create.binary_judge(
        key="templated",
        criteria="It says whether a < b & why.",
        judge_model="m",
        system_template=SYSTEM_TEMPLATE,
        user_template=USER_TEMPLATE,
    )
    take_home(client)
    judge = fairmark.FakeJudge({"reasoning": "", "score": "PASS"})
    messages = [{"role": "user", "content": "<b>Hello</b>"}, {"role": "user", "content": "Is \"1\" < '2'?"}]
    fairmark.grade({"type": "registered", "key": "templated"}, "1 < 2 && x=`y`", {"messages": messages}, judge=judge)
    system, user = judge.asked[0]
    assert system["content"].startswith("You are a judge. Evaluate based on: It says whether a < b & why..\n")
    assert '"score": {"type": "string"' in system["content"]
    assert user["content"] == (
        "Context:\n[user]\n<b>Hello</b>\n       Question:\nIs \"1\" < '2'?\n       Response:\n1 < 2 && x=`y`"
    )


def test_the_pages_faithfulness_scores_the_pages_sample_by_a_half(client: fairmark.Client, run_page: RunPage) -> None:
    made = run_page(f"made = {PREBUILT}", client).made
    assert (made.grader_type, made.metric.kind) == ("PREBUILT", "SCALAR")
    assert made.grader_config == {"criteria_key": "FAITHFULNESS", "model": "llama-3.1-8b-instruct"}
    take_home(client)
    judge = fairmark.FakeJudge([{"claims": ["He published it.", "It was in August 1990."]}, verdicts(1, 0)])
    result = fairmark.grade({"type": "registered", "key": "rag-faithfulness"}, REPLY, ITEM, judge=judge)
    assert (result.reward, result.error) == (0.5, None)


@pytest.mark.parametrize(
    ("type_", "script"),
    [
        ("ANSWER_RELEVANCY", [{"claims": ["one", "two"]}, verdicts(1, 0)]),
        ("CONTEXT_RELEVANCY", [{"reason": "so", "verdict": 1}, {"reason": "so", "verdict": 0}]),
    ],
)
def test_the_other_two_prebuilt_judges_grade_too(client: fairmark.Client, type_: Any, script: list[Any]) -> None:
    made = client.graders.create.prebuilt_judge(key="rag", type=type_, judge_model="m")
    assert made.grader_config == {"criteria_key": type_, "model": "m"}
    take_home(client)
    judge = fairmark.FakeJudge(script)
    result = fairmark.grade({"type": "registered", "key": "rag"}, REPLY, ITEM, judge=judge)
    assert (result.reward, result.error) == (0.5, None)


def take_home(client: fairmark.Client) -> None:
    """What a client's registry has, in the local one too: there is a scripted judge only here."""
    here = fairmark.Client()
    if not here.graders.list():
        here.graders.import_(pack=client.graders.export())
