"""A config of promptfoo: which graders its assertions become, what rows its tests are, and what is refused where."""

from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import InvalidData
from tests.moving.files.made import Made, files_of


def config(tests: str, before: str = "") -> str:
    return f"prompts: ['Say {{{{word}}}}']\nproviders: [openai:gpt-5]\n{before}tests:\n{tests}"


def one_test(*assertions: str, values: str = "{word: hi}") -> str:
    return config(f"  - vars: {values}\n    assert:\n" + "".join(f"      - {each}\n" for each in assertions))


def made(folder: Path, text: str, **more: Any) -> Made:
    return Made(folder, text, "promptfooconfig.yaml", **more)


def criteria(of: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "id"} for each in of["testing_criteria"]]


@pytest.mark.parametrize(
    ("assertion", "operation", "reference"),
    [
        ("{type: equals, value: Hi there}", "eq", "Hi there"),
        ("{type: equals, value: 5}", "eq", "5"),
        ("{type: equals, value: 1.0}", "eq", "1"),
        ("{type: not-equals, value: Hi}", "ne", "Hi"),
        ("{type: contains, value: Hi}", "like", "Hi"),
        ("{type: contains, value: 0}", "like", "0"),
        ("{type: icontains, value: 'a {{word}}'}", "ilike", "a {{item.word}}"),
    ],
)
def test_what_compares_texts_is_a_string_check(tmp_path: Path, assertion: str, operation: str, reference: str) -> None:
    new = made(tmp_path, one_test(assertion))
    (grader,) = criteria(new.evals[0])
    name = assertion.split(",")[0].removeprefix("{type: ")
    assert grader == {
        "type": "string_check",
        "name": name,
        "input": "{{sample.output_text}}",
        "reference": reference,
        "operation": operation,
    }
    assert new.notes("exact") == [f"tests[0].assert[0]: {name} → string_check {operation}"]


@pytest.mark.parametrize(
    ("assertion", "passes", "fails"),
    [
        ("{type: not-contains, value: bad}", "good", "bad"),
        ("{type: starts-with, value: '{{word}}'}", "hi all", "oh hi"),
        ("{type: regex, value: '^\\d+$'}", "42", "42\n"),
        ("{type: not-regex, value: '[a-z]'}", "42", "a"),
        ("{type: contains-any, value: 'x, \"a, b\"'}", "a, b", "a"),
        ("{type: not-contains-all, value: [a, b]}", "a", "ab"),
        ("{type: icontains-all, value: [A, 1]}", "1a", "a"),
        ("{type: levenshtein, value: test, threshold: 1}", "tast", "tats"),
        ("{type: is-json}", "{}", "{"),
        ("{type: not-is-json}", "{", "{}"),
        ("{type: is-json, value: {type: object, required: [a]}}", '{"a": 1}', "{}"),
        ("{type: is-json, value: 'required: [a]'}", '{"a": 1}', "{}"),
        ("{type: equals, value: {a: 1}}", '{ "a": 1 }', '{"a": 2}'),
        ("{type: not-equals, value: [1]}", "no json", "[1]"),
        ("{type: not-icontains, value: BAD}", "good", "bad"),
    ],
)
def test_other_rules_are_python_graders_that_say_the_same(
    tmp_path: Path, assertion: str, passes: str, fails: str
) -> None:
    new = made(tmp_path, one_test(assertion))
    (grader,) = criteria(new.evals[0])
    (row,) = new.rows(new.evals[0]["metadata"]["rows"])
    assert grader["type"] == "python"
    results = fairmark.grade_many(grader, [{**row, "sample": passes}, {**row, "sample": fails}])
    assert [(result.error, result.reward) for result in results] == [(None, 1.0), (None, 0.0)]
    assert len(new.notes("exact")) == 1


@pytest.mark.parametrize(
    ("assertion", "metric", "threshold"),
    [
        ("{type: rouge-n, value: Hi}", "rouge_1", 0.75),
        ("{type: bleu, value: Hi, threshold: 0.3}", "bleu", 0.3),
        ("{type: gleu, value: Hi}", "gleu", 0.5),
        ("{type: meteor, value: Hi}", "meteor", 0.5),
        ("{type: similar, value: Hi}", "cosine", 0.75),
    ],
)
def test_measures_keep_their_threshold_and_warn(tmp_path: Path, assertion: str, metric: str, threshold: float) -> None:
    new = made(tmp_path, one_test(assertion))
    (grader,) = criteria(new.evals[0])
    assert (grader["type"], grader["evaluation_metric"], grader["pass_threshold"]) == (
        "text_similarity",
        metric,
        threshold,
    )
    assert "numbers will differ" in new.notes("differs")[0]


