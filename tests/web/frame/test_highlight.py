"""Source and prompts with colours: escaped whatever they hold, and shown as they are where they are none."""

import pytest

from fairmark.web.frame import highlight


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


@pytest.mark.parametrize(
    ("language", "source", "marked"),
    [
        (
            "js",
            "let a = 'x' // b",
            '<span class="h-keyword">let</span> a = <span class="j-text">&#39;x&#39;</span> '
            '<span class="h-comment">// b</span>',
        ),
        (
            "sql",
            "SELECT 1 -- x",
            '<span class="h-keyword">SELECT</span> <span class="j-number">1</span> <span class="h-comment">-- x</span>',
        ),
        ("bash", "if # <b>", '<span class="h-keyword">if</span> <span class="h-comment"># &lt;b&gt;</span>'),
        ("nobody knows", "let <b>", "let &lt;b&gt;"),
        ("py", "x = 1", 'x = <span class="j-number">1</span>'),
    ],
)
def test_source_of_known_languages_has_colours(language: str, source: str, marked: str) -> None:
    assert str(highlight.code(source, language)) == marked


def test_lines_are_whole_in_themselves() -> None:
    lines = highlight.python_lines('x = """a\nb"""')
    assert [str(line) for line in lines] == [
        'x = <span class="j-text">&#34;&#34;&#34;a</span>',
        '<span class="j-text">b&#34;&#34;&#34;</span>',
    ]


def test_comments_that_never_end_are_looked_for_once() -> None:
    source = "/* " * 50_000  # would take minutes if each were
    assert str(highlight.code(source, "js")) == f'<span class="h-comment">{source}</span>'
