"""The reader of pages finds what a reader of the page would find, and says what is there instead."""

import re

import pytest

from tests.server.client import Server
from tests.web.reading import parse, read

PAGE = """<!doctype html>
<html lang="en"><head><title>Not said</title><meta charset="utf-8"></head>
<body>
  <nav aria-label="Pages"><a href="/one">One</a> <a href="/one" aria-hidden="true">One</a> <a>nowhere</a></nav>
  <main>
    <h1>Capitals <small>of&nbsp;the
      world</small></h1>
    <section aria-labelledby="rows-title"><h2 id="rows-title">2 rows</h2>
      <table><caption>Rows</caption>
        <tr><th>City</th><th scope="col">People</th></tr>
        <tr class="row is-good" data-row="1"><th scope="row">Paris</th><td>2<b>,1</b></td></tr>
        <tr class="row" data-row="2"><th scope="row">Rome</th><td>2,8</td></tr>
      </table>
    </section>
    <section>without a name</section>
    <form action="/save"><label for="name">Name</label><input id="name" name="name" value="a &lt;b&gt;">
      <label>Kind <select name="kind"><option value="x">X</option><option value="y" selected>Y</option></select></label>
      <textarea aria-label="Notes">
 two
lines</textarea>
      <input type="hidden" name="token" value="t"><input type="checkbox" aria-label="Sure" checked>
      <button type="submit"><svg aria-hidden="true"><title>Disk</title><path d="M0"/></svg>Save<i hidden>!</i></button>
      <button type="button" aria-label="Save as a file">Save …</button>
    </form>
    <details><summary>More</summary><p>Said when <em>opened</em></p></details>
    <details open><summary>Less</summary><p>Said already</p></details>
    <div hidden><button>Hidden</button></div>
    <dialog><button>Asked</button></dialog>
    <template><button>Made later</button></template><noscript><button>Without script</button></noscript>
    <script>const said = "</p>never said";</script>
    <img src="x" alt="A plot"><p>the end<br>of it</p>
  </main>
</body></html>
"""


def test_text_is_squeezed_and_has_no_scripts() -> None:
    page = parse(PAGE)
    assert page.css("h1").one.text == "Capitals of the world"
    assert page.css("td").texts == ["2,1", "2,8"]
    assert page.text.startswith("One One nowhere Capitals")
    assert "Not said" not in page.text
    assert "never said" not in page.text
    assert page.css("p")[2].text == "the endof it"


def test_roles_and_names_are_those_of_a_screen_reader() -> None:
    page = parse(PAGE)
    assert page.by_role("link").one.attributes["href"] == "/one"
    assert page.by_role("navigation", "pages").one.tag == "nav"
    assert page.by_role("heading", "Capitals of the world", exact=True).one.tag == "h1"
    assert page.by_role("region").one.name == "2 rows"
    assert page.by_role("table", "Rows").one.by_role("row").texts == ["CityPeople", "Paris2,1", "Rome2,8"]
    assert page.by_role("columnheader").texts == ["City", "People"]
    assert page.by_role("rowheader", "Rome").one.parent is page.by_role("row", "Rome 2,8").one
    assert page.by_role("row").containing("Paris").one.by_role("cell").texts == ["2,1"]
    assert [button.name for button in page.by_role("button")] == ["Save", "Save as a file"]
    assert page.by_role("button", "Save", exact=True).one.attributes == {"type": "submit"}
    assert page.by_role("button", re.compile("^Save as")).one.text == "Save …"
    assert page.by_role("img", "A plot").one.attributes["src"] == "x"
    assert page.by_role("form") == []


def test_fields_are_found_by_their_labels_and_tell_their_values() -> None:
    page = parse(PAGE)
    assert page.by_label("Name").one.value == "a <b>"
    assert page.by_role("combobox", "Kind").one.value == "y"
    assert page.by_label("notes").one.value == " two\nlines"
    assert page.by_label("notes", exact=True) == []
    assert page.by_role("checkbox", "Sure").one.attributes["checked"] == ""
    assert page.css('input[type="hidden"]').one.value == "t"


def test_what_is_hidden_or_folded_is_not_seen() -> None:
    page = parse(PAGE)
    assert [page.by_text(words).one.seen for words in ("Said already", "Less", "More")] == [True, True, True]
    assert [page.by_text(words).one.seen for words in ("Said when", "opened", "Hidden", "Asked")] == [False] * 4
    assert not page.css('[name="token"]').one.seen
    assert page.by_text("Made later") == page.by_text("Without script") == []
    assert page.css("template").one.css("button").one.text == "Made later"


def test_a_text_is_found_where_it_is_innermost() -> None:
    page = parse(PAGE)
    assert page.by_text("of the world").one.tag == "small"
    assert page.by_text("capitals of the world").one.tag == "h1"
    assert [found.tag for found in page.by_text("Said when opened")] == ["p"]
    assert page.by_text("Capitals", exact=True) == []


def test_selectors_are_simple_ones() -> None:
    page = parse(PAGE)
    assert page.css("tr.row").texts == ["Paris2,1", "Rome2,8"]
    assert page.css("main table .row.is-good td b").one.text == ",1"
    assert page.css("nav td") == page.css(".is") == []
    assert page.css('[data-row="2"]').one is page.css(".row[data-row$=2]").one
    assert len(page.css('[data-row^=""]')) == len(page.css("[data-row]")) == 2
    assert page.css("#rows-title").one.text == "2 rows"
    with pytest.raises(AssertionError, match="more than a simple selector, from '> td' on"):
        page.css("tr > td")


def test_one_is_one_and_else_says_what_is_there() -> None:
    page = parse(PAGE)
    with pytest.raises(AssertionError, match=r"2 times td, not once\n  <td> 2,1\n  <td> 2,8$"):
        page.css("td").one  # noqa: B018
    with pytest.raises(AssertionError, match=r"0 times button 'Send', not once in: One One nowhere Capitals"):
        page.by_role("button", "Send").one  # noqa: B018


@pytest.mark.parametrize(("html", "words"), [
    ("<div><p>a</div>", "line 1: </div> closes <p>"),
    ("<div>\n<p>a</p>", "line 2: <div> is never closed"),
    ("a</p>", "line 1: </p> closes <>"),
    ("<p><ul></ul></p>", "<ul> in a <p>"),
    ("<span/>", "<span/> closes nothing"),
    ('<b class="a" class="b"></b>', "<b> has an attribute twice"),
])  # fmt: skip
def test_html_that_a_browser_would_have_to_mend_is_refused(html: str, words: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(words)):
        parse(html)


def test_a_page_is_read_from_a_server(server: Server) -> None:
    assert read(server, "/graders").by_role("heading", "Graders", exact=True).one.seen
    with pytest.raises(AssertionError, match="/evals/nowhere answers with 404"):
        read(server, "/evals/nowhere")