@pytest.mark.parametrize("kind", ["llm-rubric", "g-eval", "factuality", "model-graded-closedqa"])
def test_judges_are_drafts_in_an_eval_of_their_own(tmp_path: Path, kind: str) -> None:
    new = made(tmp_path, one_test(f"{{type: {kind}, value: 'be kind to {{{{word}}}}'}}", "{type: contains, value: x}"))
    drafts, ready = new.evals
    (judge,) = criteria(drafts)
    assert (judge["type"], judge["model"], judge["runnable"]) == ("score_model", "choose-a-judge", False)
    assert judge["reason"].startswith("draft: ")
    assert judge["input"][1]["content"].startswith("be kind to {{item.word}}\n")
    assert fairmark.validate(judge).errors == []
    assert [each["name"] for each in criteria(ready)] == ["contains"]
    assert drafts["metadata"]["rows"] == ready["metadata"]["rows"]
    assert len(new.notes("draft")) == 1


def test_the_judge_is_the_one_that_the_config_names(tmp_path: Path) -> None:
    before = "defaultTest: {options: {provider: openai:chat:gpt-5-mini}}\n"
    text = one_test("{type: llm-rubric, value: kind}").replace("tests:", f"{before}tests:")
    (judge,) = criteria(made(tmp_path, text).evals[0])
    assert judge["model"] == "gpt-5-mini"


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        ("{type: javascript, value: 'output == 1'}", "it is code in JavaScript"),
        ("{type: python, value: 'True'}", "write it as def grade(sample, item)"),
        ("{type: webhook, value: 'https://x'}", "an endpoint grader could"),
        ("{type: latency, threshold: 5}", "rows do not say how long"),
        ("{type: cost, threshold: 5}", "rows do not say what an answer cost"),
        ("{type: 'promptfoo:redteam:harmful'}", "it is an attack of promptfoo's"),
        ("{type: trace-span-count}", "Fairmark has no twin of it"),
        ("{type: select-best, value: x}", "it compares several answers"),
        ("{type: contains, value: 'file://x.txt'}", "stands in another file, which is not read"),
        ("{type: contains-any, value: ['file://x.txt']}", "stands in another file, which is not read"),
        ("{type: contains, value: '{{ word | upper }}'}", "is more than a variable"),
        ("{type: contains, value: '{{nothing}}'}", "there is no such variable"),
        ("{type: contains}", "value: found null"),
        ("{type: contains-any, value: '\"a'}", "do not match"),
        ("{type: regex, value: '(?i)a'}", "is no group of both languages"),
        ("{type: is-json, value: {properties: {a: {format: email}}}}", "properties.a.format is not judged alike"),
        ("{type: is-json, value: {pattern: a}}", "pattern is not judged alike"),
        ("{type: not-bleu, value: a}", "no grader that wants texts to differ"),
        ("{type: contains, value: a, transform: 'output.trim()'}", "its transform has no twin"),
        ("{value: a}", "type: found null"),
    ],
)
def test_what_has_no_twin_is_told_with_its_place(tmp_path: Path, assertion: str, why: str) -> None:
    new = made(tmp_path, one_test("{type: contains, value: x}", assertion))
    (refused,) = new.notes("refused")
    assert refused.startswith("tests[0].assert[1]: ")
    assert why in refused
    assert [each["name"] for each in criteria(new.evals[0])] == ["contains"]
    assert new.evals[0]["metadata"]["assertions_not_converted"] == "1"
    assert not new.report.has_problems


def test_lists_of_texts_are_all_combinations_and_other_lists_are_values(tmp_path: Path) -> None:
    text = one_test("{type: contains, value: x}", values="{word: [a, b], tone: [c, d], numbers: [1, 2]}")
    new = made(tmp_path, text)
    items = [row["item"] for row in new.rows(new.evals[0]["metadata"]["rows"])]
    assert items == [{"word": word, "tone": tone, "numbers": [1, 2]} for word in "ab" for tone in "cd"]


def test_tests_that_differ_in_values_only_share_an_eval(tmp_path: Path) -> None:
    tests = """
  - {vars: {word: a}, assert: [{type: contains, value: A}, {type: starts-with, value: '{{word}}'}]}
  - {vars: {word: b, expected: taken}, assert: [{type: contains, value: B}, {type: starts-with, value: b}]}
  - {vars: {word: c}, assert: [{type: contains, value: C}]}
"""
    new = made(tmp_path, config(tests))
    both, alone = new.evals
    assert [each["name"] for each in (both, alone)] == ["promptfooconfig 1", "promptfooconfig 2"]
    assert criteria(both)[0]["reference"] == "{{item.expected_2}}"  # the first of the name is a variable of the test
    assert criteria(alone)[0]["reference"] == "C"
    assert [row["item"] for row in new.rows(both["metadata"]["rows"])] == [
        {"word": "a", "expected_2": "A", "expected_3": "a"},
        {"word": "b", "expected": "taken", "expected_2": "B", "expected_3": "b"},
    ]


