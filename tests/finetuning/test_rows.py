"""The rows of files: what is an item, what an answer, and how what is wrong is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.finetuning.aside import WorkStopped
from fairmark.finetuning.paths import unknown_sample_paths, variables
from fairmark.finetuning.rows import LONGEST_ROW, Checked, Problems, TrainingRow, check_file, read_rows
from fairmark.parse import parse

USER = {"role": "user", "content": "?"}
SAID = {"role": "assistant", "content": "Paris"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def check(path: Path, *templates: str, answers: Path | None = None) -> Checked:
    exact = {"type": "string_check", "name": "x", "operation": "eq", "input": "".join(templates), "reference": "x"}
    return check_file(path, answers, variables(parse(exact)), lambda: False)


def test_an_answer_at_the_end_is_no_part_of_the_item(tmp_path: Path) -> None:
    path = written(
        tmp_path / "rows",
        {"messages": [USER, SAID], "answer": 1},
        {"messages": [USER, SAID, USER], "sample": "s", "item": {}},
        {"messages": [USER, CALL]},
    )
    assert list(read_rows(path)) == [
        TrainingRow(1, {"messages": [USER], "answer": 1}, SAID),
        TrainingRow(2, {"messages": [USER, SAID, USER], "sample": "s", "item": {}}, None),
        TrainingRow(3, {"messages": [USER]}, CALL),
    ]
    checked = check(path)
    assert (checked.rows, checked.answers, bool(checked.problems)) == (3, 2, False)


def test_answers_of_their_own_count_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "rows", {"messages": [USER, SAID]}, {"messages": [USER]}, {"messages": [USER]})
    answers = written(tmp_path / "answers", None, {"sample": "Rome"}, {"output_text": "Lima"})
    rows = [row.answer for row in read_rows(path, answers) if isinstance(row, TrainingRow)]
    assert rows == [None, "Rome", {"output_text": "Lima"}]


@pytest.mark.parametrize(
    ("answers", "line", "message"),
    [
        (["a"], 2, "fewer lines"),
        (["a", "b", "c"], 2, "more lines"),
        (["a", 5], 2, "its answer: sample: expected a string or an object"),
        (["a", {"answer": "b"}], 2, "its answer: sample: expected"),
    ],
)
def test_answers_that_do_not_fit_are_told(tmp_path: Path, answers: list[Any], line: int, message: str) -> None:
    path = written(tmp_path / "rows", {"messages": [USER]}, {"messages": [USER]})
    wrong = [
        row for row in read_rows(path, written(tmp_path / "answers", *answers)) if not isinstance(row, TrainingRow)
    ]
    assert [(number, message in text) for number, text in wrong] == [(line, True)]


def test_lines_are_counted_as_editors_count_them(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    row = json.dumps({"messages": [USER]}).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\n  \n" + b"x" * (LONGEST_ROW + 5) + b"\n" + row)
    (first, wrong, last) = read_rows(path)
    assert isinstance(first, TrainingRow)
    assert isinstance(last, TrainingRow)
    assert (first.line, last.line) == (1, 5)
    assert wrong == (4, "longer than 8 MB.")


def test_paths_are_looked_up_in_every_row(tmp_path: Path) -> None:
    path = written(
        tmp_path / "rows",
        {"messages": [USER], "a": {"b": [1]}},
        {"messages": [USER], "a": '{"b": [2]}'},
        {"messages": [USER], "a": {"b": []}},
    )
    checked = check(
        path, "{{ item.a.b[0] }}{{ item.c }}{{ item.c }}{{ sample.output_json.x }}{{ item.messages[0].content }}"
    )
    assert checked.never_filled == ["{{ item.c }}"]
    assert len(checked.unfilled.told()) == 2
    assert any(text.startswith("3 rows, lines 1, 2, 3: {{ item.c }}") for text in checked.unfilled.told())
    assert any(text.startswith("line 3: {{ item.a.b[0] }}") for text in checked.unfilled.told())


def test_paths_into_samples_are_known_beforehand() -> None:
    judge = {
        "type": "score_model",
        "name": "judge",
        "model": "m",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "{{ sample.answer }}{{ item.x }}"}]}],
    }
    multi = parse({"type": "multi", "graders": {"j": judge}, "calculate_output": "j"})
    (problem,) = unknown_sample_paths(multi)
    assert (problem.path, problem.message.startswith("{{ sample.answer }}")) == ("$.graders.j.input", True)
    assert [str(variable) for variable in variables(multi)] == ["{{ sample.answer }}", "{{ item.x }}"]


def test_problems_are_grouped_and_bounded() -> None:
    problems = Problems()
    for line in range(1, 1001):
        problems.add(line, "the same")
    for line in range(100):
        problems.add(line, f"another {line}")
    told = problems.told()
    assert told[0] == "1,000 rows, lines 1, 2, 3, 4, 5 and 995 more: the same"
    assert told[-1] == "81 more problems are not told apart."
    assert len(told) == 21


def test_whoever_does_not_wait_any_more_stops_it(tmp_path: Path) -> None:
    with pytest.raises(WorkStopped):
        check_file(written(tmp_path / "rows", {"messages": [USER]}), None, [], lambda: True)
