"""Differences between versions, and colours."""

from fairmark.web.frame import highlight
from fairmark.web.graders.versions import Line, compare


def test_equal_versions_have_no_parts() -> None:
    assert compare({"a": 1, "source": "x\ny"}, {"a": 1, "source": "x\ny"}) == []


def test_a_changed_value_is_a_removed_line_and_an_added_one_with_their_numbers() -> None:
    (part,) = compare({"type": "t", "operation": "eq"}, {"type": "t", "operation": "ne"})
    assert part.title == "JSON"
    assert part.lines == [
        Line("same", 1, 1, "{"),
        Line("same", 2, 2, '  "type": "t",'),
        Line("removed", 3, None, '  "operation": "eq"'),
        Line("added", None, 3, '  "operation": "ne"'),
        Line("same", 4, 4, "}"),
    ]
    assert (part.added, part.removed) == (1, 1)


def test_a_text_of_several_lines_is_compared_as_text_and_not_in_the_json() -> None:
    old = {"type": "python", "source": "def grade(sample, item):\n    return 0.0\n"}
    new = {"type": "python", "source": "def grade(sample, item):\n    return 1.0\n"}
    (part,) = compare(old, new)
    assert part.title == "source"
    assert [line for line in part.lines if line.sign != "same"] == [
        Line("removed", 2, None, "    return 0.0"),
        Line("added", None, 2, "    return 1.0"),
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


def test_source_is_escaped_and_coloured() -> None:
    shown = str(highlight.python('async def grade(thread):  # <b>\n    return 1.5 if "<script>" else None\n'))
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert '<span class="h-keyword">async</span>' in shown
    assert '<span class="j-name">grade</span>' in shown
    assert '<span class="j-text">&#34;&lt;script&gt;&#34;</span>' in shown
    assert '<span class="j-number">1.5</span>' in shown
    assert '<span class="h-comment"># &lt;b&gt;</span>' in shown


def test_what_is_no_python_is_shown_as_it_is() -> None:
    assert str(highlight.python("def (<\x00'''")) == "def (&lt;\x00&#39;&#39;&#39;"


def test_variables_of_a_prompt_are_marked_and_everything_is_escaped() -> None:
    assert str(highlight.template("<i>{{ item.a }} {{{b}}} {c}")) == (
        '&lt;i&gt;<span class="h-variable">{{ item.a }}</span> <span class="h-variable">{{{b}}}</span> {c}'
    )
