"""Somebody who looks at pages without a script: follows links and redirects, sends forms, keeps cookies."""

import http.client
from collections.abc import Mapping
from http.cookies import SimpleCookie
from urllib.parse import quote, urlencode, urljoin

from tests.server.client import Answer, Server
from tests.web.forms import HTML
from tests.web.reading import Element, read_answer

FORM = "application/x-www-form-urlencoded"


class Visitor:
    """`path` and `page` are where they are, `answer` is how that came, `set_cookies` all that was set on the way."""

    page: Element
    answer: Answer

    def __init__(self, server: Server) -> None:
        self.server = server
        self.path = "/"
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []

    def go(self, path: str) -> Element:
        return self._ask("GET", path)

    def follow(self, link: Element) -> Element:
        assert (link.role, link.seen) == ("link", True), link
        return self.go(link.attributes["href"])

    def press(self, button: Element, fields: Mapping[str, str] | None = None) -> Element:
        """Sends the form of a button, with these values in the fields that have these labels."""
        assert (button.role, "disabled" in button.attributes) == ("button", False), button
        assert button.attributes["type"] == "submit", button
        form = _form_of(button)
        named = [element for element in self.page.css("[name]") if _form_of(element) is form]
        written = {form.by_label(label).one.attributes["name"]: value for label, value in (fields or {}).items()}
        sent = [(field.attributes["name"], field.value) for field in named if _is_sent(field, button)]
        data = urlencode([*(pair for pair in sent if pair[0] not in written), *written.items()])
        to = form.attributes.get("action") or self.path
        if form.attributes.get("method", "get") == "get":
            return self.go(f"{to}?{data}")
        assert "enctype" not in form.attributes, form
        return self._ask("POST", to, data)

    def sign_in(self, key: str, to: str = "/evals") -> Element:
        page = self.go(f"/sign-in?next={quote(to)}")
        shown = self.press(page.by_role("button", "Sign in").one, {"API key": key})
        assert self.path == to
        return shown

    def _ask(self, method: str, to: str, form: str | None = None) -> Element:
        for _ in range(5):
            self.path = urljoin(self.path, to)
            self.answer = self._send(method, form)
            if self.answer.status not in (302, 303):
                self.page = read_answer(self.answer)
                return self.page
            method, to, form = "GET", self.answer.headers["location"], None
        raise AssertionError(f"led in circles, at last to {to}")

    def _send(self, method: str, form: str | None) -> Answer:
        headers = {**HTML, "cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            connection.request(method, self.path, form, {**headers, "content-type": FORM} if form else headers)
            answer = connection.getresponse()
            pairs = [(name.lower(), value) for name, value in answer.getheaders()]
            self._keep([value for name, value in pairs if name == "set-cookie"])
            return Answer(answer.status, dict(pairs), answer.read())
        finally:
            connection.close()

    def _keep(self, cookies: list[str]) -> None:
        self.set_cookies += cookies
        for told in cookies:
            for name, cookie in SimpleCookie(told).items():
                self.cookies.pop(name, None)
                if cookie["max-age"] != "0":
                    self.cookies[name] = cookie.value


def _form_of(field: Element) -> Element:
    *around, root = field.upward()
    if own := field.attributes.get("form"):
        return root.css(f'form[id="{own}"]').one
    return next((element for element in around if element.tag == "form"), root)


def _is_sent(field: Element, button: Element) -> bool:
    if field.tag == "button" or field.attributes.get("type") == "submit":
        return field is button
    if any("disabled" in element.attributes for element in field.upward()):
        return False
    return field.attributes.get("type") not in ("checkbox", "radio") or "checked" in field.attributes
