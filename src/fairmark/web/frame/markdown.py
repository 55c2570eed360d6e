"""Markdown of models and users as safe HTML: no tags of their own, no pictures, links only where people follow them."""

from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

MOST_CHARACTERS = 20_000
"""Longer texts are shown as they are: what is made to be slow to read takes a second from five times as many."""
HEADINGS_BELOW = 3
"""How much smaller a heading gets: the page has headings of its own, and a text's must not stand among them."""
_SCHEMES = ("http://", "https://", "mailto:")


def render(text: str) -> Markup | None:
    """The text as HTML; None where it is too long for that."""
    if len(text) > MOST_CHARACTERS:
        return None
    # Half an emoji cannot be sent, and the parser trips over it in an address.
    readable = text.encode("utf-8", "replace").decode()
    return Markup(_parser().render(readable))  # noqa: S704  # the parser escapes: html is off


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    # Without it, a link to elsewhere stays the text that was written.
    made.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link)
    made.add_render_rule("heading_open", _heading)
    made.add_render_rule("heading_close", _heading)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    made.add_render_rule("th_open", _cell)
    made.add_render_rule("td_open", _cell)
    for kind in ("fence", "code_block"):
        made.add_render_rule(kind, _code)
    return made


def _image(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    """A link: a picture would tell its server who looks at this page."""
    token = tokens[index]
    words = f"picture: {token.content}" if token.content else "picture"
    return str(Markup('<a href="{}"{}>[{}]</a>').format(token.attrs.get("src", ""), _ELSEWHERE, words))


def _link(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    title = Markup(' title="{}"').format(token.attrs["title"]) if token.attrs.get("title") else ""
    return str(Markup('<a href="{}"{}{}>').format(token.attrs.get("href", ""), title, _ELSEWHERE))


def _heading(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    level = min(6, int(token.tag[1:]) + HEADINGS_BELOW)
    return f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n"


def _table_open(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    return '<div class="md__table" role="region" aria-label="Table" tabindex="0"><table>\n'


def _table_close(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _cell(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    """Aligned by a class: the page's policy lets no style attribute in."""
    token = tokens[index]
    aligned = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return f'<{token.tag} class="md__{aligned}">' if aligned in ("left", "center", "right") else f"<{token.tag}>"


def _code(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    """As a region that the keyboard can scroll. The language is a word of the text's author, so it is not told."""
    return f'<pre class="code" tabindex="0" role="region" aria-label="Code">{escape(tokens[index].content)}</pre>\n'


_ELSEWHERE = Markup(' rel="noopener noreferrer nofollow" target="_blank"')
