"""The page of one row: what was asked and said, and why every criterion found what it found."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, WIDTHS, Scheme, Width, asked_by, check_page, new_eval, new_run
from tests.web.conftest import Open
from tests.web.forms import get
from tests.web.geography import JURY, SAID, Geography, geography
from tests.web.reading import Element, read, read_answer
from tests.web.visiting import Visitor


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geography]:
    with geography(tmp_path_factory.mktemp("geography"), 30) as found:
        yield found


@pytest.fixture
def there(world: Geography, open_window: Open) -> Page:
    return open_window(world).page


def result(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name)


def judged_in(page: Element, name: str) -> Element:
    return page.by_role("article", name).one


def path_of(server: Server, sample: str | None, **item: object) -> str:
    """The page of the only row of a new run."""
    made = new_eval(server, "one row", testing_criteria=[{**EXACT, "reference": "x"}])
    row = {"item": item, "sample": None if sample is None else {"output_text": sample}}
    return f"/evals/{made}/runs/{new_run(server, made, [row])}/rows/0"


def test_the_row_in_every_look(world: Geography, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(world, scheme, width)
    window.page.goto(f"{world.run}/rows/10")
    expect(window.page.get_by_role("heading", name="Row 10")).to_be_visible()
    check_page(window, "row")


def test_the_conversation_is_shown_and_the_answer_rendered(world: Geography) -> None:
    talk = read(world, f"{world.run}/rows/4").by_role("region", "Conversation").one
    assert talk.by_text("Answer briefly.")[0].seen
    assert talk.css(".md__heading").containing("Paris").one.seen
    assert talk.by_role("heading", "Paris") == []  # no heading of the page
    assert "2,102,650" in talk.by_role("table").one.text
    link = talk.by_role("link", "the article").one
    assert link.attributes["href"] == "https://example.org/paris"
    assert link.attributes["rel"] == "noopener noreferrer nofollow"


def test_the_text_as_it_is_comes_with_a_tick(there: Page, world: Geography) -> None:
    there.goto(f"{world.run}/rows/4")
    raw = there.get_by_label("What the assistant says, as it is")
    expect(raw).to_be_hidden()
    there.get_by_label("Text as it is").check()
    expect(raw).to_be_visible()
    assert raw.inner_text().strip() == SAID.strip()
    expect(there.get_by_role("heading", name="Paris", exact=True)).to_be_hidden()


def test_an_answer_in_json_is_shown_as_json(world: Geography) -> None:
    said = read(world, f"{world.run}/rows/3").by_label("What the assistant says", exact=True).one
    assert '"people": 68000000' in said.text


def test_a_judge_tells_its_steps_and_conclusion_and_what_it_was_asked(world: Geography) -> None:
    judged = judged_in(read(world, f"{world.run}/rows/5"), "helpful and short")
    assert "0.25" in judged.text
    assert "passes from 0.4" in judged.text
    assert "Compare with the reference.Both name Paris." in judged.by_role("listitem")[0].text
    assert "The judge's conclusion 0.25" in judged.text
    assert re.search(r"judge\s*120 tokens\s*\$0\.0003", judged.text)  # 100 at $1 and 20 at $10 a million
    asked = judged.css("details").containing("What the judge was asked").one
    assert not asked.by_text("You grade answers.")[0].seen  # until it is opened
    answer = judged.css("details").containing("Its answer, word for word").one.by_label("The judge's answer").one
    assert '"result": 0.25' in answer.text


def test_code_tells_its_traceback_and_what_it_printed(world: Geography) -> None:
    judged = judged_in(read(world, f"{world.run}/rows/3"), "well formed")
    wrong = judged.by_label("What went wrong").one.text
    assert "line 4, in grade" in wrong
    assert "ValueError: no city in What is the capital of France?" in wrong
    assert judged.by_label("Printed by the grader").one.text == "looking at 3"
    assert "Error" in judged.text


def test_a_reward_of_parts_tells_each(world: Geography) -> None:
    judged = judged_in(read(world, f"{world.run}/rows/4"), "all together")
    parts = judged.by_role("list", "Made of").one.by_role("listitem")
    assert re.search(r"other\s*string_check\s*1", parts[1].text)
    assert "Paris" in parts[0].css("details")[0].by_label("Reference, filled in").one.text
    formula = judged.css(".formula").one.text
    assert "0.5 * alike + 0.5 * other" in formula
    assert re.search(r"= 0\.5 \* 0\.0\d+ \+ 0\.5 \* 1\s*= 0\.5\d*", formula)


def test_a_rule_shows_both_texts_filled_in_and_where_they_differ(server: Server) -> None:
    judged = judged_in(read(server, path_of(server, "x Y")), "exact")
    assert "0 it does not hold" in judged.text
    assert "Is the input exactly the reference?" in judged.text
    assert "Y" in judged.by_label("Input, filled in").one.text
    assert re.search(r"only here:\s+Y", judged.css("del").one.text)
    assert judged.by_label("Reference, filled in").one.text.endswith("x")
    assert "{{sample.output_text}}" in judged.text
    assert "The reference stands inside the input: like or ilike would hold." in judged.text


def test_code_that_raised_shows_its_line(world: Geography) -> None:
    judged = judged_in(read(world, f"{world.run}/rows/3"), "well formed")
    line = judged.by_label("The grader's source where it failed").one.by_role("row")[3]
    assert line.attributes["class"] == "source__wrong"
    assert 'raise ValueError("no city in "' in line.text


def test_a_panel_is_shown_side_by_side(world: Geography) -> None:
    grader = {
        "type": "score_model",
        "name": "two",
        "model": "judge",
        "n": 2,
        "input": [{"role": "user", "content": "Question {{item.n}}: ?"}],
    }
    eval_id = new_eval(world, "panel", testing_criteria=[grader])
    run_id = new_run(world, eval_id, [{"item": {"n": 5}}])
    (item,) = world.get(f"/v1/evals/{eval_id}/runs/{run_id}/output_items").json()["data"]
    said = item["results"][0]["judgements"]
    assert [(each["model"], each["cost"], "input" in each) for each in said] == [("judge", 0.0003, False)] * 2
    shown = read(world, f"/evals/{eval_id}/runs/{run_id}/rows/0")
    judges = shown.by_label("What each judge said").one.css(".panel__judge")
    assert len(judges) == 2
    for judge in judges:
        assert "The judge's conclusion 0.25" in judge.text
        assert "Question 5: ?" in judge.css("details").containing("What the judge was asked").one.text


def test_no_judge_of_a_panel_is_out_of_sight(world: Geography, open_window: Open) -> None:
    eval_id = new_eval(world, "many", testing_criteria=[{**JURY, "n": 2}])
    run_id = new_run(world, eval_id, [{"item": {"n": 4}}])
    page = open_window(world, width="phone").page
    page.goto(f"/evals/{eval_id}/runs/{run_id}/rows/0")
    judges = result(page, "jury").locator(".panel__judge")
    expect(judges).to_have_count(4)
    rights = [judge.bounding_box() for judge in judges.all()]
    assert all(box is not None and box["x"] + box["width"] <= WIDTHS["phone"] for box in rights), rights


def test_who_differed_from_the_panel_is_marked(
    world: Geography, open_window: Open, scheme: Scheme, width: Width
) -> None:
    eval_id = new_eval(world, "jury", testing_criteria=[JURY])
    run_id = new_run(world, eval_id, [{"item": {"n": n}} for n in (4, 10)])
    window = open_window(world, scheme, width)
    page = window.page
    page.goto(f"/evals/{eval_id}/runs/{run_id}/rows/0")
    judged = result(page, "jury")
    expect(judged).to_contain_text("The judges split. Differed from the panel: judge.")  # 0.2 and 0.8: 0.5 passes
    judges = judged.locator(".panel__judge")
    expect(judges.nth(0)).to_contain_text(re.compile(r"judge\s*differs\s*The judge's conclusion 0.2"))
    expect(judges.nth(1)).to_contain_text(re.compile(r"contrary\s*The judge's conclusion 0.8"))
    check_page(window, "row-jury")
    agreed = judged_in(read(world, f"/evals/{eval_id}/runs/{run_id}/rows/1"), "jury")
    assert len(agreed.css(".panel__judge")) == 2
    assert "split" not in agreed.text
    assert "differs" not in agreed.text


def test_an_error_says_what_was_missing_and_shows_no_reward(world: Geography) -> None:
    judged = judged_in(read(world, f"{world.run}/rows/5"), "all together")
    assert "Error" in judged.text
    assert 'this item has no field "known"' in judged.text
    assert judged.css(".judged__reward") == []
    assert re.search(r"other\s*string_check\s*error", judged.by_role("listitem")[1].text)


def test_next_and_previous_stay_within_the_choice(world: Geography) -> None:
    visitor = Visitor(world)
    page = visitor.go(f"{world.run}?status=error&sort=-row")
    page = visitor.follow(page.css(".rows__number a")[1])
    assert visitor.path == f"{world.run}/rows/24?status=error&sort=-row"
    page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_role("heading", "Row 20").one.seen
    for number in (24, 25):
        page = visitor.follow(page.by_role("link", "Previous").one)
        assert page.by_role("heading", f"Row {number}").one.seen
    assert page.by_role("link", "Previous") == []
    visitor.follow(page.by_role("link", "student, temperature 1").one)
    assert visitor.path == f"{world.run}?status=error&sort=-row"


@pytest.mark.thorough
def test_keys_lead_to_the_next_row_and_to_the_one_before(there: Page, world: Geography) -> None:
    there.goto(f"{world.run}/rows/24?status=error&sort=-row")
    for key, number in (("j", 20), ("k", 24), ("ArrowLeft", 25), ("ArrowRight", 24)):
        there.keyboard.press(key)
        expect(there.get_by_role("heading", name=f"Row {number}")).to_be_visible()


def test_its_link_can_be_copied(world: Geography, open_window: Open) -> None:
    page = open_window(world).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{world.run}/rows/4?status=pass")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == f"{world.url}{world.run}/rows/4?status=pass"


def test_all_of_it_is_there_as_json(world: Geography) -> None:
    answer = get(world, f"{world.run}/rows/4.json")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["datasource_item"]["n"] == 4


@pytest.mark.parametrize("idx", ["30", "99999999999", "2147483648", "1e3", "-1"])
@pytest.mark.parametrize("ending", ["", ".json"])
def test_a_row_that_is_not_there_is_told(world: Geography, idx: str, ending: str) -> None:
    answer = get(world, f"{world.run}/rows/{idx}{ending}")
    assert answer.status == 404
    assert b"There is nothing here" in answer.body


@pytest.mark.parametrize(
    "sample",
    [
        HOSTILE,
        "[click](javascript:console.error('ran'))",
        "![x](https://tracker.example/x.png)",
        '{"a": "<script>console.error(1)</script>"}',
        "<iframe src='https://evil.example'></iframe>",
    ],
)
def test_hostile_texts_are_read_and_never_run(server: Server, page: Page, sample: str) -> None:
    with asked_by(page) as asked:
        page.goto(path_of(server, sample, **{HOSTILE: sample, "deep": {HOSTILE: [HOSTILE]}}))
        expect(page.get_by_role("heading", name="Row 0")).to_be_visible()
    assert asked
    assert page.locator("main script, main img, main iframe, main a[href^='javascript']").count() == 0
    assert all(url.startswith(server.url) for url in asked)


def test_values_of_every_kind_are_shown(server: Server) -> None:
    page = read(
        server, path_of(server, "", empty="", none=None, yes=True, many=list(range(200)), half="\ud83d", number=-1.5)
    )
    item = page.by_role("region", "Item").one
    for shown in ("empty", "null", "true", "-1.5"):
        assert shown in item.text
    assert "199" in item.by_label("many").one.text
    sample = page.by_role("region", "Sample").one.text
    assert "Nothing." in sample
    assert "no sample" not in sample  # an empty answer is one
    assert "This row has no sample." in read(server, path_of(server, None)).by_role("region", "Sample").one.text


@pytest.mark.thorough
def test_a_page_of_a_long_row_is_cut_and_says_so(server: Server) -> None:
    answer = get(server, path_of(server, "word " * 30_000, many=[{"a": n} for n in range(30_000)]))
    page = read_answer(answer)
    assert "100,000 more characters are in the row's JSON" in page.css(".cut")[0].text
    assert "only its start is shown here" in page.css(".row__cut").one.text
    assert len(answer.body) < 1_500_000


PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501


def test_conversations_formulas_and_pictures_are_shown(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Paris"}'}}
    chat = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": PNG}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"people": 2}'},
    ]
    said = r"So $x^2$ and $\\href{javascript:x}{y}$, \\undefined{}: $$\\frac{1}{2}$$"
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(path_of(server, said.replace("\\\\", "\\"), chat=chat, arabic="\u0645\u0627", long="word " * 2000))
    expect(page.locator(".math math").first).to_be_visible()
    expect(page.locator(".math--display mfrac")).to_have_count(1)
    assert page.locator("main [href^='javascript']").count() == 0
    item = page.get_by_role("region", name="Item")
    assert item.locator("img").evaluate("img => img.decode().then(() => img.naturalWidth)") == 1
    item.get_by_text("look_up").click()
    expect(item.get_by_label("Arguments of look_up")).to_contain_text('"city": "Paris"')
    expect(item.get_by_label("What the tool says", exact=True)).to_contain_text('"people": 2')
    expect(item.locator("[dir=auto]").filter(has_text="\u0645\u0627").first).to_be_visible()
    item.get_by_role("button", name="Show all").click()
    expect(item.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")
    check_page(window, "row-said")


def test_a_sample_of_tool_calls_alone_is_kept_and_shown(server: Server) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Paris"}'}}
    eval_id = new_eval(server, "tools")
    sample = {"output_text": "", "output_tools": [call]}
    run_id = new_run(server, eval_id, [{"item": {"answer": ""}, "sample": sample}])
    (item,) = server.get(f"/v1/evals/{eval_id}/runs/{run_id}/output_items").json()["data"]
    assert item["sample"]["output"][0]["tool_calls"] == [call]
    shown = get(server, f"/evals/{eval_id}/runs/{run_id}/rows/0").body.decode()
    assert "This row has no sample." not in shown
    assert "Calls of tools" in shown
    assert "look_up" in shown
    assert "look_up" in get(server, f"/evals/{eval_id}/runs/{run_id}").body.decode()  # in the list of rows too
