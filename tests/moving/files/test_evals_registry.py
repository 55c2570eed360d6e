"""The registry of openai/evals: its rules are the same here, its judges are drafts, and nothing else is read."""

import json
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import InvalidData
from tests.moving.files.made import Made, files_of, lines

ROWS = [
    {"input": [{"role": "user", "content": "Capital of France?"}], "ideal": "Paris"},
    {"input": "Capital of Peru?", "ideal": "Lima"},
]


def registry(folder: Path, spec: str, rows: str | None = None, judges: str = "") -> Path:
    """A folder as that package has it; the path of its one file of evals."""
    for part in ("evals", "data/mine", "modelgraded"):
        (folder / "registry" / part).mkdir(parents=True, exist_ok=True)
    (folder / "registry/data/mine/samples.jsonl").write_text(lines(*ROWS) if rows is None else rows)
    (folder / "registry/modelgraded/judges.yaml").write_text(judges)
    path = folder / "registry/evals/mine.yaml"
    path.write_text(spec)
    return path


def entry(class_: str, args: str = "", samples: str = "mine/samples.jsonl") -> str:
    inside = f"    samples_jsonl: {samples}\n" + "".join(f"    {line}\n" for line in args.splitlines())
    return f"mine:\n  id: mine.dev.v0\n  metrics: [accuracy]\nmine.dev.v0:\n  class: {class_}\n  args:\n{inside}"


MATCH = "evals.elsuite.basic.match:Match"
INCLUDES = "evals.elsuite.basic.includes:Includes"
FUZZY = "evals.elsuite.basic.fuzzy_match:FuzzyMatch"
CLASSIFY = "evals.elsuite.modelgraded.classify:ModelBasedClassify"


def grader_of(new: Made) -> dict[str, Any]:
    (eval_,) = new.evals
    (grader,) = eval_["testing_criteria"]
    return dict(grader)


@pytest.mark.parametrize(
    ("class_", "args", "operation"),
    [(INCLUDES, "", "like"), (INCLUDES, "ignore_case: true", "ilike"), (INCLUDES, "ignore_case: false", "like")],
)
def test_includes_of_one_text_is_a_string_check(tmp_path: Path, class_: str, args: str, operation: str) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(class_, args)))
    grader = grader_of(new)
    assert (grader["type"], grader["operation"], grader["reference"]) == ("string_check", operation, "{{item.ideal}}")
    assert new.notes("exact") == [f"mine.dev.v0: Includes → string_check {operation}"]


@pytest.mark.parametrize(
    ("class_", "args", "ideal", "passes", "fails"),
    [
        (MATCH, "", "Paris", "Paris, France", "It is Paris"),
        (MATCH, "", ["Paris", "Lima"], "Lima!", "lima"),
        (INCLUDES, "", ["Paris", "Lima"], "is it Lima?", "is it lima?"),
        (INCLUDES, "ignore_case: true", ["Paris", "Lima"], "is it lima?", "is it Rome?"),
        (FUZZY, "", "the Eiffel Tower", "eiffel tower.", "a tower of Paris"),
    ],
)
def test_the_other_rules_are_python_graders_that_say_the_same(
    tmp_path: Path, class_: str, args: str, ideal: Any, passes: str, fails: str
) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(class_, args), lines({"input": "q", "ideal": ideal})))
    grader = grader_of(new)
    (row,) = new.rows(new.evals[0]["metadata"]["rows"])
    results = fairmark.grade_many(grader, [{**row, "sample": passes}, {**row, "sample": fails}])
    assert [(result.error, result.reward) for result in results] == [(None, 1.0), (None, 0.0)]


def test_the_rows_are_there_and_a_run_can_be_started(tmp_path: Path) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(MATCH)))
    (eval_,) = new.evals
    assert eval_["name"] == "mine.dev.v0"
    assert new.rows(eval_["metadata"]["rows"]) == [{"item": row} for row in ROWS]
    ((eval_id, body),) = new.report.starts
    assert eval_id == eval_["id"]
    assert body["data_source"]["input_messages"] == {"type": "item_reference", "item_reference": "item.input"}


def test_the_folder_makes_what_its_files_make(tmp_path: Path) -> None:
    path = registry(tmp_path, entry(MATCH))
    one = files_of(Made(tmp_path, path).archive)
    assert files_of(Made(tmp_path, tmp_path / "registry").archive) == one
    assert any(name.startswith("files/") for name in one)


HUMOR = """
funny:
  prompt: "Is this funny? {completion} It should be like {ideal}."
  choice_strings: ["Yes", "No"]
  choice_scores: {"Yes": 1.0, "No": 0.0}
  input_outputs: {input: completion}
scale:
  prompt: "How funny is {completion}?"
  choice_strings: "12345"
  choice_scores: from_strings
  input_outputs: {input: completion}
bare:
  prompt: "Compare {completion}"
  choice_strings: AB
  input_outputs: {input: completion}
"""


