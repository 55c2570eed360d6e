"""Groups by a field, the worst first, and which fields tell groups apart."""

from itertools import pairwise

from fairmark.store.views.breakdown import differences, groups
from tests.store.fielded import columns_of


def test_groups_stand_with_the_worst_first_and_tell_rates_and_means() -> None:
    columns = columns_of(
        [("pass", {"l": "de"})] * 3
        + [("fail", {"l": "de"})]
        + [("fail", {"l": "fr"})] * 2
        + [("error", {}), ("pass", {})]
    )
    told = [(group.label, group.passed, group.failed, group.errored, group.mean) for group in groups(columns, "l", 0)]
    assert told == [("fr", 0, 2, 0, 0.0), ("de", 3, 1, 0, 0.75), ("missing", 1, 0, 1, 1.0)]


def test_rewards_of_groups_are_spread_over_the_same_bars() -> None:
    columns = columns_of(
        [("pass", {"l": "de"})] * 3 + [("fail", {"l": "de"}), ("fail", {"l": "fr"}), ("error", {"l": "it"})]
    )
    spread = {group.label: group.spread for group in groups(columns, "l", 0)}
    assert spread == {"de": (1, *[0] * 10, 3), "fr": (1, *[0] * 11), "it": ()}  # what was not graded lies nowhere
    assert {group.spread for group in groups(columns, "l")} == {()}
    same = columns_of([("pass", {"l": "de"})] * 4)
    assert groups(same, "l", 0)[0].spread == (4, *[0] * 11)


def test_fields_stand_first_that_tell_most() -> None:
    rows = [
        (
            "pass" if n % 2 else "fail",
            {"noise": n // 2 % 3, "tells": "odd" if n % 2 else "even", "same": 1, "id": f"i{n}"},
        )
        for n in range(300)
    ]
    first, second = differences(columns_of(rows))
    assert (first.field, first.low, first.high, first.groups) == ("tells", 0.0, 1.0, 2)
    assert first.effect > 0.99
    assert (second.field, second.effect) == ("noise", 0.0)


def test_many_numbers_are_cut_into_ranges_of_about_as_many_rows() -> None:
    columns = columns_of([("pass" if n > 50 else "fail", {"n": n}) for n in range(100)])
    cut = sorted(groups(columns, "n"), key=lambda group: group.low or 0)
    assert [(group.label, group.rows) for group in cut] == [
        ("0 to 19", 20),
        ("20 to 39", 20),
        ("40 to 59", 20),
        ("60 to 79", 20),
        ("80 to 99", 20),
    ]


def test_of_very_many_values_the_largest_are_told_and_the_others_together() -> None:
    columns = columns_of([("pass", {"v": f"v{n % 60}"}) for n in range(600)] + [("fail", {"v": "v0"})] * 50)
    told = groups(columns, "v")
    assert len(told) == 51
    assert (told[0].label, told[0].rows) == ("v0", 60)
    assert sum(group.rows for group in told) == 650
    assert [group.value for group in told if group.label == "10 others"] == [None]


def test_prose_and_ids_make_no_groups() -> None:
    columns = columns_of([("pass", {"id": f"row {n}", "text": "word " * 50}) for n in range(300)])
    assert groups(columns, "id") == groups(columns, "text") == groups(columns, "nothing") == []
    assert differences(columns) == []


def test_equal_numbers_are_never_parted_and_a_text_that_is_one_is_among_them() -> None:
    values = [*[7] * 60, *range(20), *(f"{n}.5" for n in range(20))]
    cut = sorted(
        groups(columns_of([("pass", {"n": value}) for value in values]), "n"), key=lambda group: group.low or 0
    )
    assert sum(group.rows for group in cut) == 100
    (sevens,) = [
        group for group in cut if group.low is not None and group.high is not None and group.low <= 7 <= group.high
    ]
    assert sevens.rows >= 61
    assert all(
        before.high is not None and after.low is not None and before.high < after.low for before, after in pairwise(cut)
    )


def test_a_number_that_is_none_makes_no_range() -> None:
    rows = [("pass", {"n": value}) for value in ["nan", *map(str, range(40))] * 5]
    told = groups(columns_of(rows), "n")
    assert sorted(group.label for group in told) == sorted(["nan", *map(str, range(40))])


def test_a_criterion_that_nobody_has_groups_nothing() -> None:
    columns = columns_of([("pass", {"l": "de"}), ("fail", {"l": "fr"})])
    assert groups(columns, "l", 5) == []
    assert differences(columns, 5) == []


def test_one_criterion_and_the_whole_row_are_told_apart() -> None:
    columns = columns_of([("pass", {"l": "de"})] * 2 + [("fail", {"l": "fr"})] * 2)
    columns.outcomes[0] = bytearray([1, 1, 0, 3])
    assert [(group.label, group.passed, group.failed, group.skipped) for group in groups(columns, "l")] == [
        ("fr", 0, 2, 0),
        ("de", 2, 0, 0),
    ]
    assert [(group.label, group.passed, group.failed, group.skipped) for group in groups(columns, "l", 0)] == [
        ("de", 0, 2, 0),
        ("fr", 1, 0, 1),
    ]


def test_extremes_are_told_of_groups_with_some_rows() -> None:
    columns = columns_of(
        [("pass", {"l": "one"})] + [("fail", {"l": "de"})] * 5 + [("pass", {"l": "fr"})] * 4 + [("fail", {"l": "fr"})]
    )
    (told,) = differences(columns)
    assert (told.low, told.high, told.groups) == (0.0, 0.8, 3)
