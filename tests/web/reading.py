"""A page as the server sends it, read without a browser: what is said on it, where it leads, what it asks for.

Lookups are those of the browser's tests and as strict. No script has run and no style is known.
"""

import re
from collections.abc import Iterable, Mapping

from tests.server.client import Answer, Server
from tests.web.forms import HTML, get
from tests.web.markup import BLOCKS, UNREAD, Node, tree

Words = str | re.Pattern[str]
APART = BLOCKS | frozenset("br caption dd dt legend option summary tbody td th thead tr".split())
ROLES = dict(
    pair.split(":")
    for pair in (
        "article:article aside:complementary button:button dd:definition details:group dialog:dialog dt:term "
        "fieldset:group form:form h1:heading h2:heading h3:heading h4:heading h5:heading h6:heading img:img "
        "li:listitem main:main nav:navigation ol:list option:option output:status progress:progressbar "
        "section:region select:combobox table:table td:cell textarea:textbox th:columnheader tr:row ul:list"
    ).split()
)
INPUTS = {"checkbox": "checkbox", "number": "spinbutton", "radio": "radio", "range": "slider", "search": "searchbox",
    "button": "button", "reset": "button", "submit": "button", "file": "", "hidden": "", "password": ""}  # fmt: skip
SAYING_THEIR_NAME = frozenset(
    "button cell columnheader heading link menuitem option row rowheader switch tab tooltip".split()
)
FIELDS = frozenset("input select textarea output progress".split())


def read(server: Server, path: str, headers: Mapping[str, str] = HTML) -> "Element":
    """The page at this path, which is there."""
    answer = get(server, path, headers)
    assert answer.status == 200, f"{path} answers with {answer.status}: {answer.body[:500]!r}"
    return read_answer(answer)


def read_answer(answer: Answer) -> "Element":
    assert answer.headers["content-type"].startswith("text/html"), answer.headers
    return parse(answer.body.decode())


def parse(html: str) -> "Element":
    return tree(html, Element)


class Found(list["Element"]):
    """What a lookup found, in the order of the page."""

    def __init__(self, elements: Iterable["Element"], place: "Element", sought: str) -> None:
        super().__init__(elements)
        self._place, self._sought = place, sought

    @property
    def one(self) -> "Element":
        if len(self) != 1:
            there = "".join(f"\n  {element}" for element in self) or f" in: {self._place.text[:2000]}"
            raise AssertionError(f"{len(self)} times {self._sought}, not once{there}")
        return self[0]

    @property
    def texts(self) -> list[str]:
        return [element.text for element in self]

    def containing(self, words: Words) -> "Found":
        """Those that say so, in themselves or further in."""
        saying = (element for element in self if fits(words, element.text, exact=False))
        return Found(saying, self._place, f"{self._sought} with {words!r}")


class Element(Node):
    def __repr__(self) -> str:
        shown = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        return f"<{self.tag}{shown}> {self.text[:200]}"

    @property
    def text(self) -> str:
        """What is said in it, seen or not, as `textContent` has it but for scripts and the like."""
        return squeezed("".join(self.strings()))

    @property
    def seen(self) -> bool:
        """Nothing in the HTML hides it: what a style or a script hides, a browser knows."""
        inner: Element | None = None
        for element in self.upward():
            if element.is_a("details", open=None) and inner is not None and inner.tag != "summary":
                return False
            if element.tag in UNREAD or "hidden" in element.attributes or element.is_a("dialog", open=None):
                return False
            inner = element
        return not self.is_a("input", type="hidden")

    @property
    def value(self) -> str:
        """What a form would send of this field."""
        if self.tag == "select":
            options = self.css("option")
            return next((option for option in options if "selected" in option.attributes), options[0]).value
        said = "".join(self.strings())
        return said.removeprefix("\n") if self.tag == "textarea" else self.attributes.get("value", said)

    @property
    def role(self) -> str:
        if given := self.attributes.get("role"):
            return given
        if self.tag == "a":
            return "link" if "href" in self.attributes else ""
        if self.tag == "input":
            writing = "combobox" if "list" in self.attributes else "textbox"
            return INPUTS.get(self.attributes.get("type", "text"), writing)
        if self.is_a("th", scope="row"):
            return "rowheader"
        if self.tag in ("form", "section") and not self.name:
            return ""
        return ROLES.get(self.tag, "")

    @property
    def name(self) -> str:
        """What a screen reader calls it."""
        has, root = self.attributes, list(self.upward())[-1]
        named = [root.css(f'[id="{own}"]').one for own in has.get("aria-labelledby", "").split()]
        titles = [child for child in self.inside() if child.tag in ("caption", "legend")]
        role = has.get("role") or ("link" if self.tag == "a" else ROLES.get(self.tag))
        candidates = [
            " ".join(label.spoken() for label in named),
            has.get("aria-label", ""),
            " ".join(label.spoken() for label in self.labels()),
            has.get("alt", ""),
            has.get("value", "") if INPUTS.get(has.get("type", "")) == "button" else "",
            titles[0].spoken() if titles and self.tag in ("fieldset", "table") else "",
            self.spoken() if role in SAYING_THEIR_NAME else "",
            has.get("title", ""),
            has.get("placeholder", ""),
        ]
        return next((squeezed(each) for each in candidates if each.strip()), "")

    def labels(self) -> list["Element"]:
        if self.tag not in FIELDS:
            return []
        *_, root = around = list(self.upward())
        own = self.attributes.get("id")
        labels = [element for element in around if element.tag == "label"]
        return labels + [label for label in root.css("label") if own and label.attributes.get("for") == own]

    def spoken(self) -> str:
        """Its words for somebody who hears them: the labels of what is inside, and nothing that is hidden."""
        said = []
        for child in self.children:
            if isinstance(child, str):
                said.append(child)
            elif not (child.is_unspoken() or child.tag in UNREAD or "hidden" in child.attributes):
                words = child.attributes.get("aria-label") or child.attributes.get("alt") or child.spoken()
                said.append(f" {words} " if child.tag in APART else words)
        return "".join(said)

    def is_unspoken(self) -> bool:
        return any(element.attributes.get("aria-hidden") == "true" for element in self.upward())

    def css(self, selector: str) -> Found:
        return Found(self.matching(selector), self, selector)

    def by_role(self, role: str, name: Words = "", exact: bool = False) -> Found:
        """Those that are seen, and called so."""
        found = (each for each in self.inside() if each.role == role and each.seen and not each.is_unspoken())
        return Found((each for each in found if fits(name, each.name, exact)), self, f"{role} {name!r}")

    def by_label(self, words: Words, exact: bool = False) -> Found:
        """Fields, and what else has a label."""
        has = ("aria-label", "aria-labelledby")
        labelled = (each for each in self.inside() if each.labels() or any(name in each.attributes for name in has))
        return Found((each for each in labelled if fits(words, each.name, exact)), self, f"the label {words!r}")

    def by_text(self, words: Words, exact: bool = False) -> Found:
        """The innermost that say so."""
        saying = [each for each in self.inside() if each.tag not in UNREAD and fits(words, each.text, exact)]
        outer = {id(around) for each in saying for around in each.upward() if around is not each}
        return Found((each for each in saying if id(each) not in outer), self, f"the text {words!r}")


def squeezed(text: str) -> str:
    return " ".join(text.replace("\u200b", "").split())


def fits(words: Words, text: str, exact: bool) -> bool:
    if isinstance(words, re.Pattern):
        return words.search(text) is not None
    if exact and words:
        return squeezed(words) == text
    return squeezed(words).lower() in text.lower()
