"""Markdown of models and users as safe HTML: no tags of their own, no pictures, links only where people follow them."""

from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from fairmark.web.frame import highlight

MOST_CHARACTERS = 20_000
"""Longer texts are shown as they are: what is made to be slow to read takes a second from five times as many."""
SMALLEST_HEADING = 3
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
    # Before backslashes escape what is behind them.
    made.inline.ruler.before("escape", "math", _find_math)
    made.add_render_rule("math", _math)
    return made


_MATH = (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))
LONGEST_FORMULA = 2_000


def _find_math(state: StateInline, silent: bool) -> bool:
    """A formula in TeX's signs. A dollar begins one only where no blank follows, and ends it where none is before and
    no digit behind: $5 and $10 are money."""
    for opening, closing, is_display in _MATH:
        if not state.src.startswith(opening, state.pos):
            continue
        start = state.pos + len(opening)
        end = state.src.find(closing, start, min(state.posMax, start + LONGEST_FORMULA))
        formula = state.src[start:end].strip() if end > 0 else ""
        if not formula or (opening == "$" and not _is_formula(state.src, start, end)):
            return False
        if not silent:
            token = state.push("math", "", 0)
            token.content = formula
            token.meta = {"is_display": is_display}
        state.pos = end + len(closing)
        return True
    return False


def _is_formula(text: str, start: int, end: int) -> bool:
    inside, behind = text[start:end], text[end + 1 : end + 2]
    return not inside[0].isspace() and not inside[-1].isspace() and not behind.isdigit() and "\n\n" not in inside


def _math(self: Any, tokens: list[Token], index: int, options: Any, env: Any) -> str:
    """As it was written; the page's script sets it."""
    token = tokens[index]
    more = " math--display" if token.meta["is_display"] else ""
    return str(Markup('<span class="math{}">{}</span>').format(more, token.content))


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
    """A line that looks like one: the page has headings of its own, and a text's must not stand among them."""
    token = tokens[index]
    level = min(SMALLEST_HEADING, int(token.tag[1:]))
    return f'<p class="md__heading md__heading--{level}">' if token.nesting > 0 else "</p>\n"


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
    """As a region that the keyboard can scroll. The language is a word of the text's author: it is not told, but only
    chooses the colours."""
    coloured = highlight.code(tokens[index].content, tokens[index].info.strip().partition(" ")[0].lower())
    return f'<pre class="code" dir="ltr" tabindex="0" role="region" aria-label="Code">{coloured}</pre>\n'


_ELSEWHERE = Markup(' rel="noopener noreferrer nofollow" target="_blank"')
