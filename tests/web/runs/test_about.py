"""What a run was, and the ways to go on from it: again, errors once more, stopped rows, a copy of its eval."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import command
from tests.server.client import EXACT, Server, wait_for
from tests.web.browser import Scheme, Width, check_page, new_eval, new_run, rows
from tests.web.conftest import Open, Start
from tests.web.forms import get
from tests.web.geography import Geography, geography


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geography]:
    with geography(tmp_path_factory.mktemp("geography"), 10) as found:
        yield found


@pytest.fixture
def there(world: Geography, open_window: Open) -> Page:
    return open_window(world).page


def menu(page: Page) -> None:
    page.locator("summary", has_text="Run again").click()


def test_a_run_tells_its_prompt_rows_parameters_and_id(there: Page, world: Geography) -> None:
    path = world.start(2, metadata={"branch": "main"}, budget={"dollars": 5})
    world.wait(path)
    there.goto(path)
    expect(there.locator(".run__about")).to_contain_text(re.compile(r"took .*rows/s"))
    there.get_by_text("About this run").click()
    about = there.locator("#about")
    for told in (path.rpartition("/")[2], "answers of student, asked for by this run", "2 rows in the request itself"):
        expect(about).to_contain_text(told)
    for told in ("branch", "main", "Budget", "$5.00", "Answer briefly.", "{{item.question}} number {{item.n}}"):
        expect(about).to_contain_text(told)


def test_each_model_tells_its_cost(there: Page, world: Geography) -> None:
    there.goto(world.run)
    used = there.get_by_role("table", name="Use of models").get_by_role("row")
    expect(used.nth(1)).to_contain_text(re.compile(r"judge.*\$0\.003"))
    expect(used.nth(2)).to_contain_text(re.compile(r"student.*\$0\.0007"))


def test_run_again_makes_a_run_of_the_same_rows(there: Page, world: Geography) -> None:
    there.goto(world.run)
    menu(there)
    there.get_by_role("button", name=re.compile("^Run again")).click()
    expect(there.get_by_role("heading", name="student, temperature 1, again")).to_be_visible()
    again = there.url.removeprefix(world.url)
    world.wait(again)
    old, new = (world.get(f"/v1{path}").json() for path in (world.run, again))
    assert new["id"] != old["id"]
    assert new["result_counts"] == old["result_counts"]
    assert new["data_source"] == old["data_source"]


def test_errors_are_tried_again_in_the_same_run(there: Page, world: Geography) -> None:
    path = world.start(10, name="moody")
    world.wait(path)
    before = world.get(f"/v1{path}").json()
    assert before["result_counts"]["errored"] == 3
    there.goto(path)
    expect(there.locator(".run__about")).to_contain_text("Completed with 3 errors")
    there.get_by_role("button", name="Retry errors").click()
    there.wait_for_url(f"**{path}")
    world.wait(path)
    after = world.get(f"/v1{path}").json()
    assert after["id"] == before["id"]
    assert after["result_counts"] == before["result_counts"]  # what is missing in them still is
    assert after["error_reasons"] == before["error_reasons"]


def test_a_stopped_run_goes_on(there: Page, world: Geography) -> None:
    world.house.latency_s = 30.0
    path = world.start(3)
    there.goto(path)
    there.get_by_role("button", name="Cancel the run").click()
    world.house.latency_s = 0.0
    there.get_by_role("button", name="Go on").click()
    world.wait(path)
    assert world.get(f"/v1{path}").json()["result_counts"]["total"] == 3


def test_what_cannot_be_done_is_told(server: Server, page: Page) -> None:
    eval_id = new_eval(server, "a")
    content = json.dumps({"item": {"answer": "x"}, "sample": {"output_text": "x"}}).encode()
    file = server.upload(content, "rows.jsonl").json()["id"]
    body = {"name": "of a file", "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": file}}}
    run = server.post(f"/v1/evals/{eval_id}/runs", body).json()["id"]
    server.request("DELETE", f"/v1/files/{file}")
    page.goto(f"/evals/{eval_id}/runs/{run}")
    menu(page)
    page.get_by_role("button", name=re.compile("^Run again")).click()
    expect(page.get_by_role("status")).to_contain_text("It cannot be run again.")


def test_an_eval_is_duplicated_with_criteria_to_change(server: Server, page: Page) -> None:
    eval_id = new_eval(server, "Capitals")
    run_id = new_run(server, eval_id, rows(1))
    page.goto(f"/evals/{eval_id}/runs/{run_id}")
    menu(page)
    page.get_by_role("link", name=re.compile("^Duplicate the eval")).click()
    expect(page.get_by_role("textbox", name="Name optional")).to_have_value("Capitals, copy")
    shown = get(server, f"/evals/new?from={eval_id}").body.decode()
    assert "{{sample.output_text}}" in shown
    assert eval_id not in shown.split("<main")[1].replace(f"from={eval_id}", "")
    page.get_by_role("button", name="Create the eval").click()
    expect(page.get_by_role("heading", name="Capitals, copy")).to_be_visible()
    made = server.get(f"/v1/evals/{page.url.rpartition('/')[2]}").json()
    (criterion,) = made["testing_criteria"]
    assert {name: criterion[name] for name in EXACT} == EXACT


def test_a_run_of_the_command_line_is_a_local_one_with_who_and_when(
    start: Start, open_window: Open, tmp_path: Path, scheme: Scheme, width: Width
) -> None:
    server = start()
    data, grader = tmp_path / "capitals.jsonl", tmp_path / "exact.json"
    data.write_text('{"item": {"answer": "Paris"}, "sample": "Paris"}\n{"item": {}, "sample": "Rome"}\n')
    grader.write_text(json.dumps({**EXACT, "reference": "{{item.answer}}"}))
    environment = {"FAIRMARK_HOME": str(server.home), "LOGNAME": "ada", "PATH": "/usr/bin:/bin"}
    done = command.run(["eval", str(data), "--grader", str(grader), "--name", "mine"], env=environment, cwd=tmp_path)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    wait_for(lambda: server.get("/v1/evals").json()["data"] != [], 120)
    eval_id = server.get("/v1/evals").json()["data"][0]["id"]
    wait_for(lambda: server.get(f"/v1/evals/{eval_id}/runs").json()["data"][0]["result_counts"]["total"] == 2, 120)
    run = server.get(f"/v1/evals/{eval_id}/runs").json()["data"][0]
    assert run["local"]["by"].startswith("ada@")
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{eval_id}")
    expect(page.get_by_role("cell").get_by_text("Local run", exact=True)).to_be_visible()
    page.goto(f"/evals/{eval_id}/runs/{run['id']}")
    expect(page.get_by_text("From the command line: fairmark eval, by ada@")).to_be_visible()
    expect(page.get_by_text("Imported")).to_have_count(0)
    expect(page.get_by_role("button", name="Retry errors")).to_have_count(0)
    page.get_by_text("About this run").click()
    expect(page.locator("#about")).to_contain_text(re.compile(r"ada@.*, on the command line"))
    expect(page.locator("#about")).to_contain_text(f"{data}, on the machine of fairmark eval")
    check_page(window, "run-local")
