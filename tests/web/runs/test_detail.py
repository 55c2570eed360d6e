"""The page of a run that has ended: numbers, pictures, and its rows by filter, search, order and page."""

import gzip
import html
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import (
    HOSTILE,
    Scheme,
    Width,
    check_accessible,
    check_no_sideways_scroll,
    check_page,
    new_eval,
    new_run,
    rows,
)
from tests.web.conftest import Keyed, Open
from tests.web.forms import HTML, get, post, send
from tests.web.geography import JURY, Geography, geography
from tests.web.reading import Element, read, read_answer
from tests.web.visiting import Visitor

# In every fifth row a variable is missing; in every seventh, from the third on, a grader's own code raises.
ERRORS = sorted({*range(0, 60, 5), *range(3, 60, 7)})
FEW = 12


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geography]:
    with geography(tmp_path_factory.mktemp("geography")) as found:
        yield found


@pytest.fixture(scope="module")
def few(world: Geography) -> str:
    """A run of FEW rows, which a browser shows in a quarter of the time that a full page takes."""
    path = world.start(FEW)
    world.wait(path)
    return path


@pytest.fixture
def here(world: Geography, few: str, open_window: Open) -> Page:
    """A window on the page of the run of few rows."""
    page = open_window(world).page
    page.goto(few)
    return page


@pytest.fixture
def paged(world: Geography, open_window: Open) -> Page:
    """A window on the first of two pages of a run."""
    page = open_window(world).page
    page.goto(world.run)
    return page


def numbers(page: Page) -> list[int]:
    """Of the rows that are shown, in their order."""
    return [int(each.removeprefix("Row ")) for each in page.locator(".rows__number").all_inner_texts()]


def numbers_in(page: Element) -> list[int]:
    return [int(each.removeprefix("Row ")) for each in page.css(".rows__number").texts]


def criterion(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name)


def new_path(server: Server, eval_id: str, right: int, wrong: int = 0, broken: int = 0, name: str = "a run") -> str:
    return f"/evals/{eval_id}/runs/{new_run(server, eval_id, rows(right, wrong, broken), name)}"


