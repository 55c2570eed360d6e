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
from tests.web.reading import read
from tests.web.visiting import Visitor

CITIES = [f"City{number:02}" for number in range(40)]


def answers(right: range | list[int], wrong: str = "I do not know {}", **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "item": {"question": f"Which is {city}?", "answer": city, **more},
            "sample": city if at in right else wrong.format(city),
        }
        for at, city in enumerate(CITIES)
    ]


def path(made: str, *runs: str) -> str:
    return f"/evals/{made}/compare?{urlencode(list(zip('abcdef', runs, strict=False)))}"


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


@pytest.mark.thorough
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
    visitor = Visitor(server)
    all_six = visitor.go(path(made, *runs))
    with_f = visitor.follow(all_six.by_role("navigation", "Which runs").one.by_role("link", "A and F").one)
    assert "with=f" in visitor.path
    assert "Pass → fail" in with_f.by_role("article")[0].text
    assert with_f.by_role("link", re.compile("Row 1 of run F")).one.seen
    shown = visitor.follow(with_f.by_role("region", "Run D").one.by_role("link", "Make it the baseline").one)
    assert f"a={runs[3]}&b={runs[0]}" in visitor.path
    table = shown.by_role("table", "Differences by criterion").one
    assert table.by_role("row")[1].by_role("cell").texts[1] == "100%"
    for _ in range(4):
        shown = visitor.follow(shown.by_role("link", "Remove run B").one)
    assert shown.by_role("heading", "Row by row, by exact").one.seen
    page.goto(visitor.path)
    page.get_by_label("Another run beside them").select_option(runs[0])
    page.wait_for_url(re.compile(f"c={runs[0]}$"))


def test_a_run_without_answers_is_not_just_worse(server: Server) -> None:
    made = new_eval(server, "No answers")
    first = new_run(server, made, answers(range(3)))
    without = new_run(server, made, [{"item": row["item"]} for row in answers(range(3))])
    page = read(server, path(made, first, without))
    assert page.by_text(re.compile("^B: 40 × this row has no sample")).one.seen


def test_other_versions_of_a_grader_and_other_data_are_said(server: Server) -> None:
    assert server.post("/v1/graders", {"key": "strict", "grader": EXACT}).status == 201
    made = new_eval(server, "Changed", testing_criteria=[{"type": "registered", "key": "strict", "name": "exact"}])
    first = new_run(server, made, answers(range(3)))
    same = new_run(server, made, list(reversed(answers(range(5)))))
    assert server.request("PATCH", "/v1/graders/strict", {"grader": {**EXACT, "operation": "like"}}).status == 200
    later = new_run(server, made, answers(range(3), split="another"))
    page = read(server, path(made, first, same))
    assert page.by_role("table", "Differences by criterion").one.seen
    assert page.by_text("Before you believe a difference") == []  # the order of rows is no difference
    page = read(server, path(made, first, later))
    assert page.by_text("Before you believe a difference").one.seen
    assert page.by_text("“exact”: A was graded by version 1 of strict, B by version 2 of strict.").one.seen
    assert page.by_text("B has other items than A: the data sets differ.").one.seen


def test_what_so_few_rows_cannot_show_is_not_called_a_difference(server: Server) -> None:
    made = new_eval(server, "Close")
    first, second, third = (new_run(server, made, answers(right)) for right in (range(20), range(1, 22), range(20)))
    summary = read(server, path(made, first, second)).by_role("table", "Differences by criterion").one.text
    assert "No difference that 40 rows could show, p = 1.00" in summary
    assert "+2.5" in summary
    page = read(server, path(made, first, third))
    assert "The same on every row." in page.by_role("table", "Differences by criterion").one.text
    assert "The same answer as in A." in page.by_role("article")[0].text
    assert read(server, path(made, first, first)).by_text("This is the same run twice.").one.seen


@pytest.mark.thorough
def test_a_worse_run_is_called_so_and_swapping_the_sides_turns_it_round(server: Server, page: Page) -> None:
    made = new_eval(server, "Worse")
    good, bad = new_run(server, made, answers(range(40)), "good"), new_run(server, made, answers(range(20)), "bad")
    visitor = Visitor(server)
    shown = visitor.go(path(made, good, bad))
    assert shown.by_text("B is worse, p < 0.001").one.seen
    shown = visitor.follow(shown.by_role("link", "Swap").one)
    assert shown.by_text("B is better, p < 0.001").one.seen
    page.goto(visitor.path)
    expect(page.get_by_label("Run A", exact=True).first).to_be_visible()
    page.locator("#side-a").select_option(good)
    page.wait_for_url(f"**/compare?a={good}&b={good}")


