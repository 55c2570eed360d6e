"""Models: what is configured, whether one answers, and what runs have spent."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from fairmark.web.admin.models import ask
from tests.judges.faults import Answer, FaultServer, Slow, Status
from tests.server.client import Server
from tests.web.browser import Scheme, Width, check_page, in_thread, new_eval, new_run
from tests.web.conftest import Open, Start
from tests.web.forms import HTML, cookies_of, get, post, send
from tests.web.reading import read

SECRET = "sk-very-secret-indeed"  # noqa: S105  # of no service
YES = '{"steps":[],"result":"yes"}'
TOML = """
[providers.house]
base_url = "{url}/v1"
key_env = "HOUSE_KEY"
headers = {{"X-Team" = "${{TEAM}}"}}
[models.careful]
provider = "house"
model = "large-2026-02"
price_in = 2.5
price_out = 10
[models."llama-*"]
provider = "house"
[aliases]
"gpt-4o" = "careful"
"lost" = "nobody/knows"
"""


@pytest.fixture(scope="module")
def house() -> Iterator[FaultServer]:
    with FaultServer() as made:
        yield made


@pytest.fixture
def judge(house: FaultServer) -> FaultServer:
    """It says yes, and has not been asked yet."""
    house.forget()
    house.requests.clear()
    house.always(Answer(YES))
    return house


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory, house: FaultServer) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("configured")
    (folder / "fairmark.toml").write_text(TOML.format(url=house.url))
    env = {
        "HOUSE_KEY": SECRET,
        "TEAM": "team-secret",
        "FAIRMARK_MODEL_ALIASES": "o3-mini=local/smollm2",
        "FAIRMARK_JUDGE_RETRIES": "0",
        "FAIRMARK_JUDGE_TIMEOUT_S": "2",
    }
    started = Server(folder / "home", env)
    yield started
    started.stop()
    assert "Traceback" not in started.stderr.read_text()


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_text(name, exact=True)).first


def test_without_a_model_the_page_tells_how_to_configure_one(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(start(), scheme, width)
    window.page.goto("/models")
    expect(window.page.get_by_role("heading", name="No judge is configured")).to_be_visible()
    expect(window.page.get_by_text("export OPENAI_API_KEY")).to_be_visible()
    expect(window.page.get_by_text("[providers.house]")).to_be_visible()
    expect(row(window.page, "local/smollm2")).to_contain_text("At chance as a judge")
    expect(window.page.get_by_text("No run has asked a model yet")).to_be_visible()
    check_page(window, "models-empty")


def test_what_is_copied_is_what_is_shown(start: Start) -> None:
    for place in (found := read(start(), "/models").css(".copyable")):
        assert place.css("[data-copy]").one.attributes["data-copy"] == "".join(place.css("pre").one.strings())
    assert len(found) == 2
    assert found[1].css("[data-copy]").one.attributes["data-copy"].startswith('[providers.house]\nbase_url = "http')


@pytest.fixture(scope="module")
def spent(configured: Server, house: FaultServer) -> None:
    house.forget()
    house.always(Answer(YES))
    judged: list[dict[str, Any]] = [
        {
            "type": "label_model",
            "name": name,
            "model": name,
            "input": [{"role": "user", "content": "Is {{sample.output_text}} a city?"}],
            "labels": ["yes", "no"],
            "passing_labels": ["yes"],
        }
        for name in ("careful", "llama-3")
    ]
    rows = [{"item": {}, "sample": {"output_text": city}} for city in ("Paris", "Rome", "Oslo", "Lima", "Kyiv")]
    new_run(configured, new_eval(configured, "alone", testing_criteria=judged[:1]), rows[:3])
    new_run(configured, new_eval(configured, "both", testing_criteria=judged), rows[3:])


@pytest.mark.usefixtures("spent")
def test_names_servers_and_spending_are_shown_and_no_secret(
    configured: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(configured, scheme, width)
    page = window.page
    page.goto("/models")
    expect(row(page, "careful")).to_contain_text("house/large-2026-02")
    expect(row(page, "careful")).to_contain_text("$2.50 in, $10.00 out")
    expect(row(page, "llama-*")).to_contain_text("a pattern")
    expect(row(page, "gpt-4o")).to_contain_text("fairmark.toml")
    expect(row(page, "o3-mini")).to_contain_text("FAIRMARK_MODEL_ALIASES")
    expect(row(page, "o3-mini")).to_contain_text("At chance as a judge")
    expect(row(page, "lost")).to_contain_text('unknown model "nobody/knows"')
    servers = page.get_by_role("region", name="Servers of models")
    expect(servers.get_by_role("row").filter(has_text="house/…")).to_contain_text("set")
    usage = page.get_by_role("region", name="Usage of each model")
    large = usage.get_by_role("row").filter(has_text="large-2026-02")
    # Five questions of 100 and 20 tokens, at $2.50 and $10 a million; two in a run that asked another, free model too.
    expect(large).to_contain_text("500")
    expect(large).to_contain_text("$0.0023")
    expect(large).not_to_contain_text("and its part of")
    expect(usage.get_by_role("row").filter(has_text="llama-3")).not_to_contain_text("$")
    body = page.content()
    assert SECRET not in body
    assert "team-secret" not in body
    check_page(window, "models")


def test_a_test_shows_answer_time_tokens_and_cost_in_place(
    configured: Server, judge: FaultServer, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(configured, scheme, width)
    page = window.page
    page.goto("/models")
    for press in range(2):  # a second test asks anew, not the cache
        page.get_by_role("button", name="Test careful").click()
        expect(row(page, "careful")).to_contain_text("Answered yes")
        expect(page.get_by_role("button", name="Test careful")).to_be_enabled()
        assert len(judge.requests) == press + 1
    expect(row(page, "careful")).to_contain_text("120 tokens")
    expect(row(page, "careful")).to_contain_text("$0.00045")
    expect(row(page, "careful")).to_contain_text("by large-2026-02")
    judge.forget()
    judge.always(Status(401, f"Incorrect API key provided: {SECRET}."))
    page.get_by_role("button", name="Test gpt-4o").click()
    expect(row(page, "gpt-4o")).to_contain_text("No answer")
    expect(row(page, "gpt-4o")).to_contain_text("Incorrect API key provided: ***")
    judge.forget()
    judge.always(Answer('{"steps":[],"result":"no"}'))
    page.get_by_label("A model as a grader would name it").fill("llama-3.3")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator("#trial-any")).to_contain_text("Answered no")
    expect(page.locator("#trial-any")).to_contain_text("no price set")
    check_page(window, "models-tested")


def test_an_unknown_name_and_a_judge_that_hangs_are_told_in_words(
    configured: Server, judge: FaultServer, open_window: Open
) -> None:
    page = open_window(configured).page
    page.goto("/models")
    name = page.get_by_label("A model as a grader would name it")
    name.fill("<b>nonsense</b>")
    name.press("Enter")
    expect(page.locator("#trial-any")).to_contain_text('unknown model "<b>nonsense</b>"')
    judge.forget()
    judge.always(Slow(30))
    page.get_by_role("button", name="Test careful").click()
    expect(row(page, "careful")).to_contain_text(re.compile("no answer within 2 s|did not answer", re.IGNORECASE))


@pytest.mark.thorough
def test_the_embedded_model_answers_with_its_warning(start: Start, open_window: Open) -> None:
    page = open_window(start()).page
    page.goto("/models")
    page.get_by_role("button", name="Test local/smollm2").click()
    said = row(page, "local/smollm2")
    expect(said).to_contain_text("do not rely on its grades", timeout=60_000)
    expect(said).to_contain_text(re.compile("Answered (yes|no)"))


def test_whoever_waits_for_a_test_waits_no_longer_than_its_deadline(
    judge: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import asyncio

    judge.forget()
    judge.always(Slow(30))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
    tried = in_thread(lambda: asyncio.run(ask("any", 0.2)))
    assert (tried.result, tried.problem) == (None, "any did not answer within 0.2 s.")


def test_a_wrong_file_is_told_on_the_page(start: Start, tmp_path: Path) -> None:
    server = start()
    (tmp_path / "fairmark.toml").write_text('[models.judge]\nprovider = "house"\n')
    alert = read(server, "/models").by_role("alert").one
    assert alert.seen
    assert 'models."judge".provider: unknown provider "house"' in alert.text


@pytest.mark.usefixtures("judge")
def test_without_script_the_result_stands_on_the_whole_page(configured: Server) -> None:
    shown = get(configured, "/models")
    answer = post(configured, "/models/test", {"name": "careful"}, shown)
    assert answer.status == 200
    assert b"Answered yes" in answer.body
    assert b"Usage and cost" in answer.body


def test_a_forged_test_is_refused_and_asks_nobody(configured: Server, judge: FaultServer) -> None:
    shown = get(configured, "/models")
    kind = {"content-type": "application/x-www-form-urlencoded", "cookie": cookies_of(shown)}
    assert send(configured, "POST", "/models/test", {**HTML, **kind}, b"name=careful").status == 403
    assert judge.requests == []
