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
from tests.web.reading import read
from tests.web.visiting import Visitor


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geography]:
    with geography(tmp_path_factory.mktemp("geography"), 10) as found:
        yield found


def test_a_run_tells_its_prompt_rows_parameters_and_id(world: Geography) -> None:
    path = world.start(2, metadata={"branch": "main"}, budget={"dollars": 5})
    world.wait(path)
    page = read(world, path)
    assert re.search(r"took .*rows/s", page.css(".run__about").one.text)
    fold = page.css("details").containing("About this run").one
    about = read(world, fold.css("[hx-get]").one.attributes["hx-get"]).css("[id=about]").one  # once it is opened
    for told in (path.rpartition("/")[2], "answers of student, asked for by this run", "2 rows in the request itself"):
        assert told in about.text
    for told in ("branch", "main", "Budget", "$5.00", "Answer briefly.", "{{item.question}} number {{item.n}}"):
        assert told in about.text


def test_each_model_tells_its_cost(world: Geography) -> None:
    used = read(world, world.run).by_role("table", "Use of models").one.by_role("row").texts
    assert re.search(r"judge.*\$0\.003", used[1])
    assert re.search(r"student.*\$0\.0007", used[2])


def test_run_again_makes_a_run_of_the_same_rows(world: Geography) -> None:
    visitor = Visitor(world)
    page = visitor.press(visitor.go(world.run).css("button").containing(re.compile("^Run again")).one)
    assert page.by_role("heading", "student, temperature 1, again").one.seen
    again = visitor.path
    world.wait(again)
    old, new = (world.get(f"/v1{path}").json() for path in (world.run, again))
    assert new["id"] != old["id"]
    assert new["result_counts"] == old["result_counts"]
    assert new["data_source"] == old["data_source"]


def test_errors_are_tried_again_in_the_same_run(world: Geography) -> None:
    path = world.start(10, name="moody")
    world.wait(path)
    before = world.get(f"/v1{path}").json()
    assert before["result_counts"]["errored"] == 3
    visitor = Visitor(world)
    page = visitor.go(path)
    assert "Completed with 3 errors" in page.css(".run__about").one.text
    visitor.press(page.by_role("button", "Retry errors").one)
    assert visitor.path == path
    world.wait(path)
    after = world.get(f"/v1{path}").json()
    assert after["id"] == before["id"]
    assert after["result_counts"] == before["result_counts"]  # what is missing in them still is
    assert after["error_reasons"] == before["error_reasons"]


def test_a_stopped_run_goes_on(world: Geography) -> None:
    world.house.latency_s = 30.0
    path = world.start(3)
    visitor = Visitor(world)
    page = visitor.press(visitor.go(path).by_role("button", "Cancel the run").one)
    world.house.latency_s = 0.0
    visitor.press(page.by_role("button", "Go on").one)
    world.wait(path)
    assert world.get(f"/v1{path}").json()["result_counts"]["total"] == 3


def test_what_cannot_be_done_is_told(server: Server) -> None:
    eval_id = new_eval(server, "a")
    content = json.dumps({"item": {"answer": "x"}, "sample": {"output_text": "x"}}).encode()
    file = server.upload(content, "rows.jsonl").json()["id"]
    body = {"name": "of a file", "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": file}}}
    run = server.post(f"/v1/evals/{eval_id}/runs", body).json()["id"]
    server.request("DELETE", f"/v1/files/{file}")
    wait_for(lambda: server.get(f"/v1/evals/{eval_id}/runs/{run}").json()["status"] not in ("queued", "in_progress"))
    visitor = Visitor(server)
    shown = visitor.go(f"/evals/{eval_id}/runs/{run}")
    page = visitor.press(shown.css("button").containing(re.compile("^Run again")).one)
    assert "It cannot be run again." in page.by_role("status").one.text


def test_an_eval_is_duplicated_with_criteria_to_change(server: Server, page: Page) -> None:
    eval_id = new_eval(server, "Capitals")
    run_id = new_run(server, eval_id, rows(1))
    page.goto(f"/evals/{eval_id}/runs/{run_id}")
    page.locator("summary", has_text="Run again").click()
    expect(page.get_by_role("button", name=re.compile("^Run again"))).to_be_visible()
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
    shown = read(server, f"/evals/{eval_id}")
    (marked,) = [cell for cell in shown.by_role("cell") if cell.by_text("Local run", exact=True)]
    assert marked.seen
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{eval_id}/runs/{run['id']}")
    expect(page.get_by_text("From the command line: fairmark eval, by ada@")).to_be_visible()
    expect(page.get_by_text("Imported")).to_have_count(0)
    expect(page.get_by_role("button", name="Retry errors")).to_have_count(0)
    page.get_by_text("About this run").click()
    expect(page.locator("#about")).to_contain_text(re.compile(r"ada@.*, on the command line"))
    expect(page.locator("#about")).to_contain_text(f"{data}, on the machine of fairmark eval")
    check_page(window, "run-local")