def test_the_run_in_every_look(world: Geography, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(world, scheme, width)
    # The last rows: there are some of every outcome, and all that is around them, but no fifty of the same kind.
    window.page.goto(read(world, world.run).by_role("link", "Next").one.attributes["href"])
    expect(window.page.get_by_text("51 – 60 of 60 rows")).to_be_visible()
    expect(window.page.get_by_role("heading", name="student, temperature 1")).to_be_visible()
    check_page(window, "run")


def test_errors_are_counted_apart_from_failures(world: Geography) -> None:
    told = read(world, world.run).by_label("How it went").one
    for name, value in (("Passed", "21"), ("Failed", "20"), ("Errors", "19"), ("Skipped", "0")):
        assert value in told.css(".stat").containing(name).one.text
    rate = told.css(".stat").containing("Pass rate").one.text
    assert "51.2%" in rate  # 21 of 41 that were graded
    assert "36.5% to 65.7%" in rate
    assert "60 rows" in told.text
    assert "student" in told.text


def test_a_criterion_tells_its_rate_with_its_interval_and_where_it_passes(world: Geography) -> None:
    page = read(world, world.run)
    judged = page.by_role("article", "helpful and short").one
    assert "60.0%" in judged.text
    assert "47.4% to 71.4% with 95% confidence" in judged.text
    assert "36 passed" in judged.text
    assert "24 failed" in judged.text
    plot = judged.by_role("img", re.compile("60 rewards from 0 to 0.95, 0.475 on average; 0.4 passes")).one
    assert plot.by_text("passes from 0.4").one.seen
    assert len(plot.css(".dist__fail")) == 8  # 0, 0.05, … 0.35
    assert len(plot.css(".dist__pass")) == 12
    assert "12 errors" in page.by_role("article", "all together").one.text


@pytest.mark.thorough
def test_the_plot_of_a_criterion_is_seen(here: Page) -> None:
    plot = criterion(here, "helpful and short").get_by_role("img", name=re.compile(f"{FEW} rewards from 0 to 0.55"))
    expect(plot).to_be_visible()
    expect(plot.get_by_text("passes from 0.4")).to_be_visible()


def test_a_criterions_grader_is_there_to_read(here: Page) -> None:
    judged = criterion(here, "well formed")
    source = judged.get_by_label("The JSON of well formed")
    expect(source).to_be_hidden()
    judged.get_by_text("Grader", exact=True).click()
    expect(source).to_contain_text("raise ValueError")


def test_tokens_and_cost_are_told_by_model(world: Geography) -> None:
    page = read(world, world.run)
    table = page.by_role("region", "Use of models").one
    assert "60" in table.by_role("row", re.compile("^judge")).one.text
    assert table.by_role("row", re.compile("^student")).one.seen
    assert "$" in page.css(".stat").containing("Cost").one.text


def test_a_filter_shows_its_rows_and_keeps_its_address(here: Page) -> None:
    errors = [number for number in ERRORS if number < FEW]
    here.locator("label", has_text="Errors 4").click()
    expect(here.get_by_text("4 of 4 rows")).to_be_visible()
    expect(here).to_have_url(re.compile(r"\?status=error$"))
    assert numbers(here) == errors
    here.reload()
    expect(here.get_by_role("radio", name="Errors 4")).to_be_checked()
    assert numbers(here) == errors


@pytest.mark.thorough
def test_rows_are_chosen_by_what_one_criterion_found(here: Page) -> None:
    here.get_by_label("Criterion").select_option(label="well formed: failed")
    expect(here).to_have_url(re.compile(r"\?criterion=3-fail$"))
    expect(here.locator(".rows__score:nth-child(7) .score--fail")).to_have_count(len(numbers(here)))
    assert 3 not in numbers(here)  # its code raised an error, which is no answer
    criterion(here, "helpful and short").get_by_role("link", name="8 failed").click()
    expect(here).to_have_url(re.compile(r"\?criterion=2-fail$"))
    expect(here.get_by_text("8 of 8 rows")).to_be_visible()
    expect(here.get_by_label("Criterion")).to_have_value("2-fail")  # the form follows the link


@pytest.mark.thorough
def test_a_column_sorts_up_and_down(here: Page) -> None:
    head = here.get_by_role("columnheader", name=re.compile("helpful and short"))
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(here).to_have_url(re.compile(r"\?sort=2$"))
    assert numbers(here) == list(range(FEW))
    expect(here.get_by_label("Sort")).to_have_value("2")
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert numbers(here) == list(range(FEW))[::-1]
    here.get_by_label("Sort").select_option(label="Last row first")
    expect(here).to_have_url(re.compile(r"\?sort=-row$"))
    expect(here.locator(".rows__number").first).to_have_text("11", use_inner_text=True)


def test_rows_of_the_same_reward_are_in_their_order_or_all_backwards(world: Geography) -> None:
    up, down = (numbers_in(read(world, f"{world.run}?sort={sort}")) for sort in ("2", "-2"))
    assert up[:6] == [0, 20, 40, 1, 21, 41]
    assert down[:6] == [59, 39, 19, 58, 38, 18]


def test_what_could_not_be_graded_is_last_in_both_directions(world: Geography) -> None:
    for sort in ("4", "-4"):
        shown = read(world, f"{world.run}?sort={sort}&at=last")
        assert numbers_in(shown)[-12:] == sorted(range(0, 60, 5), reverse=sort == "-4")


def test_a_search_finds_words_of_items_and_samples_while_typing(here: Page) -> None:
    here.get_by_role("searchbox").press_sequentially("wAY 11")
    expect(here.get_by_text("1 – 1", exact=True)).to_be_visible()
    assert numbers(here) == [11]
    expect(here).to_have_url(re.compile(r"\?q=wAY\+11$|\?q=wAY%2011$"))
    here.get_by_role("searchbox").fill("Nowhere")
    expect(here.get_by_text("No row is like that")).to_be_visible()
    here.get_by_role("link", name="Show all rows").click()
    expect(here.get_by_text("1 – 12 of 12 rows")).to_be_visible()


@pytest.mark.thorough
def test_pages_go_on_and_back_and_to_the_end(world: Geography) -> None:
    visitor = Visitor(world)
    page = visitor.go(world.run)
    assert page.by_text("1 – 50 of 60 rows").one.seen
    page = visitor.follow(page.by_role("navigation", "Pages").one.by_role("link", "Next").one)
    assert page.by_text("51 – 60 of 60 rows").one.seen
    assert numbers_in(page) == numbers_in(visitor.go(visitor.path)) == list(range(50, 60))
    page = visitor.follow(page.by_role("navigation", "Pages").one.by_role("link", "Previous").one)
    assert page.by_text("1 – 50 of 60 rows").one.seen
    page = visitor.follow(page.by_role("navigation", "Pages").one.by_role("link", "Last").one)
    assert page.by_role("navigation", "Pages").one.by_role("link", "Next") == []
    assert numbers_in(page) == list(range(10, 60))


@pytest.mark.thorough
def test_the_page_before_comes_in_place_and_the_browsers_way_back_leads_back(
    world: Geography, open_window: Open
) -> None:
    page = open_window(world).page
    page.goto(read(world, world.run).by_role("link", "Next").one.attributes["href"])
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Previous").click()
    expect(page.get_by_text("1 – 50 of 60 rows")).to_be_visible()
    assert numbers(page) == list(range(50))
    page.go_back()
    expect(page.get_by_text("51 – 60 of 60 rows")).to_be_visible()
    assert numbers(page) == list(range(50, 60))


def test_everything_works_without_script(world: Geography) -> None:
    shown = get(world, f"{world.run}?status=error&sort=-row").body.decode()
    found = re.findall(r"rows/(\d+)\?status=error", shown)
    assert [int(each) for each in found] == ERRORS[::-1]
    assert 'method="get" action="' + world.run in shown
    assert '<input type="radio" name="status" value="error" checked>' in shown


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("status=good", "status: unknown status &#34;good&#34;. Use one of: pass, fail, error, skip."),
        ("criterion=9-fail", "criterion: there is no criterion &#34;9&#34;. Use a number from 1 to 4."),
        ("criterion=1", "Use one of: pass, fail, error, skip."),
        ("criterion=1-good", "Use one of: pass, fail, error, skip."),
        ("sort=x", "sort: there is no criterion &#34;x&#34;. Use a number from 1 to 4."),
        ("sort=99999999999999", "sort: there is no criterion"),
        ("at=nowhere", "at: &#34;nowhere&#34; is no place in this list."),
    ],
)
def test_an_address_that_makes_no_sense_says_what_would(world: Geography, query: str, message: str) -> None:
    answer = get(world, f"{world.run}?{query}")
    assert answer.status == 400
    assert message in answer.body.decode()


