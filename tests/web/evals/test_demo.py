"""The demo: what it creates is valid, grades without a model, and is right, nearly right and wrong."""

import fairmark
from fairmark.graders import paid
from fairmark.parse import parse
from fairmark.web.evals import demo


def test_its_graders_ask_no_model() -> None:
    eval_, _ = demo.read()
    specs = [parse(criterion) for criterion in eval_["testing_criteria"]]
    assert len(specs) > 1
    assert not any(paid(spec) for spec in specs)


def test_its_rows_are_graded_and_neither_all_pass_nor_all_fail() -> None:
    eval_, (run, _) = demo.read()
    rows = run["data_source"]["source"]["content"]
    for criterion in eval_["testing_criteria"]:
        results = fairmark.grade_many(criterion, rows)
        assert {result.error for result in results} == {None}
        assert len({result.reward for result in results}) > 1


def test_the_second_run_has_the_same_items_and_is_better_here_and_worse_there() -> None:
    eval_, (first, second) = demo.read()
    rows = [run["data_source"]["source"]["content"] for run in (first, second)]
    assert [row["item"] for row in rows[0]] == [row["item"] for row in rows[1]]
    exact = [[result.reward for result in fairmark.grade_many(eval_["testing_criteria"][0], each)] for each in rows]
    changes = [after - before for before, after in zip(*exact, strict=True)]
    assert changes.count(1) == 8
    assert changes.count(-1) == 1
    assert {1.0, -1.0} <= set(changes[:8])  # also in the rows that `make demo` takes