def test_rows_are_filtered_by_how_they_changed_and_by_criterion_in_addresses_that_can_be_shared(server: Server) -> None:
    made = new_eval(server, "Filtered", testing_criteria=[EXACT, SIMILAR])
    # The texts of both runs' wrong answers differ, and so do their rewards by similarity.
    first = new_run(server, made, answers(range(1, 16)))
    second = new_run(server, made, answers(range(4, 36), "Is it {}?"))
    visitor = Visitor(server)
    page = visitor.go(path(made, first, second))
    chips = page.by_role("navigation", "Which rows").one.by_role("link")
    assert chips.texts == ["All 40", "Worse 3", "Better 20", "Changed reward", "Both failed 5", "Both passed 12"]
    page = visitor.follow(chips[1])
    assert "change=lost" in visitor.path
    assert len(page.by_role("article")) == 3
    assert page.by_role("navigation", "Pages") == []
    page = visitor.follow(page.by_role("navigation", "Which rows").one.by_role("link")[3])
    assert page.by_role("article") != []
    assert page.by_role("article").containing("Both") == []  # 0 stays 0 by string_check
    page = visitor.follow(page.by_role("navigation", "Criteria").one.by_role("link", re.compile("similar")).one)
    assert re.search(r"criterion=1.*change=moved|change=moved.*criterion=1", visitor.path)
    for _ in range(2):
        page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_role("article").containing("Both failed") != []
    assert page.by_role("article").containing("Both passed") == []
    assert visitor.go(visitor.path).by_role("article").texts == page.by_role("article").texts


def test_every_pair_is_on_exactly_one_page_and_pages_go_back(server: Server) -> None:
    made = new_eval(server, "Paged")
    first, second = new_run(server, made, answers(range(3, 16))), new_run(server, made, answers(range(4, 36)))
    visitor = Visitor(server)
    page = visitor.go(path(made, first, second))
    seen: list[str] = []
    firsts: list[str] = []
    while True:
        found = [link.name for card in page.by_role("article") for link in card.by_role("link", re.compile("of run A"))]
        seen += found
        firsts.append(found[0])
        following = page.by_role("link", "Next")
        if not following:
            break
        page = visitor.follow(following.one)
        assert "at=" in visitor.path
    assert len(seen) == 40
    assert len(set(seen)) == 40
    page = visitor.follow(page.by_role("link", "Previous").one)
    assert firsts[-2] in [link.name for link in page.by_role("article")[0].by_role("link")]


def test_runs_of_different_files_are_matched_by_item_and_the_rest_is_counted(server: Server) -> None:
    made = new_eval(server, "Other files")
    whole = answers(range(20))
    first = new_run(server, made, whole)
    second = new_run(server, made, [*reversed(whole[5:]), {"item": {"answer": "New"}, "sample": "New"}])
    page = read(server, path(made, first, second))
    assert page.by_text("rows are matched by equal items").one.seen
    assert page.by_text("5 rows of A and 1 row of B without a partner").one.seen
    assert page.by_text("35 rows in both").one.seen
    stranger = new_run(server, made, answers(range(40), split="another"))
    page = read(server, path(made, first, stranger))
    assert page.by_text("No rows in common: the rates are compared as they are").one.seen
    assert page.by_text("B is better, p < 0.001").one.seen
    assert page.by_role("heading", "No row in common").one.seen


def test_hostile_items_and_answers_are_shown_and_never_run(server: Server, page: Page) -> None:
    made = new_eval(server, HOSTILE, testing_criteria=[{**EXACT, "name": HOSTILE}])
    item = {HOSTILE: HOSTILE, "answer": HOSTILE}
    first = new_run(server, made, [{"item": item, "sample": HOSTILE}], HOSTILE)
    second = new_run(server, made, [{"item": item, "sample": f"other {HOSTILE} \ud83d"}], HOSTILE)
    page.goto(path(made, first, second))
    card = page.get_by_role("article")
    expect(card.get_by_role("definition").first).to_have_text(HOSTILE)
    expect(card).to_contain_text(HOSTILE)


@pytest.mark.thorough
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


def test_a_long_answer_is_cut_with_the_way_to_all_of_it(server: Server) -> None:
    made = new_eval(server, "Long answers")
    item = {"answer": "x", **{f"field {number}": "long " * 500 for number in range(12)}}
    runs = [new_run(server, made, [{"item": item, "sample": f"{word} " * 20_000}]) for word in ("one", "two")]
    card = read(server, path(made, *runs)).by_role("article").one
    assert card.by_role("link", "All of it")[0].attributes["href"].endswith("/rows/0")
    assert "5 more fields" in card.text
    assert len(card.text) < 20_000


def test_without_two_runs_named_the_newest_are_compared_and_below_two_it_says_what_to_do(server: Server) -> None:
    made = new_eval(server, "Newest")
    assert read(server, f"/evals/{made}/compare").by_role("heading", "There is no run so far").one.seen
    runs = [new_run(server, made, answers(range(number)), f"run {number}") for number in (1, 2, 3)]
    visitor = Visitor(server)
    for query, (first, second) in (("", (1, 2)), (f"?b={runs[0]}", (2, 0)), (f"?a={runs[2]}", (2, 1))):
        visitor.go(f"/evals/{made}/compare{query}")
        assert visitor.path == f"/evals/{made}/compare?a={runs[first]}&b={runs[second]}"
        assert visitor.answer.status == 200


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