def test_a_run_that_nobody_has_is_a_page_in_human_words(world: Geography) -> None:
    answer = get(world, "/evals/eval_x/runs/evalrun_x")
    assert answer.status == 404
    assert b"There is nothing here" in answer.body


def test_the_report_url_leads_to_the_page(world: Geography) -> None:
    assert world.get(f"/v1{world.run}").json()["report_url"] == world.url + world.run


def test_the_page_is_small(world: Geography) -> None:
    answer = send(world, "GET", world.run, {**HTML, "accept-encoding": "gzip"})
    assert len(answer.body) < 30_000
    assert gzip.decompress(answer.body).startswith(b"<!doctype html>")


def test_a_run_is_deleted_only_after_a_question(server: Server, page: Page) -> None:
    made = new_eval(server, "to be deleted")
    path = new_path(server, made, 1, name="short lived")
    page.goto(path)
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog", name="Delete this run?")
    expect(question).to_contain_text("short lived")
    check_accessible(page)
    question.get_by_role("button", name="Keep it").click()
    expect(question).to_be_hidden()
    page.get_by_role("button", name="Delete").click()
    question.get_by_role("button", name="Delete the run").click()
    page.wait_for_url(f"**/evals/{made}")
    expect(page.get_by_role("status")).to_contain_text("The run “short lived” is deleted.")
    assert server.get(f"/v1{path}").status == 404


def test_a_forged_request_deletes_nothing(server: Server) -> None:
    path = new_path(server, new_eval(server, "kept"), 1)
    for what in ("delete", "cancel"):
        assert send(server, "POST", f"{path}/{what}", HTML, b"").status == 403
    assert server.get(f"/v1{path}").json()["status"] == "completed"