def test_a_value_with_braces_stands_in_the_row(tmp_path: Path) -> None:
    new = made(tmp_path, one_test("{type: contains, value: '{{word}}'}", values="{word: 7.5}"))
    assert criteria(new.evals[0])[0]["reference"] == "7.5"
    new = made(tmp_path, one_test("{type: contains, value: '{{word}}'}", values="{word: [x, y]}"))
    assert criteria(new.evals[0])[0]["reference"] == "{{item.word}}"


def test_a_threshold_is_over_the_weighted_mean(tmp_path: Path) -> None:
    tests = """
  - vars: {word: a}
    threshold: 0.6
    assert:
      - {type: contains, value: A, weight: 2}
      - {type: contains, value: B}
      - {type: assert-set, weight: 1, assert: [{type: contains, value: C}, {type: contains, value: D}]}
"""
    (grader,) = criteria(made(tmp_path, config(tests)).evals[0])
    assert (grader["type"], grader["pass_threshold"]) == ("multi", 0.6)
    answers = {"A": 0.5, "AC": 0.625, "AB": 0.75, "BCD": 0.5, "ABCD": 1.0, "": 0.0}
    results = fairmark.grade_many(grader, [{"item": {}, "sample": answer} for answer in answers])
    assert [result.reward for result in results] == list(answers.values())
    assert [result.passed for result in results] == [False, True, True, False, True, False]


def test_a_set_counts_by_its_threshold_or_all_of_it(tmp_path: Path) -> None:
    tests = """
  - vars: {word: a}
    assert:
      - type: assert-set
        threshold: 0.5
        metric: half
        assert: [{type: contains, value: C}, {type: contains, value: D}]
      - {type: assert-set, assert: [{type: contains, value: E}, {type: equals, value: F}]}
"""
    graders = criteria(made(tmp_path, config(tests)).evals[0])
    assert [(each["type"], each["name"]) for each in graders] == [
        ("multi", "half"),
        ("string_check", "contains"),
        ("string_check", "equals"),
    ]
    assert fairmark.grade(graders[0], "D", {}).passed is True


def test_a_mean_of_which_a_part_is_missing_is_not_converted(tmp_path: Path) -> None:
    tests = (
        "  - {vars: {word: a}, threshold: 0.5, assert: [{type: contains, value: A}, {type: javascript, value: x}]}\n"
    )
    new = made(tmp_path, config(tests))
    assert new.evals == []
    assert "a part cannot be converted: tests[0].assert[1]: javascript" in new.notes("refused")[0]
    assert new.report.made["rows"] == 1


def test_what_weighs_nothing_is_measured_and_cannot_fail(tmp_path: Path) -> None:
    (grader,) = criteria(made(tmp_path, one_test("{type: contains, value: A, weight: 0}")).evals[0])
    result = fairmark.grade(grader, "b", {})
    assert (result.reward, result.passed) == (0.0, True)


def test_what_holds_by_default_comes_first_unless_a_test_wants_none_of_it(tmp_path: Path) -> None:
    before = "defaultTest: {vars: {word: w, tone: t}, assert: [{type: not-contains, value: AI}]}\n"
    tests = """
  - {vars: {word: a}, assert: [{type: contains, value: A}]}
  - {options: {disableDefaultAsserts: true}, assert: [{type: contains, value: B}]}
"""
    first, second = (new := made(tmp_path, config(tests, before))).evals
    assert [each["name"] for each in criteria(first)] == ["not-contains", "contains"]
    assert [each["name"] for each in criteria(second)] == ["contains"]
    assert new.rows(second["metadata"]["rows"]) == [{"item": {"word": "w", "tone": "t"}}]


def test_scenarios_are_each_config_with_each_test(tmp_path: Path) -> None:
    text = """
prompts: [x]
scenarios:
  - config:
      - {vars: {word: a}}
      - {vars: {word: b}, assert: [{type: contains, value: B}]}
    tests:
      - {vars: {tone: c}, assert: [{type: contains, value: C}]}
      - {vars: {tone: d, word: e}, assert: [{type: contains, value: C}]}
"""
    one, two = (new := made(tmp_path, text)).evals
    words = [[row["item"]["word"] for row in new.rows(each["metadata"]["rows"])] for each in (one, two)]
    assert words == [["a", "e"], ["b", "e"]]
    assert [len(each["testing_criteria"]) for each in (one, two)] == [1, 2]


