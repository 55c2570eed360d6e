"""The summary in a terminal: the reasons of errors, and the heading where there are many."""

import io

from rich.console import Console

from fairmark.data import report
from fairmark.data.results import StoredResult
from fairmark.data.tally import Tally
from fairmark.parse import parse

GRADER = {"type": "string_check", "input": "x", "reference": "x", "operation": "eq"}


def shown(*results: StoredResult) -> str:
    tally = Tally.of(["g"])
    for result in results:
        tally.add({"g": result})
    printed = io.StringIO()
    report.show(tally, Console(file=printed, width=120))
    return printed.getvalue()


def broken(reason: str) -> StoredResult:
    return StoredResult(0.0, False, reason)


def test_reasons_are_told_once_with_counts_the_most_frequent_first() -> None:
    text = shown(broken("HTTP 503 after 4 attempts"), broken("a\nKeyError: 'b'"), broken("HTTP 503 after 9 attempts"))
    assert "g: 3 of 3 rows could not be graded:\n  2 × HTTP 503 after # attempts\n  1 × KeyError: 'b'\n" in text


def test_of_many_reasons_some_are_told() -> None:
    text = shown(*(broken(f"no {letter}") for letter in "abcdefghijklm"))
    assert text.count(" × no ") == report.MOST_SHOWN
    assert "  … and 3 more reasons\n" in text


def test_a_panel_that_split_is_told_with_who_differed_how_often() -> None:
    def judged(*dissent: str) -> StoredResult:
        return StoredResult(1.0, True, spread={"split": bool(dissent), "dissent": list(dissent)})

    text = shown(judged(), judged("b"), judged("c", "b"), StoredResult(1.0, True))
    assert "\ng: its judges split on 2 of 3 rows. Differed: b on 2, c on 1.\n" in text
    assert "split" not in shown(judged(), judged())
    tally = Tally.of(["g"])
    tally.add({"g": judged("b")})
    told = report.summary(tally, {"g": parse(GRADER)}, 1.0)["graders"]["g"]
    assert (told["split"], told["dissent"]) == (1, {"b": 1})


def test_many_errors_come_first() -> None:
    right = [StoredResult(1.0, True)] * 94
    heading = "6 of 100 rows could not be graded (6.0%). What follows is of the others alone.\n"
    assert shown(*right, *[broken("no")] * 6).startswith(heading)
    assert not shown(*right, StoredResult(1.0, True), *[broken("no")] * 5).startswith("5 of 100")
