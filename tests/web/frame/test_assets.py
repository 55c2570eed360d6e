"""Style sheets and scripts: served for ever, small, and at home under our own policy."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from playwright.sync_api import Page, expect

from fairmark.web.evals import demo
from fairmark.web.frame import assets, render
from tests.server.client import Server
from tests.web.browser import ROOT, check_accessible
from tests.web.forms import get

VENDOR = assets.FOLDER / "vendor"
# Compressed kilobytes that what we did not write may have.
MOST_KB = {"codemirror.js": 150, "htmx.js": 18, "temml.js": 65, "uplot.js": 25, "uplot.css": 2, "LICENSES.txt": 5}


@pytest.mark.parametrize("name", sorted(assets.files()))
def test_an_asset_is_kept_for_ever_under_its_version(server: Server, name: str) -> None:
    answer = get(server, assets.url(name))
    assert answer.status == 200
    assert answer.body == (assets.FOLDER / name).read_bytes()
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
    assert answer.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])
    small = get(server, assets.url(name), {"accept-encoding": "gzip"})
    assert gzip.decompress(small.body) == answer.body


def test_a_page_of_an_older_server_gets_todays_file_and_does_not_keep_it(server: Server) -> None:
    answer = get(server, "/static/000000000000/frame/fairmark.css")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize("name", ["nothing.css", "../render.py", "..%2frender.py", "%2e%2e/render.py", "", "vendor"])
def test_nothing_else_is_served(server: Server, name: str) -> None:
    assert get(server, f"/static/{assets.version()}/{name}").status == 404


def test_what_is_vendored_is_small_and_nothing_else_is_there() -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) / 1000 for path in VENDOR.iterdir()}
    assert sizes.keys() == MOST_KB.keys()
    assert {name: size for name, size in sizes.items() if size > MOST_KB[name]} == {}


def test_what_is_vendored_has_its_licence_and_its_exact_version() -> None:
    pinned = json.loads((ROOT / "scripts/assets/package.json").read_text())["dependencies"]
    licences = (VENDOR / "LICENSES.txt").read_text()
    notice = (ROOT / "NOTICE").read_text()
    for name in ("@codemirror/view", "@lezer/python", "htmx.org", "temml", "uplot"):
        assert re.fullmatch(r"\d+\.\d+\.\d+", pinned[name])
        assert f"{name} {pinned[name]}\n" in licences
    for name in ("CodeMirror", "Lezer", "htmx", "Temml", "uPlot"):
        assert name in notice


def test_no_file_of_the_page_asks_another_host() -> None:
    own = [path for path in (*assets.FOLDER.glob("*.*"), *render.TEMPLATES.rglob("*.html")) if path.suffix != ".svg"]
    assert len(own) >= 8
    asking = (
        r"""(?:src|href|action|hx-\w+)\s*=\s*["']?(?:https?:)?//|url\(\W*https?://|(?:from|import|fetch)\W+https?://"""
    )
    for path in own:
        assert not re.search(asking, path.read_text()), path.name


def test_no_template_has_script_or_style_that_the_policy_would_stop() -> None:
    for path in render.TEMPLATES.rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|hx-on|javascript:", text), path.name


def test_a_wheel_has_templates_assets_and_the_demo() -> None:
    shipped = {Path(file.path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    wanted = {path for folder in (assets.FOLDER, render.TEMPLATES) for path in folder.rglob("*") if path.is_file()}
    assert len(wanted) >= 15
    assert {*wanted, demo.DATA} <= shipped


def test_the_version_changes_with_any_file() -> None:
    seen = hashlib.sha256()
    for name, content in assets.files().items():
        seen.update(f"{name} {len(content)}\n".encode() + content)
    assert assets.version() == seen.hexdigest()[:12]
    with pytest.raises(LookupError, match=r"there is no asset nothing\.css"):
        assets.url("nothing.css")


EDIT = """async ({url, texts}) => {
    const title = Object.assign(document.createElement("h1"), {textContent: "Editors"});
    document.querySelector("main").replaceChildren(title);
    const { edit } = await import(url);
    for (const [language, text] of texts) {
        const label = Object.assign(document.createElement("label"), {htmlFor: language, textContent: language});
        const area = Object.assign(document.createElement("textarea"), {id: language, name: language, value: text});
        const place = document.createElement("div");
        place.append(label, area);
        document.querySelector("main").append(place);
        edit(area, { language });
    }
}"""


@pytest.mark.thorough
def test_an_editor_of_each_language_is_styled_under_our_policy_and_keeps_the_forms_text(page: Page) -> None:
    texts = {
        "python": ("def grade(sample, item):\n    return 1.0\n", "def"),
        "json": ('{"input": "{{ item.answer }}"}', "{{ item.answer }}"),
        "prompt": ("Is {{ sample.output_text }} right?", "{{ sample.output_text }}"),
    }
    page.goto("/evals")
    given = [[language, text] for language, (text, _) in texts.items()]
    page.evaluate(EDIT, {"url": assets.url("frame/editor.js"), "texts": given})
    for language, (_, marked) in texts.items():
        expect(page.get_by_role("textbox", name=language)).to_be_visible()
        editor = page.locator("main > div").filter(has=page.locator(f"#{language}"))
        coloured = editor.locator(".cm-line span").filter(has_text=re.compile(f"^{re.escape(marked)}$")).first
        colour = "each => getComputedStyle(each).color"
        assert coloured.evaluate(colour) != editor.locator(".cm-line").first.evaluate(colour)
        assert editor.locator(".cm-scroller").evaluate("each => getComputedStyle(each).display") == "flex"
    check_accessible(page)
    for language, (text, _) in texts.items():
        page.get_by_role("textbox", name=language).focus()
        page.keyboard.press("Control+End")
        page.keyboard.type(" more")
        assert page.locator(f"#{language}").input_value() == text + " more"


def test_json_that_is_wrong_is_marked_where_it_is(page: Page) -> None:
    page.goto("/evals")
    page.evaluate(EDIT, {"url": assets.url("frame/editor.js"), "texts": [["json", '{"a": 1,}']]})
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    expect(page.locator(".cm-lintPoint-error")).to_be_attached()


def test_charts_are_drawn_under_our_policy(page: Page) -> None:
    page.goto("/evals")
    drawn = """async url => {
        const { default: uPlot } = await import(url);
        const options = {width: 300, height: 100, series: [{}, {stroke: "red"}]};
        new uPlot(options, [[1, 2, 3], [1, 4, 9]], document.querySelector("main"));
        return document.querySelectorAll(".uplot canvas").length;
    }"""
    assert page.evaluate(drawn, assets.url("vendor/uplot.js")) == 1
