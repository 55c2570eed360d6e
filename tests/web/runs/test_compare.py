"""Runs side by side: how sure a difference is, which rows flipped, and where their texts differ."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page, new_eval, new_run
from tests.web.conftest import Open, Start
from tests.web.evals.test_detail import SIMILAR
from tests.web.forms import get

CITIES = [f"City{number:02}" for number in range(40)]


def answers(right: range | list[int], wrong: str = "I do not know {}", **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "item": {"question": f"Which is {city}?", "answer": city, **more},
            "sample": city if at in right else wrong.format(city),
        }
        for at, city in enumerate(CITIES)
    ]


def path(made: str, first: str, second: str, **more: object) -> str:
    return f"/evals/{made}/compare?{urlencode({'a': first, 'b': second, **more})}"


def test_a_better_run_is_called_so_with_the_rows_that_flipped_first(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    made = new_eval(server, "Cities", testing_criteria=[EXACT, SIMILAR])
    first = new_run(server, made, answers(range(2, 16)), "small model, first prompt")
    second = new_run(server, made, answers(range(4, 36), "I think that it is {}, or so"), "large model")
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(path(made, first, second))
    summary = page.get_by_role("table", name="Differences by criterion").get_by_role("row")
    exact = summary.nth(1)
    expect(exact).to_contain_text("35.0%")
    expect(exact).to_contain_text("80.0%")
    expect(exact).to_contain_text("+45.0")
    expect(exact).to_contain_text("B is better, p < 0.001")
    expect(exact).to_contain_text("40 rows in both: 20 better, 2 worse")
    expect(exact).not_to_contain_text("Mean reward")
    expect(summary.nth(2)).to_contain_text(re.compile(r"Mean reward 0.[0-9]+ and 0.[0-9]+: a difference, p.<.0\.001"))
    cards = page.get_by_role("article")
    expect(cards).to_have_count(10)
    expect(cards.nth(0)).to_contain_text("Pass → fail")
    expect(cards.nth(1)).to_contain_text("Pass → fail")
    expect(cards.nth(2)).to_contain_text("Fail → pass")
    expect(cards.nth(0).get_by_role("deletion")).to_contain_text("City02")
    expect(cards.nth(0).get_by_role("insertion")).to_contain_text("I think that it is")
    expect(cards.nth(0).get_by_text("Which is City02?")).to_have_count(1)  # the item stands there once
    expect(cards.nth(0).get_by_role("link", name="Row 2 of run A")).to_have_attribute(
        "href", f"/evals/{made}/runs/{first}/rows/2"
    )
    check_page(window, "compare")


def test_up_to_six_runs_are_compared_with_one_of_them_which_can_be_another(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    made = new_eval(server, "Several", testing_criteria=[EXACT, SIMILAR])
    rights = [range(14), range(32), range(15), range(40), range(20), range(1)]
    runs = [new_run(server, made, answers(right), f"model {at}") for at, right in enumerate(rights)]
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{made}/compare?{urlencode([('run', run) for run in reversed(runs)])}")
    page.wait_for_url(f"**/compare?{urlencode(dict(zip('abcdef', runs, strict=True)))}")
    exact = page.get_by_role("table", name="Differences by criterion").get_by_role("row").nth(1).get_by_role("cell")
    expect(exact.nth(1)).to_have_text("35.0%")
    expect(exact.nth(2)).to_contain_text("80.0% +45.0")
    expect(exact.nth(2)).to_contain_text("better, p < 0.001")
    # One row more of 40 is nothing that could not be chance.
    expect(exact.nth(3)).to_contain_text("no sure difference, p = 1.00")
    expect(exact.nth(6)).to_contain_text("worse, p = 0.001")
    expect(page.get_by_label("What is drawn").get_by_role("option")).to_contain_text(["Pass rate", "Mean reward"])
    check_page(window, "compare-six")
    page.get_by_role("navigation", name="Which runs").get_by_role("link", name="A and F").click()
    page.wait_for_url(re.compile("with=f"))
    expect(page.get_by_role("article").first).to_contain_text("Pass → fail")
    expect(page.get_by_role("link", name=re.compile("Row 1 of run F"))).to_be_visible()
    page.get_by_role("region", name="Run D").get_by_role("link", name="Make it the baseline").click()
    page.wait_for_url(re.compile(f"a={runs[3]}&b={runs[0]}"))
    expect(exact.nth(1)).to_have_text("100%")
    for _ in range(4):
        page.get_by_role("link", name="Remove run B").click()
    expect(page.get_by_role("heading", name="Row by row, by exact")).to_be_visible()
    page.get_by_label("Another run beside them").select_option(runs[0])
    page.wait_for_url(re.compile(f"c={runs[0]}$"))


def test_other_versions_of_a_grader_and_other_data_are_said(server: Server, page: Page) -> None:
    assert server.post("/v1/graders", {"key": "strict", "grader": EXACT}).status == 201
    made = new_eval(server, "Changed", testing_criteria=[{"type": "registered", "key": "strict", "name": "exact"}])
    first = new_run(server, made, answers(range(3)))
    same = new_run(server, made, list(reversed(answers(range(5)))))
    assert server.request("PATCH", "/v1/graders/strict", {"grader": {**EXACT, "operation": "like"}}).status == 200
    later = new_run(server, made, answers(range(3), split="another"))
    page.goto(path(made, first, same))
    expect(page.get_by_role("table", name="Differences by criterion")).to_be_visible()
    expect(page.get_by_text("Not everything else was the same")).to_have_count(0)  # the order of rows is no difference
    page.goto(path(made, first, later))
    expect(page.get_by_text("“exact”: A was graded by version 1 of strict, B by version 2 of strict.")).to_be_visible()
    expect(page.get_by_text("B has other items than A: the data sets differ.")).to_be_visible()


def test_what_so_few_rows_cannot_show_is_not_called_a_difference(server: Server, page: Page) -> None:
    made = new_eval(server, "Close")
    first, second, third = (new_run(server, made, answers(right)) for right in (range(20), range(1, 22), range(20)))
    page.goto(path(made, first, second))
    summary = page.get_by_role("table", name="Differences by criterion")
    expect(summary).to_contain_text("No difference that 40 rows could show, p = 1.00")
    expect(summary).to_contain_text("+2.5")
    page.goto(path(made, first, third))
    expect(summary).to_contain_text("The same on every row.")
    expect(page.get_by_role("article").first).to_contain_text("The same answer as in A.")
    page.goto(path(made, first, first))
    expect(page.get_by_text("This is the same run twice.")).to_be_visible()


def test_a_worse_run_is_called_so_and_swapping_the_sides_turns_it_round(server: Server, page: Page) -> None:
    made = new_eval(server, "Worse")
    good, bad = new_run(server, made, answers(range(40)), "good"), new_run(server, made, answers(range(20)), "bad")
    page.goto(path(made, good, bad))
    expect(page.get_by_text("B is worse, p < 0.001")).to_be_visible()
    page.get_by_role("link", name="Swap").click()
    expect(page.get_by_text("B is better, p < 0.001")).to_be_visible()
    expect(page.get_by_label("Run A", exact=True).first).to_be_visible()
    page.locator("#side-a").select_option(good)
    page.wait_for_url(f"**/compare?a={good}&b={good}")


def test_rows_are_filtered_by_how_they_changed_and_by_criterion_in_addresses_that_can_be_shared(
    server: Server, page: Page
) -> None:
    made = new_eval(server, "Filtered", testing_criteria=[EXACT, SIMILAR])
    # The texts of both runs' wrong answers differ, and so do their rewards by similarity.
    first = new_run(server, made, answers(range(1, 16)))
    second = new_run(server, made, answers(range(4, 36), "Is it {}?"))
    page.goto(path(made, first, second))
    chips = page.get_by_role("navigation", name="Which rows").get_by_role("link")
    expect(chips).to_have_text(["All 40", "Worse 3", "Better 20", "Changed reward", "Both failed 5", "Both passed 12"])
    chips.nth(1).click()
    expect(page).to_have_url(re.compile("change=lost"))
    expect(page.get_by_role("article")).to_have_count(3)
    expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
    chips.nth(3).click()
    expect(page.get_by_role("article").filter(has_text="Both")).to_have_count(0)  # 0 stays 0 by string_check
    page.get_by_role("navigation", name="Criteria").get_by_role("link", name=re.compile("similar")).click()
    expect(page).to_have_url(re.compile(r"criterion=1.*change=moved|change=moved.*criterion=1"))
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("article").filter(has_text="Both failed").first).to_be_visible()
    expect(page.get_by_role("article").filter(has_text="Both passed")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("article").filter(has_text="Both failed").first).to_be_visible()


def test_every_pair_is_on_exactly_one_page_and_pages_go_back(server: Server, page: Page) -> None:
    made = new_eval(server, "Paged")
    first, second = new_run(server, made, answers(range(3, 16))), new_run(server, made, answers(range(4, 36)))
    page.goto(path(made, first, second))
    seen: list[str] = []
    firsts: list[str] = []
    while True:
        found = page.get_by_role("article").get_by_role("link", name=re.compile("of run A")).all_inner_texts()
        seen += found
        firsts.append(found[0])
        following = page.get_by_role("link", name="Next")
        if not following.count():
            break
        following.click()
        page.wait_for_url(re.compile("at="))
    assert len(seen) == 40
    assert len(set(seen)) == 40
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("article").first).to_contain_text(firsts[-2].split("\n")[0].removesuffix(" of run A"))


def test_runs_of_different_files_are_matched_by_item_and_the_rest_is_counted(server: Server, page: Page) -> None:
    made = new_eval(server, "Other files")
    whole = answers(range(20))
    first = new_run(server, made, whole)
    second = new_run(server, made, [*reversed(whole[5:]), {"item": {"answer": "New"}, "sample": "New"}])
    page.goto(path(made, first, second))
    expect(page.get_by_text("rows are matched by equal items")).to_be_visible()
    expect(page.get_by_text("5 rows of A and 1 row of B without a partner")).to_be_visible()
    expect(page.get_by_text("35 rows in both")).to_be_visible()
    stranger = new_run(server, made, answers(range(40), split="another"))
    page.goto(path(made, first, stranger))
    expect(page.get_by_text("No rows in common: the rates are compared as they are")).to_be_visible()
    expect(page.get_by_text("B is better, p < 0.001")).to_be_visible()
    expect(page.get_by_role("heading", name="No row in common")).to_be_visible()


def test_hostile_items_and_answers_are_shown_and_never_run(server: Server, page: Page) -> None:
    made = new_eval(server, HOSTILE, testing_criteria=[{**EXACT, "name": HOSTILE}])
    item = {HOSTILE: HOSTILE, "answer": HOSTILE}
    first = new_run(server, made, [{"item": item, "sample": HOSTILE}], HOSTILE)
    second = new_run(server, made, [{"item": item, "sample": f"other {HOSTILE} \ud83d"}], HOSTILE)
    page.goto(path(made, first, second))
    card = page.get_by_role("article")
    expect(card.get_by_role("definition").first).to_have_text(HOSTILE)
    expect(card).to_contain_text(HOSTILE)


def test_text_from_right_to_left_is_shown_so_even_where_it_differs_from_its_start_on(
    server: Server, page: Page
) -> None:
    eval_id = new_eval(server, "rtl")
    said = [
        [{"item": {"answer": "\u0645\u0627"}, "sample": {"output_text": f"{word} \u0648\u0645\u0627 Paris"}}]
        for word in ("\u0646\u0639\u0645", "\u0643\u0644\u0627")
    ]
    runs = [new_run(server, eval_id, rows) for rows in said]
    page.goto(f"/evals/{eval_id}/compare?a={runs[0]}&b={runs[1]}")
    texts = page.locator(".pair__text, .pair__fields dd")
    expect(texts).to_have_count(3)
    assert texts.evaluate_all("all => all.map((each) => getComputedStyle(each).direction)") == ["rtl"] * 3
    page.goto(f"/evals/{eval_id}/runs/{runs[0]}")
    sample = page.locator(".rows__sample .rows__clamp")
    assert sample.evaluate("(each) => getComputedStyle(each).direction") == "rtl"


def test_a_long_answer_is_cut_with_the_way_to_all_of_it(server: Server, page: Page) -> None:
    made = new_eval(server, "Long answers")
    item = {"answer": "x", **{f"field {number}": "long " * 500 for number in range(12)}}
    runs = [new_run(server, made, [{"item": item, "sample": f"{word} " * 20_000}]) for word in ("one", "two")]
    page.goto(path(made, *runs))
    card = page.get_by_role("article")
    expect(card.get_by_role("link", name="All of it").first).to_have_attribute("href", re.compile("/rows/0$"))
    expect(card).to_contain_text("5 more fields")
    assert len(card.inner_text()) < 20_000


def test_without_two_runs_named_the_newest_are_compared_and_below_two_it_says_what_to_do(
    server: Server, page: Page
) -> None:
    made = new_eval(server, "Newest")
    page.goto(f"/evals/{made}/compare")
    expect(page.get_by_role("heading", name="There is no run so far")).to_be_visible()
    runs = [new_run(server, made, answers(range(number)), f"run {number}") for number in (1, 2, 3)]
    page.goto(f"/evals/{made}/compare")
    page.wait_for_url(f"**/compare?a={runs[1]}&b={runs[2]}")
    page.goto(f"/evals/{made}/compare?b={runs[0]}")
    page.wait_for_url(f"**/compare?a={runs[2]}&b={runs[0]}")
    page.goto(f"/evals/{made}/compare?a={runs[2]}")
    page.wait_for_url(f"**/compare?a={runs[2]}&b={runs[1]}")


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("run={0}", 400, "Found 1 run. Choose two to 6 runs to compare."),
        ("a={0}&b={1}&with=d", 400, "with: found &#34;d&#34;. Use one of: b."),
        ("a={0}&b=evalrun_gone", 404, "No run found"),
        ("a={0}&b={1}&criterion=7", 400, "It takes a number from 0 to 0."),
        ("a={0}&b={1}&criterion=x", 400, "It takes a number from 0 to 0."),
        ("a={0}&b={1}&change=sideways", 400, "lost, gained, failed, passed, moved"),
        ("a={0}&b={1}&at=nowhere", 400, "nowhere"),
    ],
)
def test_a_wrong_address_is_answered_in_words(server: Server, query: str, status: int, words: str) -> None:
    made = new_eval(server, "Wrong addresses")
    runs = [new_run(server, made, answers(range(number))) for number in (1, 2)]
    answer = get(server, f"/evals/{made}/compare?{query.format(*runs)}")
    assert answer.status == status
    assert words in answer.body.decode()
