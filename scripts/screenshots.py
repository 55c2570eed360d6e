"""make screenshots: the pictures in README, of the demo's data, by a real server and a real browser."""

import sys
import tempfile

from playwright.sync_api import Page, sync_playwright

from fairmark.web.evals import demo
from scripts.chromium import chromium
from scripts.demo import ROOT, call, serving

IMAGES = ROOT / "docs" / "images"
FUNCTION = '''\
async def grade(thread: StringThread) -> float:
    """Partial credit for each word of the expected answer."""
    said = (thread.completion() or "").lower()
    words = thread.metadata.get("expected", "4").lower().split()
    return sum(word in said for word in words) / len(words)
'''


def main() -> int:
    with tempfile.TemporaryDirectory() as home, serving(home) as (base, _):
        take(base)
    return 0


def take(base: str) -> None:
    wanted, (first, _) = demo.read()
    eval_ = call(f"{base}/v1/evals", wanted)
    run = call(f"{base}/v1/evals/{eval_['id']}/runs", first)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            page = browser.new_page(
                base_url=base, viewport={"width": 1280, "height": 840}, device_scale_factor=1.5, color_scheme="light"
            )
            picture_run(page, f"/evals/{eval_['id']}/runs/{run['id']}")
            picture_grader(page)
        finally:
            browser.close()


def picture_run(page: Page, path: str) -> None:
    page.goto(path)
    page.get_by_text("All rows done").wait_for()
    keep(page, "run")


def picture_grader(page: Page) -> None:
    page.goto("/graders/new/function")
    page.get_by_label("Name", exact=True).fill("Words found")
    source = page.locator(".cm-content").first
    source.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(FUNCTION)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("The whole result as JSON").wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    keep(page, "grader")


def keep(page: Page, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