def test_templates_of_assertions_stand_in_for_their_names(tmp_path: Path) -> None:
    before = "assertionTemplates: {polite: {type: contains, value: please}}\n"
    new = made(tmp_path, config("  - {vars: {word: a}, assert: [{$ref: '#/assertionTemplates/polite'}]}\n", before))
    assert criteria(new.evals[0])[0]["reference"] == "please"
    with pytest.raises(InvalidData, match=r"there is no \"#/assertionTemplates/rude\" in this file"):
        made(tmp_path, config("  - {vars: {word: a}, assert: [{$ref: '#/assertionTemplates/rude'}]}\n", before))


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("file://tests.csv", "stands in another file"),
        ("{vars: file://vars.yaml}", "stands in another file"),
        ("{vars: {word: file://text.txt}}", "vars.word"),
        ("{vars: {word: '{{other}}'}}", "has a template in it"),
        ("{vars: {word: a}, options: {transform: 'output.trim()'}}", "options.transform changes the answer"),
        ("{vars: {word: a}, assertScoringFunction: 'file://x.js'}", "makes the score by code"),
        ("{vars: {word: a}, assert: [contains]}", "It takes an object with a type"),
        ("7", "It takes an object"),
        ("{vars: 7}", "vars: found a number (7). It takes an object."),
        ("{vars: {word: a}, assert: 7}", "assert: found a number (7). It takes a list of assertions."),
        ("{vars: {word: a}, options: [1]}", "options: found a list of 1. It takes an object."),
    ],
)
def test_a_test_that_cannot_be_converted_is_told_with_its_place(tmp_path: Path, test: str, why: str) -> None:
    good = "  - {vars: {word: a}, assert: [{type: contains, value: x}]}\n"
    new = made(tmp_path, config(f"{good}  - {test}\n"))
    (refused,) = new.notes("refused")
    assert refused.startswith("tests[1]: ")
    assert why in refused
    assert new.report.made["rows"] == 1


def test_a_product_without_end_is_refused(tmp_path: Path) -> None:
    many = "[" + ", ".join(f"v{number}" for number in range(100)) + "]"
    text = one_test("{type: contains, value: x}", values=f"{{a: {many}, b: {many}, c: {many}}}")
    with pytest.raises(InvalidData, match="1,000,000 combinations"):
        made(tmp_path, text)


def test_runs_can_be_started_for_every_prompt_and_provider(tmp_path: Path) -> None:
    text = """
prompts:
  - 'Say {{word}}'
  - {label: chat, raw: '[{"role": "system", "content": "Be brief"}, {"role": "user", "content": "{{word}}"}]'}
  - file://prompt.txt
  - prompts/other.json
  - '{% if word %}x{% endif %}'
providers: [openai:gpt-5, {id: 'anthropic:messages:claude'}, 'python:mine.py']
tests: [{vars: {word: a}, assert: [{type: contains, value: x}]}]
"""
    new = made(tmp_path, text)
    bodies = [body["data_source"] for eval_id, body in new.report.starts if eval_id == new.evals[0]["id"]]
    assert [(body["model"], body["input_messages"]["template"]) for body in bodies] == [
        (model, messages)
        for messages in (
            [{"role": "user", "content": "Say {{item.word}}"}],
            [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "{{item.word}}"}],
        )
        for model in ("gpt-5", "anthropic:messages:claude")
    ]
    assert {body["source"]["id"] for body in bodies} == {new.evals[0]["metadata"]["rows"]}
    assert [note.split(":")[0] for note in new.notes("refused")] == [
        *("prompts[2]", "prompts[3]", "prompts[4]"),
        "providers[2]",
    ]


def test_the_same_file_makes_the_same_archive_and_another_makes_other_ids(tmp_path: Path) -> None:
    text = one_test("{type: contains, value: x}", "{type: regex, value: a}")
    one, again = made(tmp_path, text), made(tmp_path, text)
    assert files_of(one.archive) == files_of(again.archive)
    other = made(tmp_path, text.replace("value: x", "value: y"))
    assert other.evals[0]["id"] != one.evals[0]["id"]


def test_it_may_be_json_and_have_a_name(tmp_path: Path) -> None:
    text = '{"description": "Mine", "prompts": ["x"], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}'
    assert Made(tmp_path, text, "config.json").evals[0]["name"] == "Mine"
    assert Made(tmp_path, text, "config.json", name="Yours").evals[0]["name"] == "Yours"


def test_what_holds_for_every_test_is_told_once_and_leaves_room_for_the_others(tmp_path: Path) -> None:
    before = "defaultTest: {assert: [{type: latency, threshold: 9}]}\n"
    tests = "".join(
        f"  - {{vars: {{word: w{number}}}, assert: [{{type: contains, value: w}}]}}\n" for number in range(1100)
    )
    last = "  - {vars: {word: hi}, assert: [{type: javascript, value: 'true'}]}\n"
    new = made(tmp_path, config(tests + last, before))
    assert new.notes("refused") == [
        "defaultTest.assert[0]: latency: rows do not say how long an answer took",
        "tests[1100].assert[0]: javascript: it is code in JavaScript",
    ]
    assert not new.report.left_out
