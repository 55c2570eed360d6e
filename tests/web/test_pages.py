"""The table of pages: each method and path once, and no page is hidden by another."""

import re

from starlette.routing import compile_path

from fairmark.web.pages import PAGES

PARTS = {"{idx:int}": "7", "{key}": "k", "{kind}": "t"}


def example(path: str) -> str:
    for part, value in PARTS.items():
        path = path.replace(part, value)
    path = re.sub(r"\{(\w+)_id\}", r"\1_1", path)
    assert "{" not in path
    return path


def test_a_method_and_a_path_stand_there_once() -> None:
    pairs = [(page.method, page.path) for page in PAGES]
    assert len(pairs) == len(set(pairs))


def test_the_first_page_that_an_address_fits_is_its_own() -> None:
    for page in PAGES:
        address = example(page.path)
        fitting = [
            other.path for other in PAGES if other.method == page.method and compile_path(other.path)[0].match(address)
        ]
        assert fitting[0] == page.path


def test_what_changes_something_is_posted() -> None:
    for page in PAGES:
        assert page.method in ("GET", "POST")
        doing = page.path.rpartition("/")[2] in ("delete", "cancel", "revoke", "restore", "lock", "sign-out", "demo")
        assert not doing or page.method == "POST"
