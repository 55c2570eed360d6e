"""What the functions of another package's kind return is looked at before it is believed."""

from pathlib import Path

import pytest

from tests.graders.packages import KIND, answer, package


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 0.5", "the kind mine returned a number (0.5). It should be a Grade."),
        ("pass", "the kind mine returned null. It should be a Grade."),
        (
            "return Grade(float('nan'))",
            "the kind mine returned a reward that is a number (nan). It should be a finite number.",
        ),
        (
            "return Grade('1')",
            'the kind mine returned a reward that is a string ("1"). It should be a finite number.',
        ),
        ("raise GradingFailed('no.')", "no."),
    ],
)
@pytest.mark.parametrize("kind", ["Kind(Spec, pure=grade)", "Kind(Spec, batch=many)"])
def test_what_is_no_grade_is_an_error_of_its_row(tmp_path: Path, body: str, error: str, kind: str) -> None:
    source = f"""{KIND}
def grade(spec, row, ctx):
    if row.sample.text == "good":
        return Grade(True)
    {body}
async def many(spec, rows, ctx):
    def one(row):
        try:
            return grade(spec, row, ctx)
        except GradingFailed as failure:
            return Grade.failed(failure)
    return [one(row) for row in rows]
KIND = {kind}
"""
    code = """
results = fairmark.grade_many({"type": "mine"}, [{"item": {}, "sample": text} for text in ("good", "bad", "good")])
answer = [[result.reward, result.status, result.error] for result in results]
"""
    good = [1.0, "graded", None]
    assert answer(code, path=package(tmp_path, "odd", source)) == [good, [0.0, "error", error], good]


def test_a_batch_of_a_wrong_length_fails_its_rows_and_no_more(tmp_path: Path) -> None:
    source = f"{KIND}\nasync def many(spec, rows, ctx): return [Grade(1.0)]\nKIND = Kind(Spec, batch=many)"
    code = """
results = fairmark.grade_many({"type": "mine"}, [{"item": {}, "sample": ""}] * 3)  # chunks of one and two
answer = [[result.status, result.error] for result in results]
"""
    short = ["error", "the kind mine returned a list of 1. It should be a list of 2 grades."]
    assert answer(code, path=package(tmp_path, "odd", source)) == [["graded", None], short, short]


def test_all_that_a_grade_says_comes_back_from_worker_processes(tmp_path: Path) -> None:
    source = f"""{KIND}
def grade(spec, row, ctx):
    if row.sample.text == "skip":
        raise NotGraded("nothing to grade.")
    row.warn("looked at")
    return Grade(0.5, {{"part": 0.5}}, printed="seen", spread={{"low": 0.25}})
KIND = Kind(Spec, pure=grade)
"""
    code = """
from fairmark.work import pool
pool.WORTH_STARTING_S = pool.WORTH_SENDING_S = 0.0
rows = [{"item": {}, "sample": text} for text in ("go", "skip")] * 1000
both = [fairmark.grade_many({"type": "mine"}, rows, workers=workers) for workers in (1, 2)]
alone, shared = [[{**r.model_dump(), "metadata": None} for r in results] for results in both]
answer = [alone == shared, shared[-2]["printed"], shared[-2]["spread"], shared[-2]["warnings"], shared[-1]["skipped"]]
"""
    found = answer(code, path=package(tmp_path, "wordy", source))
    assert found == [True, "seen", {"low": 0.25}, ["looked at"], "nothing to grade."]