def test_compare_leads_to_the_run_before(server: Server) -> None:
    made = new_eval(server, "three runs")
    first = new_path(server, made, 1)
    assert read(server, first).by_role("link", "Compare") == []
    second = new_path(server, made, 2)
    third = new_path(server, made, 3)
    for one, other in ((third, second), (second, first), (first, third)):
        a, b = other.rpartition("/")[2], one.rpartition("/")[2]
        link = read(server, one).by_role("link", "Compare").one
        assert link.attributes["href"] == f"/evals/{made}/compare?a={a}&b={b}"


def test_why_rows_were_skipped_and_why_a_run_stopped_is_told(world: Geography) -> None:
    spent = world.start(30, "short of money", budget={"dollars": 0.000001})
    late = world.start(3, "late", deadline_s=0.000001)
    for path in (spent, late):
        world.wait(path)
    told = re.compile("rows? w.* skipped. The run had a budget of < \\$0.0001")
    assert read(world, spent).by_text(told).one.seen
    visitor = Visitor(world)
    page = visitor.go(late)
    assert page.by_text("3 rows were skipped. The run had a deadline of 0 ms; what came after").one.seen
    assert page.by_role("radio", "Skipped 3").one.value == "skip"
    page = visitor.go(f"{late}?status=skip")
    page = visitor.follow(page.css(".rows__number a")[1])
    assert page.by_text("the run's deadline")[0].seen


def test_a_run_without_a_name_goes_by_its_id(server: Server) -> None:
    path = new_path(server, new_eval(server, "nameless"), 1, name="")
    assert read(server, path).by_role("heading", path.rpartition("/")[2]).one.tag == "h1"


def test_hostile_names_and_rows_are_shown_and_never_run(server: Server, page: Page) -> None:
    made = new_eval(server, HOSTILE, testing_criteria=[{**EXACT, "name": HOSTILE}])
    hostile = {"item": {"answer": HOSTILE, HOSTILE: HOSTILE}, "sample": {"output_text": HOSTILE}}
    path = f"/evals/{made}/runs/{new_run(server, made, [hostile], HOSTILE)}"
    page.goto(path)
    expect(page.get_by_role("heading", name=HOSTILE).first).to_be_visible()
    page.goto(f"{path}?q=<img src=x onerror=console.error(1)>")
    expect(page.get_by_role("searchbox")).to_have_value("<img src=x onerror=console.error(1)>")
    page.get_by_role("searchbox").fill("")
    page.locator(".rows__number a").click()
    expect(page.get_by_text(HOSTILE).first).to_be_visible()


@pytest.mark.thorough
def test_rows_of_megabytes_do_not_make_a_page_of_megabytes(server: Server) -> None:
    made = new_eval(server, "long", testing_criteria=[{**EXACT, "operation": "ne"}])
    long = "x1 " * 1_700_000
    path = f"/evals/{made}/runs/{new_run(server, made, [{'item': {'answer': long}, 'sample': {'output_text': long}}])}"
    assert len(get(server, path).body) < 100_000
    shown = get(server, f"{path}/rows/0")
    told = "This row is 10.2 MB long, and only its start is shown here."
    assert read_answer(shown).by_text(told).one.seen
    assert len(shown.body) < 400_000
    assert len(get(server, f"{path}/rows/0.json").body) > 10_000_000


def test_other_projects_see_no_run(keyed: Keyed) -> None:
    mine, other = ({"authorization": f"Bearer {key}"} for key in (keyed.key, keyed.other_key))
    made = new_eval(keyed, "ours", mine)
    path = f"/evals/{made}/runs/{new_run(keyed, made, rows(1), headers=mine)}"
    for below in ("", "/events", "/download.jsonl", "/download.csv", "/rows/0", "/rows/0.json"):
        assert keyed.get(path + below, mine).status == 200, below
        assert keyed.get(path + below, other).status == 404, below
        assert keyed.get(path + below).status == 401, below


def test_registered_graders_are_told_with_their_versions(server: Server) -> None:
    assert server.post("/v1/graders", {"key": "house-exact", "grader": EXACT}).status == 201
    made = new_eval(
        server, "by reference", testing_criteria=[{"type": "registered", "key": "house-exact", "name": "ours"}]
    )
    card = read(server, new_path(server, made, 1, 1)).by_role("article")[0]
    assert "Registered as house-exact, version 1" in card.text


