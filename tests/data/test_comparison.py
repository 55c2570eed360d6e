"""Up to six runs side by side: by which criteria they are compared, and what makes them less comparable."""

import pytest

from fairmark.data.comparison import MOST_FLIPPED, Side, compare_sides
from fairmark.data.pairing import Column
from fairmark.errors import InvalidData
from fairmark.outcomes import ERROR, FAIL, PASS


def side(name: str, graders: dict[str, str], hashes: dict[str, str] | None = None, data: str = "same") -> Side:
    """By grader a letter a row: p passed, f failed, e could not be graded."""
    made = Side(name, graders=hashes or {}, data=data)
    for label, rows in graders.items():
        made.columns[label] = column = Column()
        for number, letter in enumerate(rows):
            column.add(number, number, {"p": PASS, "f": FAIL, "e": ERROR}[letter], float(letter == "p"))
    return made


def test_every_run_is_compared_with_the_first_by_what_both_have() -> None:
    found = compare_sides(
        [
            side("A", {"exact": "pppppppppp", "near": "pppp", "own": "p"}),
            side("B", {"exact": "ffffffffpp", "near": "pppp"}),
            side("C", {"near": "ppfe", "other": "p"}),
        ]
    )
    assert [criterion.name for criterion in found.criteria] == ["exact", "near"]
    exact, near = found.criteria
    assert exact.values == [1.0, 0.2, None]
    assert [each and each.verdict for each in exact.compared] == ["worse", None]
    assert [each and each.verdict for each in near.compared] == ["same", "unsure"]
    assert near.outcomes[2] is not None
    assert near.outcomes[2].errors == 1
    assert [(name, criterion.name) for name, criterion, _ in found.worse] == [("B", "exact")]
    assert "C has no criterion exact." in found.notes
    assert "near: rows without a partner: 1 of A." in found.notes


def test_flipped_rows_are_told_by_their_numbers_from_1() -> None:
    found = compare_sides([side("A", {"exact": "ppff"}), side("B", {"exact": "pfpf"})])
    assert found.criteria[0].flips == [([(3, 3)], [(2, 2)])]


def test_more_flipped_rows_than_anybody_reads_are_counted_and_not_held() -> None:
    found = compare_sides([side("A", {"exact": "p" * 3000}), side("B", {"exact": "f" * 3000})])
    (flips,) = found.criteria[0].flips
    assert flips is not None
    assert len(flips.lost) == MOST_FLIPPED
    assert found.criteria[0].compared[0] is not None
    assert found.criteria[0].compared[0].lost == 3000


def test_what_is_looked_at_together_is_corrected_together() -> None:
    # Six of six that flipped are p = 0.03 alone, and not when four criteria are looked at.
    labels = ["a", "b", "c", "d"]
    alone = compare_sides([side("A", {"a": "p" * 6}), side("B", {"a": "f" * 6})])
    assert len(alone.worse) == 1
    four = compare_sides(
        [side("A", dict.fromkeys(labels, "p" * 6)), side("B", {**dict.fromkeys(labels, "p" * 6), "a": "f" * 6})]
    )
    assert four.worse == []


def test_a_criterion_without_a_threshold_is_compared_by_its_mean() -> None:
    sides = [side("A", {"exact": "p" * 10 + "e"}), side("B", {"exact": "f" * 9 + "pe"})]
    sides[0].without_threshold.add("exact")
    (criterion,) = compare_sides(sides).criteria
    assert criterion.measure == "mean reward"
    assert criterion.values == [1.0, 0.1]


def test_other_graders_and_other_data_are_told() -> None:
    one = side("A", {"exact": "ppp"}, {"exact": "1"}, data="x")
    other = side("B", {"exact": "pppp"}, {"exact": "2"}, data="y")
    assert compare_sides([one, other]).notes == [
        "The graders of A and B are not the same: exact.",
        "exact: rows without a partner: 1 of B.",
        "The data of A and B are not the same file: only rows of equal items are compared.",
    ]
    one.graders, one.mark, other.mark = {}, "a", "b"
    assert "The graders of A and B are not all the same, or more than these." in compare_sides([one, other]).notes


def test_what_a_run_has_to_be_warned_of_is_told() -> None:
    one, other = side("A", {"exact": "pp"}), side("B", {"exact": "ff"})
    other.warned.merge({"no sample": 2})
    assert compare_sides([one, other]).notes == ["B: 2 × no sample"]


def test_files_whose_answers_alone_differ_are_the_same_data() -> None:
    assert compare_sides([side("A", {"exact": "pp"}, data="x"), side("B", {"exact": "pf"}, data="y")]).notes == []


def test_runs_that_share_nothing_are_refused_with_what_each_has() -> None:
    with pytest.raises(InvalidData, match=r"no criterion of the same name.*A has exact; B has near"):
        compare_sides([side("A", {"exact": "p"}), side("B", {"near": "p"})])


@pytest.mark.parametrize("count", [1, 7])
def test_from_two_to_six_runs_are_compared(count: int) -> None:
    with pytest.raises(InvalidData, match=f"found {count} runs. From 2 to 6"):
        compare_sides([side("A", {"exact": "p"})] * count)
