"""Warnings of many rows: each once, with its count."""

from fairmark.data.warnings import MOST, Counted
from fairmark.row import NO_SAMPLE


def test_each_warning_is_told_once_with_its_count() -> None:
    counted = Counted()
    for number in range(1500):
        counted.add(["first"] if number else ["first", "second"])
    assert counted.told(2000) == ["1,500 of 2,000 rows: first", "1 of 2,000 rows: second"]


def test_warnings_that_are_all_different_do_not_fill_the_memory() -> None:
    counted = Counted()
    for number in range(MOST + 7):
        counted.add([f"the number {number} is too large"])
    counted.add(["the number 0 is too large"])
    assert len(counted.counts) == MOST
    assert counted.told(100)[0] == "2 of 100 rows: the number 0 is too large"
    assert counted.told(100)[-1] == "7 more warnings are not shown."


def test_counts_can_be_stored_and_added_up() -> None:
    counted = Counted.of({"a": 2, "b": 1})
    counted.merge({"b": 5, "c": 1})
    assert counted.counts == {"a": 2, "b": 6, "c": 1}


def test_in_brief_the_most_frequent_come_first_and_the_others_are_counted() -> None:
    counted = Counted.of({"a": 2, "b": 6, "c": 1, "d": 3, "": 4})
    assert counted.brief() == ["6 × b", "3 × d", "2 × a", "5 more warnings."]
    assert Counted.of({"a": 2}).brief() == ["2 × a"]


def test_rows_without_a_sample_are_known_whatever_else_is_said_of_them() -> None:
    counted = Counted()
    counted.add([NO_SAMPLE])
    counted.add([f'{NO_SAMPLE}. It has "response".', "something else"])
    assert counted.without_sample == 2
