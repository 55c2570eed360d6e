"""HTML as a tree, without mending it as a browser would: tags that do not close what was opened are an error."""

import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Generic, NamedTuple, NoReturn, Self, TypeVar

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
BLOCKS = frozenset(
    "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section table ul".split()
)
UNREAD = frozenset("head noscript script style template".split())
SELECTOR = re.compile(r'(\s+)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:([\^$*]?=)(?:"([^"]*)"|([\w-]+)))?\]|([\w-]+)')
COMPARE: Mapping[str, Callable[[str, str], bool]] = {
    "": lambda _value, _given: True,
    "=": str.__eq__,
    "~=": lambda value, given: given in value.split(),
    "^=": str.startswith,
    "$=": str.endswith,
    "*=": str.__contains__,
}


class Node:
    def __init__(self, tag: str, attributes: Mapping[str, str], parent: Self | None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Self | str] = []

    def inside(self) -> Iterator[Self]:
        """All further in, but for what is there only later, or without script."""
        for child in self.children:
            if not isinstance(child, str):
                yield child
                if child.tag not in ("template", "noscript"):
                    yield from child.inside()

    def upward(self) -> Iterator[Self]:
        """Itself, and all around it."""
        node: Self | None = self
        while node is not None:
            yield node
            node = node.parent

    def strings(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in UNREAD:
                yield from child.strings()

    def is_a(self, tag: str, **attributes: str | None) -> bool:
        return self.tag == tag and all(self.attributes.get(name) == value for name, value in attributes.items())

    def matching(self, selector: str) -> Iterator[Self]:
        """`tag`, `.class`, `#id`, `[attribute="value"]`, one inside the other after a blank."""
        *around, last = compounds(selector)
        return (node for node in self.inside() if _fits(node, last, around))


AnyNode = TypeVar("AnyNode", bound=Node)


class Compound(NamedTuple):
    """What a node has to be: a tag or any, and (attribute, how it is compared, value)."""

    tag: str
    asked: tuple[tuple[str, str, str], ...]


def compounds(selector: str) -> list[Compound]:
    found, at = [Compound("", ())], 0
    while at < len(selector):
        part = SELECTOR.match(selector, at)
        assert part is not None, f"{selector!r} is more than a simple selector, from {selector[at:]!r} on"
        blank, own, kind, name, how, quoted, bare, tag = part.groups(default="")
        at, before = part.end(), found[-1]
        if blank:
            found.append(Compound("", ()))
        elif tag:
            found[-1] = Compound(tag, before.asked)
        else:
            asked = ("id", "=", own) if own else ("class", "~=", kind) if kind else (name, how, quoted or bare)
            found[-1] = Compound(before.tag, (*before.asked, asked))
    return found


def _fits(node: Node, compound: Compound, around: list[Compound]) -> bool:
    has = node.attributes
    if compound.tag not in ("", node.tag):
        return False
    if not all(name in has and COMPARE[how](has[name], value) for name, how, value in compound.asked):
        return False
    return not around or any(
        _fits(above, around[-1], around[:-1]) for above in (node.parent.upward() if node.parent else ())
    )


def tree(html: str, kind: type[AnyNode]) -> AnyNode:
    """The root, which has no tag."""
    reader = _Reader(kind)
    reader.feed(html)
    reader.close()
    if reader.at is not reader.root:
        reader.error(f"<{reader.at.tag}> is never closed")
    return reader.root


class _Reader(HTMLParser, Generic[AnyNode]):
    def __init__(self, kind: type[AnyNode]) -> None:
        super().__init__(convert_charrefs=True)
        self._kind = kind
        self.root = self.at = kind("", {}, None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS and any(above.tag == "p" for above in self.at.upward()):
            self.error(f"<{tag}> in a <p>")
        if len(dict(attrs)) < len(attrs):
            self.error(f"<{tag}> has an attribute twice")
        opened = self._kind(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(opened)
        if tag not in VOID:
            self.at = opened

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            if not any(above.tag == "svg" for above in self.at.upward()):
                self.error(f"<{tag}/> closes nothing")
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.at.tag != tag or self.at.parent is None:
            self.error(f"</{tag}> closes <{self.at.tag}>")
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)

    def error(self, problem: str) -> NoReturn:
        raise AssertionError(f"line {self.getpos()[0]}: {problem}")
