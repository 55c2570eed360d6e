"""What is told of a kept run; what commands print of it is in tests/cli/runs/test_listing.py."""

from fairmark.kept.summary import counted, rate, row_number


def test_reasons_come_most_frequent_first_and_no_more_than_ten() -> None:
    assert counted({"a": 1, "": 3, "b": 2_000}) == ["2,000 × b", "3 × other reasons", "1 × a"]
    assert len(counted({str(n): n for n in range(30)})) == 10


def test_rows_are_counted_from_one_and_what_has_no_number_is_zero() -> None:
    assert [row_number({"datasource_item_id": 0}), row_number({})] == [1, 0]


def test_a_rate_of_nothing_is_a_dash() -> None:
    assert [rate(None), rate(0.5)] == ["-", "50.0%"]
