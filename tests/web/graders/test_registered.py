"""The registered graders: list, one of them, versions."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page
from tests.web.conftest import Keyed, Open, Start
from tests.web.forms import get
from tests.web.judge import kept_grader, new_grader
from tests.web.reading import read
from tests.web.visiting import Visitor

SIMILAR = {
    "type": "text_similarity",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "rouge_l",
    "pass_threshold": 0.7,
}
PYTHON = {"type": "python", "source": "def grade(sample, item):\n    return 0.5  # half\n"}
JUDGE = {
    "type": "binary_judge",
    "model": "gpt-4.1-mini",
    "criteria": "The reply answers the question and nothing else.",
    "examples": [
        {
            "input": [{"role": "user", "content": "What is the capital of France?"}],
            "output": "Paris.",
            "passes": True,
            "reasoning": "Short and right.",
        },
        {
            "input": [{"role": "user", "content": "What is the capital of France?"}],
            "output": "Paris, and let me tell you about its history.",
            "passes": False,
            "reasoning": "It goes on.",
        },
        {"input": [], "output": "Nothing was said about this one.", "passes": False},
    ],
    "system_template": "You judge replies by: {{{criteria}}}\n{{#each examples}}{{{output}}} {{/each}}",
}


def change(server: Server, key: str, **changes: object) -> None:
    assert server.request("PATCH", f"/v1/graders/{key}", changes).status == 200


def test_before_the_first_grader_the_page_says_what_one_is_and_offers_to_write_it(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(start(), scheme, width)
    window.page.goto("/graders")
    expect(window.page.get_by_text("No grader is kept here yet")).to_be_visible()
    check_page(window, "graders-empty")
    window.page.get_by_role("link", name="New grader").click()
    expect(window.page).to_have_url(re.compile("/graders/new$"))
    expect(window.page.get_by_role("link", name="String check")).to_be_visible()
    expect(window.page.get_by_text("Compare two texts; the reward is 1 or 0.")).to_be_visible()
    check_page(window, "graders-new")
    window.page.get_by_role("link", name="Faithfulness").click()
    expect(window.page).to_have_url(re.compile("/graders/new/faithfulness$"))


def test_graders_are_listed_with_kind_version_and_lock(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    new_grader(server, "exact-match", EXACT, name="Exact match")
    new_grader(server, "similar", SIMILAR, name="Similar enough")
    new_grader(server, "half", PYTHON, name="A name that goes on and on, as names do that people give in a hurry " * 2)
    change(server, "similar", grader={**SIMILAR, "pass_threshold": 0.8})
    change(server, "similar", locked=True)
    window = open_window(server, scheme, width)
    window.page.goto("/graders")
    row = window.page.get_by_role("row").filter(has_text="Similar enough")
    expect(row).to_contain_text("similar")
    expect(row).to_contain_text("Text similarity")
    expect(row.get_by_role("cell").nth(2)).to_have_text("2")
    expect(row.get_by_text("Locked", exact=True)).to_be_visible()
    expect(row.get_by_role("button", name="Delete Similar enough")).to_be_disabled()
    check_page(window, "graders")


@pytest.mark.thorough
def test_search_and_kind_narrow_the_list_and_stay_in_the_address(server: Server, page: Page) -> None:
    new_grader(server, "search-exact", EXACT, name="Äpfel genau")
    new_grader(server, "search-similar", SIMILAR, name="Birnen")
    page.goto("/graders")
    page.get_by_role("searchbox").press_sequentially("äPFEL")
    expect(page.get_by_role("link", name="Äpfel genau")).to_be_visible()
    expect(page.get_by_role("link", name="Birnen")).to_have_count(0)
    page.get_by_role("searchbox").fill("search-")
    expect(page.get_by_role("link", name="Birnen")).to_be_visible()  # keys are searched too
    page.get_by_label("Kind").select_option("Text similarity")
    expect(page.get_by_role("link", name="Äpfel genau")).to_have_count(0)
    expect(page).to_have_url(re.compile("kind=text_similarity"))
    visitor = Visitor(server)
    shown = visitor.go(page.url.removeprefix(server.url))
    assert shown.by_role("link", "Birnen").one.seen
    assert shown.by_role("link", "Äpfel genau") == []
    shown = visitor.go("/graders?q=no+such+name")
    assert shown.by_text("No grader fits").one.seen
    assert visitor.follow(shown.by_role("link", "Show all graders").one).by_role("link", "Äpfel genau").one.seen


def test_a_grader_is_locked_unlocked_and_deleted_from_the_list(server: Server, page: Page) -> None:
    new_grader(server, "to-lock", EXACT, name="To be locked")
    visitor = Visitor(server)
    listed = visitor.go("/graders?q=to-lock")
    told = visitor.press(listed.by_role("button", "Lock To be locked", exact=True).one)
    assert "To be locked is locked" in told.by_role("status")[0].text
    assert kept_grader(server, "to-lock")["locked"] is True
    listed = visitor.go("/graders?q=to-lock")
    visitor.press(listed.by_role("button", "Unlock To be locked").one)
    assert kept_grader(server, "to-lock")["locked"] is False
    page.goto("/graders?q=to-lock")
    page.get_by_role("button", name="Delete To be locked").click()
    page.get_by_role("button", name="Keep it").click()
    assert server.get("/v1/graders/to-lock").status == 200
    page.get_by_role("button", name="Delete To be locked").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("To be locked is deleted.")
    assert server.get("/v1/graders/to-lock").status == 404


@pytest.mark.parametrize(("key", "grader", "words"), [
    ("shown-judge", JUDGE, ["Criterion", "Short and right.", "It goes on.", "about this one", "gpt-4.1-mini"]),
    ("shown-python", PYTHON, ["Source", "return 0.5", "# half"]),
])  # fmt: skip
def test_a_grader_shows_what_it_checks_and_where_it_can_be_used(
    server: Server,
    open_window: Open,
    scheme: Scheme,
    width: Width,
    key: str,
    grader: dict[str, object],
    words: list[str],
) -> None:
    if server.get(f"/v1/graders/{key}").status == 404:
        new_grader(server, key, grader, name=f"The {key}", description="For replies to customers.")
    window = open_window(server, scheme, width)
    window.page.goto(f"/graders/{key}")
    for each in [
        *words,
        "For replies to customers.",
        f"--grader key:{key}",
        f'{{"type": "registered", "key": "{key}"}}',
    ]:
        expect(window.page.get_by_text(each).first).to_be_visible()
    check_page(window, key)


def test_any_two_versions_are_compared_and_an_old_one_is_restored_as_the_newest(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    key = f"versions-{scheme}-{width}"
    new_grader(server, key, PYTHON, name="Versioned")
    change(server, key, grader={**PYTHON, "source": "def grade(sample, item):\n    return 0.7  # more\n"})
    change(
        server, key, grader={**PYTHON, "source": "def grade(sample, item):\n    return 0.9\n", "pass_threshold": 0.8}
    )
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/graders/{key}")
    page.get_by_role("link", name="Versions").click()
    changes = page.get_by_role("table", name="source: version 2 and version 3")
    expect(changes.get_by_role("row").filter(has_text="removed")).to_contain_text("return 0.7  # more")
    expect(changes.get_by_role("row").filter(has_text="added")).to_contain_text("return 0.9")
    expect(page.get_by_role("table", name=re.compile("^JSON"))).to_contain_text('"pass_threshold": 0.8')
    check_page(window, "grader-versions")
    visitor = Visitor(server)
    shown = visitor.go(page.url.removeprefix(server.url))
    shown = visitor.press(shown.by_role("button", "Compare").one, {"From": "1"})
    assert visitor.path == f"/graders/{key}/versions?new=3&old=1"
    assert "return 0.5 # half" in shown.by_role("row").containing("removed")[0].text
    shown = visitor.press(shown.by_role("button", "Restore version 1").one)
    assert "Version 1 is back, as version 4." in shown.by_role("status")[0].text
    found = kept_grader(server, key)
    assert (found["version"], found["grader"]["source"]) == (4, PYTHON["source"])


def test_a_first_version_has_nothing_to_compare_with(server: Server) -> None:
    new_grader(server, "only-one", EXACT)
    page = read(server, "/graders/only-one/versions")
    assert page.by_text("This is the only version").one.seen
    assert page.by_role("button", "Restore") == []


def test_a_grader_is_exported_as_a_pack_that_another_server_takes(server: Server, start: Start) -> None:
    new_grader(server, "to-carry", SIMILAR, name="To carry")
    page = read(server, "/graders/to-carry")
    pack = get(server, page.by_role("link", "Export as a pack").one.attributes["href"])
    assert pack.headers["content-disposition"] == 'attachment; filename="to-carry.json"'
    elsewhere = start()
    answer = elsewhere.post("/v1/grader_pack", pack.json())
    assert answer.json()["graders"] == {"to-carry": "created"}
    assert kept_grader(elsewhere, "to-carry")["grader"] == kept_grader(server, "to-carry")["grader"]


def test_hostile_names_and_sources_are_shown_and_never_run(server: Server, page: Page) -> None:
    source = f"# </script>{HOSTILE}\ndef grade(sample, item):\n    return 1.0\n"
    new_grader(server, "hostile", {"type": "python", "source": source}, name=HOSTILE, description=HOSTILE)
    change(server, "hostile", grader={"type": "python", "source": source + f"# {HOSTILE}\n"})
    page.goto("/graders?q=hostile")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    for path in ("/graders/hostile", "/graders/hostile/versions", "/graders/hostile/edit"):
        page.goto(path)
        expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()


@pytest.mark.parametrize("key", ["new", "check", "endpoint"])
def test_a_key_that_is_a_word_of_our_addresses_is_reached_all_the_same(server: Server, key: str) -> None:
    new_grader(server, key, EXACT, name=f"Called {key}")
    visitor = Visitor(server)
    page = visitor.go(f"/graders?q=Called+{key}")
    page = visitor.follow(page.by_role("link", f"Called {key}").one)
    assert page.by_role("heading", f"Called {key}").one.seen
    page = visitor.follow(page.by_role("link", "Edit and test").one)
    assert page.by_role("heading", f"Called {key}").one.seen
    assert page.by_role("textbox", "Name", exact=True).one.value == f"Called {key}"


def test_what_is_not_there_is_told_in_human_words(server: Server) -> None:
    new_grader(server, "there", EXACT)
    for path, words in (
        ("/graders/nowhere", b"There is no grader"),
        ("/graders/new/nonsense", b"There is no kind"),
        ("/graders/there/versions?new=7", b"has no version 7"),
    ):
        answer = get(server, path)
        assert answer.status == 404
        assert words in answer.body


def test_a_project_sees_its_own_graders_only(keyed: Keyed) -> None:
    new_grader(keyed, "ours", EXACT, {"authorization": f"Bearer {keyed.key}"})
    visitor = Visitor(keyed)
    assert visitor.sign_in(keyed.other_key, "/graders").by_text("No grader is kept here yet").one.seen
    assert visitor.go("/graders/ours").by_text("There is no grader").one.seen
    assert visitor.answer.status == 404
