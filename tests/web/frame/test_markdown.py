"""Markdown as HTML: what it looks like, and what it never becomes."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark.web.frame.markdown import MOST_CHARACTERS, render
from tests.web.browser import HOSTILE

ALLOWED = {
    *("p", "br", "em", "strong", "s", "code", "pre", "a", "ul", "ol", "li", "blockquote", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td", "div", "span"),
}
ATTRIBUTES = {"href", "title", "rel", "target", "class", "tabindex", "role", "aria-label", "start", "dir"}


class Tags(HTMLParser):
    """Every tag, with its attributes, as a browser sees them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def html(text: str) -> str:
    found = render(text)
    assert found is not None
    return str(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** and *soft*", "<p><strong>bold</strong> and <em>soft</em></p>\n"),
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>\n'),
        ("# Title", '<p class="md__heading md__heading--1">Title</p>\n'),  # the page has headings of its own
        ("###### Deep", '<p class="md__heading md__heading--3">Deep</p>\n'),
        ("> said", "<blockquote>\n<p>said</p>\n</blockquote>\n"),
        ("~~gone~~", "<p><s>gone</s></p>\n"),
        ("`a < b`", "<p><code>a &lt; b</code></p>\n"),
        (
            "```python\nx = 1 < 2\n```",
            '<pre class="code" dir="ltr" tabindex="0" role="region" aria-label="Code">x = '
            '<span class="j-number">1</span> &lt; <span class="j-number">2</span>\n</pre>\n',
        ),
        ("so $a_1 < b$ is", '<p>so <span class="math">a_1 &lt; b</span> is</p>\n'),
        ("$$\nx^2\n$$", '<p><span class="math math--display">x^2</span></p>\n'),
        (r"\(a\) and \[b\]", '<p><span class="math">a</span> and <span class="math math--display">b</span></p>\n'),
        ("$5 and $10", "<p>$5 and $10</p>\n"),  # money
        ("a $ b $ c", "<p>a $ b $ c</p>\n"),
        ("$<script>x</script>$", '<p><span class="math">&lt;script&gt;x&lt;/script&gt;</span></p>\n'),
        (r"\( never closed", "<p>( never closed</p>\n"),
    ],
)
def test_markdown_reads_as_it_is_meant(text: str, expected: str) -> None:
    assert html(text) == expected


def test_a_table_scrolls_in_a_box_of_its_own() -> None:
    found = html("| a | b |\n|---|---|\n| 1 | 2 |")
    assert found.startswith('<div class="md__table" role="region" aria-label="Table" tabindex="0"><table>')
    assert "<td>2</td>" in found


def test_columns_are_aligned_without_a_style_attribute() -> None:
    found = html("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert '<td class="md__right">1</td>' in found
    assert '<th class="md__center">b</th>' in found
    check_safe(found)


@pytest.mark.parametrize("url", ["https://example.org/a?b=1&c=2", "HTTP://example.org", "mailto:someone@example.org"])
def test_a_link_leads_there_and_tells_nothing_about_us(url: str) -> None:
    (tag, attributes) = Tags(html(f"[here]({url})")).found[1]
    assert tag == "a"
    assert attributes["href"] == url
    assert attributes["rel"] == "noopener noreferrer nofollow"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//example.org",
        "/sign-out",
        "evals",
    ],
)
@pytest.mark.parametrize("form", ["[a]({})", "[a](<{}>)", "![a]({})", "<{}>", "[a][b]\n\n[b]: {}"])
def test_a_link_of_another_kind_stays_text(form: str, url: str) -> None:
    assert not [tag for tag, _ in Tags(html(form.format(url))).found if tag in ("a", "img")]


def test_a_picture_is_a_link_and_is_not_loaded() -> None:
    found = html('![a "chart"](https://example.org/x.png "t")')
    assert "<img" not in found
    assert '<a href="https://example.org/x.png" rel="noopener noreferrer nofollow" target="_blank">' in found
    assert "[picture: a &#34;chart&#34;]" in found


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "<svg onload=alert(1)>",
        '```"><script>alert(1)</script>\nx\n```',
        '[x](https://a.example "\\"><script>alert(1)</script>")',
        "<!-- --><style>*{display:none}</style>",
        "| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <script> | 2 |",
    ],
)
def test_tags_of_the_text_are_text(text: str) -> None:
    check_safe(html(text))


@given(st.text(st.sampled_from("<>&\"'`*_[]()!#-|~\\ \n:/=abjst1.\ud83d"), max_size=200))
def test_nothing_but_known_tags_comes_out(text: str) -> None:
    check_safe(html(text))


def check_safe(found: str) -> None:
    for tag, attributes in Tags(found).found:
        assert tag in ALLOWED
        assert set(attributes) <= ATTRIBUTES
        assert re.match("https?://|mailto:", attributes.get("href") or "mailto:", re.IGNORECASE)


def test_a_longer_text_is_left_as_it_is() -> None:
    assert render("a" * (MOST_CHARACTERS + 1)) is None