def test_to_cancel_a_run_that_has_ended_changes_nothing(server: Server) -> None:
    path = new_path(server, new_eval(server, "ended"), 1)
    answer = post(server, f"{path}/cancel", {}, get(server, path))
    assert answer.headers["location"] == path
    assert "had%20already%20ended" in answer.headers["set-cookie"]
    assert server.get(f"/v1{path}").json()["status"] == "completed"


def test_reasons_of_errors_are_told_with_counts_and_show_their_rows(server: Server) -> None:
    path = new_path(server, new_eval(server, "reasons"), 3, 1, 2)
    run = server.get(f"/v1{path}").json()
    (reason,) = run["error_reasons"]
    assert reason["count"] == 2
    assert 'this item has no field "answer"' in reason["reason"]
    visitor = Visitor(server)
    page = visitor.go(path)
    assert page.by_text("2 rows of 6 could not be graded.").one.seen
    table = page.by_role("table", "Reasons of errors").one
    assert len(table.by_role("row")) == 2
    page = visitor.follow(table.by_role("link").one)
    assert numbers_in(page) == [4, 5]
    assert page.by_text("2 of 2 rows").one.seen
    page = visitor.follow(page.css("[id=filter]").one.by_role("link", "Show all rows").one)
    assert len(numbers_in(page)) == 6


def test_few_errors_are_no_headline(server: Server) -> None:
    path = new_path(server, new_eval(server, "few errors"), 19, 0, 1)
    shown = get(server, path).body.decode()
    assert "look at the reasons" not in shown
    assert "Why rows could not be graded" in shown


def test_warnings_of_rows_are_told_once_with_counts(server: Server) -> None:
    eval_id = new_eval(server, "warned")
    run_id = new_run(server, eval_id, [{"item": {"answer": "Paris"}}] * 3)
    (warning,) = server.get(f"/v1/evals/{eval_id}/runs/{run_id}").json()["warnings"]
    assert warning["count"] == 3
    assert warning["warning"] in html.unescape(get(server, f"/evals/{eval_id}/runs/{run_id}").body.decode())


@pytest.mark.parametrize("reason", ["x", "1.5", "99999999999999999999", "-"])
def test_a_reason_that_is_no_number_is_told(server: Server, reason: str) -> None:
    path = new_path(server, new_eval(server, "no reason"), 1)
    assert get(server, f"{path}?reason={reason}").status == 400


def expect_focus(page: Page, name: str) -> None:
    """It comes a moment after what is seen, once HTMX has settled what it swapped."""
    expect(page.locator(f"#{name}")).to_be_focused()


@pytest.mark.thorough
def test_the_focus_stays_where_it_was_after_sorting_and_paging(paged: Page) -> None:
    here = paged
    here.locator("#sort-2").focus()
    here.keyboard.press("Enter")
    expect(here).to_have_url(re.compile(r"\?sort=2$"))
    expect(here.get_by_role("columnheader", name="helpful and short")).to_have_attribute("aria-sort", "ascending")
    expect_focus(here, "sort-2")
    here.get_by_role("link", name="Next").focus()
    here.keyboard.press("Enter")
    expect(here.get_by_text("51 – 60 of 60 rows")).to_be_visible()
    expect(here.locator(":focus")).to_have_count(1)  # although there is no next page any more


@pytest.mark.thorough
def test_keys_reach_search_rows_and_pages_and_are_listed(here: Page) -> None:
    here.keyboard.press("/")
    expect_focus(here, "q")
    here.keyboard.press("?")  # into the field
    expect(here.get_by_role("dialog")).to_have_count(0)
    here.locator("#rows-title").click()
    here.keyboard.press("?")
    expect(here.get_by_role("dialog", name="Shortcuts")).to_contain_text("Search the rows")
    here.keyboard.press("Escape")
    here.keyboard.press("g")
    expect_focus(here, "jump")
    here.keyboard.type("7")
    here.keyboard.press("Enter")
    expect(here.get_by_role("heading", name="Row 7")).to_be_visible()
    here.keyboard.press("a")
    expect(here.get_by_label("Text as it is")).to_be_checked()
    here.keyboard.press("u")
    expect(here.get_by_role("heading", name="student, temperature 1")).to_be_visible()


