"""The page that shows the API, in a browser."""

from playwright.sync_api import Page, expect


def test_the_page_of_the_api_shows_every_route_and_sends_requests(page: Page) -> None:
    page.goto("/docs")
    route = page.locator("details").filter(has_text="GET/v1/graders/{key}/versions")
    expect(route).to_be_visible()
    route.locator("summary").click()
    answers = page.locator("details").filter(has_text="List the configured models")
    answers.locator("summary").click()
    answers.get_by_role("button", name="Send").click()
    expect(answers.locator("pre")).to_contain_text('"object": "list"')