def test_a_judge_with_choices_worth_0_or_1_is_a_label_model_draft(tmp_path: Path) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(CLASSIFY, "modelgraded_spec: funny"), judges=HUMOR))
    grader = grader_of(new)
    assert (grader["type"], grader["labels"], grader["passing_labels"]) == ("label_model", ["Yes", "No"], ["Yes"])
    assert grader["input"][0]["content"] == "Is this funny? {{sample.output_text}} It should be like {{item.ideal}}."
    assert (grader["runnable"], grader["reason"][:6]) == (False, "draft:")
    assert fairmark.validate(grader).errors == []
    assert new.notes("draft") == ["mine.dev.v0: ModelBasedClassify → label_model draft"]


@pytest.mark.parametrize(("spec", "span"), [("scale", [1.0, 5.0]), ("bare", [0, 1])])
def test_another_judge_is_a_score_model_draft(tmp_path: Path, spec: str, span: list[float]) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(CLASSIFY, f"modelgraded_spec: {spec}"), judges=HUMOR))
    grader = grader_of(new)
    assert (grader["type"], grader["range"], grader["runnable"]) == ("score_model", span, False)
    assert fairmark.validate(grader).errors == []


@pytest.mark.parametrize(
    ("spec", "kind", "why"),
    [
        (entry("evals.elsuite.json:JsonMatch"), "refused", "class JsonMatch has no twin"),
        (entry(CLASSIFY, "modelgraded_spec: nobody"), "refused", 'there is no "nobody" beside it'),
        (entry(CLASSIFY, "modelgraded_spec: funny\nmulticomp_n: 4"), "refused", "multicomp_n"),
        (entry(CLASSIFY, "modelgraded_spec: funny\nmetaeval: true"), "refused", "metaeval"),
        (entry(MATCH, samples="mine/missing.jsonl"), "problem", 'there is no "mine/missing.jsonl"'),
        (entry(MATCH, samples="../../../secret.jsonl"), "problem", "leads out of"),
        (entry(MATCH, samples="/etc/hostname"), "problem", "leads out of"),
        ("mine.dev.v0:\n  class: evals.x:Match\n  args: {}\n", "refused", "it has no samples_jsonl"),
    ],
)
def test_what_cannot_be_converted_is_told_with_its_name(tmp_path: Path, spec: str, kind: str, why: str) -> None:
    (tmp_path / "secret.jsonl").write_text(lines(*ROWS))
    good = entry(INCLUDES).replace("mine.dev.v0", "good.dev.v0").replace("mine:", "good:")
    new = Made(tmp_path, registry(tmp_path, good + spec.replace("mine:\n", "other:\n"), judges=HUMOR))
    (note,) = new.notes(kind)
    assert note.startswith("mine.dev.v0: ")
    assert why in note
    assert [each["name"] for each in new.evals] == ["good.dev.v0"]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "it is a pointer of Git LFS"),
        (lines(ROWS[0]) + '{"input": "q", "ide', "samples.jsonl, line 2: not JSON"),
        (
            lines(ROWS[0], {"input": "q"}),
            "samples.jsonl, line 2: ideal: found none. It takes a text or a list of texts.",
        ),
        (lines(ROWS[0], {"input": "q", "ideal": [1]}), "samples.jsonl, line 2: ideal: found a list of 1"),
        (lines(5), "samples.jsonl, line 1: found a number (5). It takes an object."),
        ("", "there are no rows in it"),
    ],
)
def test_samples_that_cannot_be_read_are_told_with_their_line(tmp_path: Path, rows: str, why: str) -> None:
    with pytest.raises(InvalidData) as caught:
        Made(tmp_path, registry(tmp_path, entry(MATCH), rows))
    assert "none of its entries can be converted; the first: mine.dev.v0: " in str(caught.value)
    assert why in str(caught.value)


def test_examples_before_the_question_are_told(tmp_path: Path) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(MATCH, "num_few_shot: 3\nfew_shot_jsonl: x.jsonl")))
    assert new.notes("differs") == ["mine.dev.v0: num_few_shot 3: the examples before the question are not taken over."]


def test_a_key_that_is_there_twice_counts_as_it_does_there(tmp_path: Path) -> None:
    new = Made(tmp_path, registry(tmp_path, entry(INCLUDES, "ignore_case: false\nignore_case: true")))
    assert grader_of(new)["operation"] == "ilike"


def test_other_samples_make_another_eval(tmp_path: Path) -> None:
    one = Made(tmp_path, registry(tmp_path, entry(MATCH))).evals[0]["id"]
    other = Made(tmp_path, registry(tmp_path, entry(MATCH), json.dumps(ROWS[0]))).evals[0]["id"]
    assert one != other
