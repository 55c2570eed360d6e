"""Differences between versions, and colours."""

from fairmark.web.graders.versions import DiffLine, compare


def test_equal_versions_have_no_parts() -> None:
    assert compare({"a": 1, "source": "x\ny"}, {"a": 1, "source": "x\ny"}) == []


def test_a_changed_value_is_a_removed_line_and_an_added_one_with_their_numbers() -> None:
    (part,) = compare({"type": "t", "operation": "eq"}, {"type": "t", "operation": "ne"})
    assert part.title == "JSON"
    assert part.lines == [
        DiffLine("same", 1, 1, "{"),
        DiffLine("same", 2, 2, '  "type": "t",'),
        DiffLine("removed", 3, None, '  "operation": "eq"'),
        DiffLine("added", None, 3, '  "operation": "ne"'),
        DiffLine("same", 4, 4, "}"),
    ]
    assert (part.added, part.removed) == (1, 1)


def test_a_text_of_several_lines_is_compared_as_text_and_not_in_the_json() -> None:
    old = {"type": "python", "source": "def grade(sample, item):\n    return 0.0\n"}
    new = {"type": "python", "source": "def grade(sample, item):\n    return 1.0\n"}
    (part,) = compare(old, new)
    assert part.title == "source"
    assert [line for line in part.lines if line.sign != "same"] == [
        DiffLine("removed", 2, None, "    return 0.0"),
        DiffLine("added", None, 2, "    return 1.0"),
    ]


def test_a_text_that_got_longer_is_told_in_the_json_and_compared_below() -> None:
    parts = compare({"input": [{"content": "one"}]}, {"input": [{"content": "one\ntwo"}]})
    assert [part.title for part in parts] == ["JSON", "input[0].content"]
    assert [line.text.strip() for line in parts[0].lines if line.sign == "added"] == [
        '"content": "… 2 lines, compared below"'
    ]
    assert [line.text for line in parts[1].lines if line.sign == "added"] == ["two"]


def test_far_unchanged_lines_are_left_out_and_counted() -> None:
    old = {"labels": [str(number) for number in range(40)]}
    new = {"labels": [*old["labels"][:20], "new", *old["labels"][20:]]}
    (part,) = compare(old, new)
    assert [line.text for line in part.lines if line.sign == "gap"] == ["19 unchanged lines", "19 unchanged lines"]
    assert (part.added, part.removed) == (1, 0)