@pytest.mark.thorough
def test_columns_are_chosen_with_fields_of_their_own_and_stay_with_filters(here: Page) -> None:
    table = here.get_by_role("table", name="Rows", exact=True)
    headings = table.get_by_role("columnheader")
    here.get_by_text("Columns", exact=True).click()
    here.get_by_role("checkbox", name="item.answer").check()
    expect(headings.nth(3)).to_have_text("answer")
    here.get_by_role("checkbox", name="well formed").uncheck()
    here.get_by_role("checkbox", name="Item", exact=True).uncheck()
    expect(headings).to_have_text(
        [re.compile("^Row"), "Outcome", "answer", "Sample", "mentions Paris", "helpful and short", "all together"]
    )
    here.keyboard.press("Escape")
    here.get_by_role("radio", name=re.compile("^Failed")).check()
    expect(here).to_have_url(re.compile("status=fail.*show=sample"))
    expect(headings).to_have_count(7)
    expect(table.get_by_role("row").nth(1)).to_contain_text("Paris")
    here.reload()
    expect(headings).to_have_count(7)
    here.get_by_text("Columns", exact=True).click()
    for name, change in (("Item", True), ("well formed", True), ("item.answer", False)):
        here.get_by_role("checkbox", name=name, exact=True).set_checked(change)
    expect(here).to_have_url(re.compile(r"status=fail$"))  # the usual ones need not be named


@pytest.mark.thorough
def test_a_view_is_kept_under_its_name_for_the_other_runs_of_the_eval(server: Server, page: Page) -> None:
    made = new_eval(server, "Views")
    first, second = (new_path(server, made, 3, 2, name=name) for name in ("one", "two"))
    page.goto(f"{first}?status=fail&at=after_0&n=1")
    page.get_by_role("button", name="Save view").click()
    page.get_by_role("dialog").get_by_label("Name").fill(f"failed {HOSTILE}")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Save view")).to_be_focused()
    page.goto(second)
    views = page.get_by_role("list", name="Saved views")
    views.get_by_role("link", name="failed").click()
    expect(page).to_have_url(re.compile(f"{second}\\?status=fail#rows$"))
    expect(page.get_by_text("1 – 2 of 2 rows")).to_be_visible()
    views.get_by_role("button", name="Forget the view failed").click()
    expect(views).to_be_hidden()
    expect(page.get_by_role("button", name="Save view")).to_be_focused()


@pytest.mark.thorough
def test_at_twice_the_size_nothing_is_cut_off(world: Geography, open_window: Open, few: str) -> None:
    window = open_window(world)
    window.page.set_viewport_size({"width": 640, "height": 450})  # a window of 1280 px at 200 %
    for path in (
        "/evals",
        world.eval,
        few,
        f"{few}/rows/3",
        "/evals/new",
        f"{world.eval}/new-run",
        "/models",
    ):
        window.page.goto(path)
        expect(window.page.get_by_role("heading", level=1)).to_be_visible()
        check_no_sideways_scroll(window.page)


def test_rows_on_which_judges_split_are_counted_and_chosen(world: Geography) -> None:
    eval_id = new_eval(world, "juries", testing_criteria=[JURY, {**EXACT, "reference": "x"}])
    given = [{"item": {"n": n, "answer": "x"}, "sample": {"output_text": "x"}} for n in (4, 10, 7)]
    path = f"/evals/{eval_id}/runs/{new_run(world, eval_id, given)}"
    visitor = Visitor(world)
    page = visitor.go(path)
    assert page.by_role("article", "jury").one.by_role("link", "2 split").one.seen
    assert page.by_role("article", "exact").one.by_role("link", "split") == []
    assert page.by_label("Judges").one.css("option").containing("Split")[0].value == "any"
    page = visitor.go(f"{path}?split=any")
    assert numbers_in(page) == [0, 2]
    assert "the judges split" in page.by_label("Filters").one.text
    assert "1 – 2 of 2 rows" in page.css(".pagination").one.text
    page = visitor.go(f"{path}?split=1&sort=-row")
    assert numbers_in(page) == [2, 0]
    assert "split" in page.css(".rows__score")[0].text
    page = visitor.follow(page.css(".rows__number a")[0])
    page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_role("heading", "Row 0").one.seen
    assert read(world, world.run).by_label("Judges") == []
