"""Starting a run: files by choice and by drop, a look at their rows, models that answer, and what is refused."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.judges.faults import Answer, FaultServer, Raw
from tests.server.client import EXACT, Server, form, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, check_look, check_page, new_eval
from tests.web.conftest import Open, Start, in_both_looks
from tests.web.forms import HTML, cookies_of, get, send, token_in
from tests.web.reading import Element, read_answer

CSV = "question,answer,sample\nCapital of France?,Paris,Paris\nCapital of Italy?,Rome,Milan\n"
JSONL = '{"item": {"answer": "Paris"}, "sample": "Paris"}\n{"item": {"answer": "Rome"}, "sample": "Milan"}\n'
DROP = """
([name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  const place = document.querySelector("[data-drop]");
  const send = (kind) => place.dispatchEvent(new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true}));
  send("dragenter");
  send("dragover");
  const isOver = place.classList.contains("drop--over");
  send("drop");
  return isOver;
}
"""


def choose(page: Page, name: str, text: str) -> None:
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})


def started(server: Server, page: Page) -> dict[str, object]:
    """The run whose page is shown, once it has ended."""
    page.wait_for_url(re.compile("/runs/evalrun_[0-9a-f]+$"))
    path = "/v1" + page.url.removeprefix(server.url)
    wait_for(lambda: server.get(path).json()["status"] not in ("queued", "in_progress"))
    found: dict[str, object] = server.get(path).json()
    return found


def files(server: Server) -> list[str]:
    return [each["filename"] for each in server.get("/v1/files").json()["data"]]


def kept(server: Server) -> int:
    """How many files lie on the disk, those that nobody knows of too."""
    folder = server.home / "files"
    return len(list(folder.iterdir())) if folder.exists() else 0


@in_both_looks  # the longest form, as it is filled in on a phone too
def test_a_csv_file_is_looked_at_uploaded_and_graded(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    window = open_window(server, scheme, width)
    page = window.page
    made = new_eval(server, "Capitals")
    page.goto(f"/evals/{made}/new-run")
    check_look(window, "new-run")
    choose(page, "capitals.csv", CSV)
    table = page.get_by_role("table", name="The first rows")
    expect(table.get_by_role("columnheader")).to_have_text(["Line", "question", "answer", "sample"])
    expect(table.get_by_role("row").nth(2)).to_contain_text("Milan")
    expect(page.get_by_role("heading", name="All 2 rows")).to_be_visible()
    expect(page.get_by_text("Each has an answer")).to_be_visible()
    page.get_by_label("Name").fill("from a spreadsheet")
    page.get_by_text("Limits and metadata").click()
    page.get_by_label("Most dollars").fill("2.50")
    page.get_by_label("Most tokens").fill("10000")
    page.get_by_label("Most minutes").fill("5")
    page.get_by_label("Key").fill("team")
    page.get_by_label("Value").fill("geo")
    check_look(window, "new-run-filled")
    page.get_by_role("button", name="Start the run").click()
    run = started(server, page)
    assert run["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}
    assert (run["name"], run["metadata"]) == ("from a spreadsheet", {"team": "geo"})
    assert (run["budget"], run["deadline_s"]) == ({"dollars": 2.5, "tokens": 10000}, 300)
    assert files(server) == ["capitals.csv"]


@pytest.mark.thorough
def test_a_file_is_dropped_on_its_place(server: Server, page: Page) -> None:
    made = new_eval(server, "Dropped")
    page.goto(f"/evals/{made}/new-run")
    assert page.evaluate(DROP, ["dropped rows.jsonl", JSONL])
    expect(page.locator("[data-drop]")).to_contain_text("dropped rows.jsonl")
    expect(page.locator("[data-drop]")).not_to_have_class(re.compile("drop--over"))
    expect(page.get_by_role("table", name="The first rows")).to_contain_text("Rome")
    page.get_by_role("button", name="Start the run").click()
    assert started(server, page)["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}


@pytest.mark.thorough
def test_a_file_that_is_on_the_server_is_used_again(server: Server, page: Page) -> None:
    made = new_eval(server, "Again")
    file_id = server.upload(JSONL.encode(), "on the server.jsonl").json()["id"]
    server.upload(b"{}", "for tuning.jsonl", purpose="fine-tune")
    before = len(files(server))
    page.goto(f"/evals/{made}/new-run")
    box = page.get_by_label("Or a file that is on the server")
    expect(box.locator("option", has_text="for tuning")).to_have_count(0)
    box.select_option(file_id)
    expect(page.get_by_role("table", name="The first rows")).to_contain_text("Rome")
    page.get_by_role("button", name="Start the run").click()
    assert started(server, page)["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}
    assert len(files(server)) == before


def refused(server: Server, made: str, content: str, name: str, **fields: str) -> Element:
    """What a form without a script gets back: nothing of the file is kept, and no run is there."""
    before = files(server), kept(server)
    path = f"/evals/{made}/new-run"
    shown = get(server, path)
    kind, body = form([("csrf_token", token_in(shown)), *fields.items()], content.encode(), name)
    answer = send(server, "POST", path, {**HTML, "cookie": cookies_of(shown), "content-type": kind}, body)
    assert answer.status == 400
    assert (files(server), kept(server)) == before
    assert server.get(f"/v1/evals/{made}/runs").json()["data"] == []
    return read_answer(answer)


WRONG_FILES = [
    ("bad.jsonl", JSONL + "{not json}\n", "Line 3: not JSON"),
    ("bad.csv", CSV + "one,two\n", "Line 4: it has 2 values, the header has 3."),
    ("list.jsonl", "5\n", "Line 1: row: expected an object, found a number (5)."),
    ("header.csv", "question,answer\n", "There are no rows in it."),
    ("picture.png", "\x89PNG\r\n\x1a\n\x00\x00", "not JSON"),
    ("array.json", '[{"item": {}},', "Not a JSON array"),
    ("empty.jsonl", "", "“empty.jsonl” is empty."),
]


@pytest.mark.parametrize(("name", "text", "told"), WRONG_FILES, ids=[name for name, _, _ in WRONG_FILES])
def test_a_file_of_which_no_run_can_be_made_is_refused_and_not_kept(
    server: Server, name: str, text: str, told: str
) -> None:
    error = refused(server, new_eval(server, "Wrong files"), text, name).css("[data-error=file]").one
    assert error.seen
    assert told in error.text


@pytest.mark.thorough
def test_after_a_file_that_was_refused_another_one_is_taken(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    made = new_eval(server, "Wrong file, right file")
    before, on_disk = files(server), kept(server)
    page.goto(f"/evals/{made}/new-run")
    for name, text, told in (WRONG_FILES[0], WRONG_FILES[-1]):
        choose(page, name, text)
        expect(page.locator("[data-error=file]")).to_be_hidden()  # the way on is open
        page.get_by_role("button", name="Start the run").click()
        expect(page.locator("[data-error=file]")).to_contain_text(told)
        expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    assert (files(server), kept(server)) == (before, on_disk)
    choose(page, "good.jsonl", JSONL)
    expect(page.locator("[data-error=file]")).to_be_hidden()
    page.get_by_role("button", name="Start the run").click()
    assert started(server, page)["status"] == "completed"


def test_the_preview_tells_of_bad_rows_and_of_fields_that_are_needed(server: Server, open_window: Open) -> None:
    window = open_window(server)
    page = window.page
    schema = {"type": "object", "required": ["question"]}
    config = {"type": "custom", "item_schema": schema, "include_sample_schema": True}
    made = new_eval(server, "Needs", data_source_config=config)
    page.goto(f"/evals/{made}/new-run")
    expect(page.get_by_text("The criteria read item.answer, item.question.")).to_be_visible()
    rows = [
        f'{{"item": {{"answr": "{HOSTILE[:8]}", "n": 1}}}}',
        "oops",
        '{"item": {"answer": "Rome", "question": "?"}}',
    ]
    choose(page, "rows.jsonl", "\n".join(rows))
    shown = page.locator("[data-preview-place]")
    expect(shown).to_contain_text("line 2: not JSON")
    expect(shown).to_contain_text("answer is missing in 1 row; exact needs it.")
    expect(shown).to_contain_text("question is missing in 1 row; the schema needs it.")
    expect(shown).to_contain_text("None has an answer")
    check_page(window, "new-run-problems")
    page.get_by_text("Ask a model", exact=True).click()
    page.get_by_label("User prompt").fill("{{ item.topic }}?")
    page.get_by_label("User prompt").blur()
    expect(shown).to_contain_text("topic is missing in 2 rows; the prompt needs it.")


@pytest.mark.thorough
def test_only_the_beginning_of_a_long_file_is_sent_for_a_look(server: Server, page: Page) -> None:
    made = new_eval(server, "Long")
    page.goto(f"/evals/{made}/new-run")
    line = '{"item": {"answer": "Paris", "text": "' + "x" * 1000 + '"}, "sample": "Paris"}\n'
    with page.expect_request("**/preview") as asked:
        choose(page, "long.jsonl", line * 1000)
    expect(page.get_by_role("heading", name=re.compile(r"^The first 2\d\d rows$"))).to_be_visible()
    assert len(asked.value.post_data_buffer or b"") < 300_000
    expect(page.locator("[data-preview-place]")).not_to_contain_text("cannot be read")  # the last row is only cut off
    choose(page, "array.json", "[" + line.strip() * 1000 + "]")
    expect(page.locator("[data-preview-place]")).to_contain_text("too long to be looked at beforehand")
    choose(page, "wide.jsonl", '{"item": {"text": "' + "y" * 300_000 + '"}}\n' * 2)
    expect(page.locator("[data-preview-place]")).to_contain_text("The first row is too long")


def test_hostile_items_columns_and_file_names_are_shown_and_never_run(server: Server, page: Page) -> None:
    made = new_eval(server, HOSTILE, testing_criteria=[{**EXACT, "name": HOSTILE}])
    page.goto(f"/evals/{made}/new-run")
    quoted = HOSTILE.replace('"', '""')
    choose(page, f"{HOSTILE.replace('/', '')}.csv", f'"{quoted}",sample\n"{quoted}","{quoted}"\n')
    table = page.get_by_role("table", name="The first rows")
    expect(table.get_by_role("cell").nth(1)).to_have_text(HOSTILE)
    expect(page.locator("[data-drop]")).to_contain_text(HOSTILE.replace("/", ""))
    page.get_by_role("button", name="Start the run").click()
    started(server, page)
    page.goto(f"/evals/{made}/new-run")
    expect(page.get_by_label("Or a file that is on the server")).to_contain_text(HOSTILE.rpartition("/")[0][:8])


def test_a_model_is_asked_for_the_answers(start: Start, open_window: Open, tmp_path: Path) -> None:
    with FaultServer() as model:
        model.always(Answer("Paris"))
        (tmp_path / "fairmark.toml").write_text(
            f'[providers.house]\nbase_url = "{model.url}/v1"\n[models.student]\nprovider = "house"\n'
        )
        server = start()
        page = open_window(server).page
        made = new_eval(server, "Asked")
        page.goto(f"/evals/{made}/new-run")
        choose(page, "rows.csv", "question,answer\nCapital of France?,Paris\nCapital of Italy?,Rome\n")
        page.get_by_text("Ask a model", exact=True).click()
        expect(page.locator("#models option").first).to_have_attribute("value", "student")
        page.get_by_label("Model", exact=True).fill("student")
        page.get_by_label("System prompt").fill("One word.")
        page.get_by_label("User prompt").fill("{{ item.question }}")
        page.get_by_role("button", name="Start the run").click()
        run = started(server, page)
    assert (run["model"], run["status"]) == ("student", "completed")
    assert run["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}
    asked = [request.body["messages"] for request in model.requests]
    assert [{"role": "system", "content": "One word."}, {"role": "user", "content": "Capital of Italy?"}] in asked


JUDGED = {"type": "score_model", "name": "judged", "input": [{"role": "user", "content": "{{ sample.output_text }}"}]}


@pytest.mark.parametrize("has_provider", [True, False])
def test_a_model_that_is_not_there_is_told_and_nobody_is_asked(start: Start, has_provider: bool) -> None:
    with FaultServer() as model:
        model.always(Raw(b'{"object": "list", "data": [{"id": "careful-judge"}, {"id": "student-1"}]}'), "/models")
        server = start(env={"OPENAI_BASE_URL": f"{model.url}/v1"} if has_provider else {})
        made = new_eval(server, "Judged", testing_criteria=[{**JUDGED, "model": "carefull-judge"}])
        error = refused(server, made, JSONL, "rows.jsonl").css("[data-error=form]").one
        assert error.seen
        told = 'Model "carefull-judge": openai does not list it' if has_provider else 'Unknown model "carefull-judge"'
        assert told in error.text
        assert ("Did you mean careful-judge?" in error.text) == has_provider
        asked = {"answers": "model", "model": "student-l", "prompt": "{{ item.answer }}"}
        page = refused(server, new_eval(server, "Sampled"), JSONL, "rows.jsonl", **asked)
        told = "Did you mean student-1?" if has_provider else 'Unknown model "student-l"'
        assert told in described(page, page.by_label("Model", exact=True).one)
        assert {request.path for request in model.requests} == ({"/v1/models"} if has_provider else set())
        assert files(server) == []


def described(page: Element, field: Element) -> str:
    """What a screen reader says about a field that is wrong."""
    assert field.attributes["aria-invalid"] == "true"
    return " ".join(page.css(f'[id="{own}"]').one.text for own in field.attributes["aria-describedby"].split())


WRONG_FIELDS = [
    ("prompt", "{{ sample.output_text }}", "there is no sample yet"),
    ("prompt", "{{ nonsense.x }}", "nonsense"),
    ("dollars", "a lot", 'Found "a lot". It takes a number above 0.'),
    ("tokens", "-5", 'Found "-5". It takes a number above 0.'),
    ("minutes", "0", 'Found "0". It takes a number above 0.'),
    ("metadata_value", "lonely", "The value “lonely” needs a key."),
]


@pytest.mark.parametrize(("field", "value", "told"), WRONG_FIELDS)
def test_what_is_wrong_is_told_at_its_field(server: Server, field: str, value: str, told: str) -> None:
    asked = {"answers": "model", "model": "student", "prompt": "{{ item.answer }}", "metadata_key": "", field: value}
    page = refused(server, new_eval(server, "Wrong fields"), JSONL, "rows.jsonl", **asked)
    if field.startswith("metadata"):
        error = page.css(".pairs .field__error").one
        assert (error.seen, error.text) == (True, told)
    else:
        wrong = page.css(f"[name={field}]").one
        assert wrong.seen  # what is folded is opened for it
        assert told in described(page, wrong)


@pytest.mark.thorough
def test_the_field_that_is_wrong_is_opened_and_the_chosen_file_stays(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    made = new_eval(server, "Wrong field")
    page.goto(f"/evals/{made}/new-run")
    choose(page, "rows.jsonl", JSONL)
    page.get_by_text("Ask a model", exact=True).click()
    page.get_by_label("Model", exact=True).fill("student")
    for field, value, told in (WRONG_FIELDS[0], WRONG_FIELDS[2], WRONG_FIELDS[-1]):
        page.get_by_label("User prompt").fill("{{ item.answer }}")
        limits = page.locator("details", has_text="Limits and metadata")
        expect(limits).not_to_have_attribute("open", "")
        page.get_by_text("Limits and metadata").click()
        written = page.locator(f"[name={field}]")
        written.fill(value)
        page.get_by_text("Limits and metadata").click()  # closed: it opens for what is wrong in it
        page.get_by_role("button", name="Start the run").click()
        box = page.locator(f"[name={field.replace('value', 'key')}]")
        expect(box).to_be_focused()
        expect(box).to_have_accessible_description(re.compile(re.escape(told)))
        expect(page.locator("[data-drop]")).to_contain_text("rows.jsonl")
        written.fill("")
        if field != "prompt":
            page.get_by_text("Limits and metadata").click()


def test_without_a_file_and_without_script_the_form_says_what_is_missing(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    made = new_eval(server, "No file")
    window.page.goto(f"/evals/{made}/new-run")
    window.page.get_by_role("button", name="Start the run").click()
    expect(window.page.locator("[data-error=file]")).to_have_text("Choose a file: JSONL, a JSON array, or CSV.")
    path = f"/evals/{made}/new-run"
    shown = get(server, path)
    head = {**HTML, "cookie": cookies_of(shown)}
    kind, body = form([("csrf_token", token_in(shown)), ("name", "kept")], b"[", "rows.json")
    refused = send(server, "POST", path, {**head, "content-type": kind}, body)
    assert refused.status == 400
    assert "Not a JSON array" in refused.body.decode()
    assert 'value="kept"' in refused.body.decode()
    kind, body = form([("csrf_token", token_in(shown))], JSONL.encode(), "rows.jsonl")
    taken = send(server, "POST", path, {**head, "content-type": kind}, body)
    assert taken.status == 303
    assert re.fullmatch(rf"/evals/{made}/runs/evalrun_[0-9a-f]+", taken.headers["location"])


def test_an_upload_that_breaks_off_says_so_and_leaves_nothing(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("ERR_FAILED")
    page = window.page
    made = new_eval(server, "Broken off")
    before, on_disk = files(server), kept(server)
    page.goto(f"/evals/{made}/new-run")
    page.route("**/new-run", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    choose(page, "rows.jsonl", JSONL)
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator("[data-error=form]")).to_contain_text("The upload broke off")
    expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    assert (files(server), kept(server)) == (before, on_disk)


def test_a_file_that_was_deleted_meanwhile_is_told(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    made = new_eval(server, "Gone")
    file_id = server.upload(JSONL.encode(), "gone.jsonl").json()["id"]
    page.goto(f"/evals/{made}/new-run")
    server.request("DELETE", f"/v1/files/{file_id}")
    page.get_by_label("Or a file that is on the server").select_option(file_id)
    expect(page.locator("[data-preview-place]")).to_contain_text("no longer on the server")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator("[data-error=file]")).to_contain_text("no longer on the server")


@pytest.mark.thorough
def test_columns_of_other_names_are_said_to_be_the_fields_and_the_answer(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    made = new_eval(server, "Columns")
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{made}/new-run")
    choose(page, "rows.csv", "prompt,gold,reply\nCapital of France?,Paris,Paris\nCapital of Italy?,Rome,Milan\n")
    expect(page.get_by_text("answer is missing in every row")).to_be_visible()
    field = page.get_by_label("item.answer")
    field.focus()
    field.select_option("gold")
    expect(page.get_by_text("answer is missing in every row")).to_have_count(0)
    expect(field).to_be_focused()  # although the rows above were drawn anew
    page.get_by_label("The answer", exact=True).select_option("reply")
    expect(page.get_by_text("Each has an answer")).to_be_visible()
    check_page(window, "new-run-columns")
    page.get_by_role("button", name="Start the run").click()
    assert started(server, page)["result_counts"] == {"total": 2, "errored": 0, "failed": 1, "passed": 1, "skipped": 0}
    assert files(server) == ["rows, mapped.jsonl"]
    assert kept(server) == 1


def test_a_mapped_file_that_cannot_be_read_is_refused_and_nothing_of_it_is_kept(
    server: Server, open_window: Open
) -> None:
    made = new_eval(server, "Broken columns")
    before = kept(server)
    shown = get(server, f"/evals/{made}/new-run")
    fields = [("csrf_token", token_in(shown)), ("map.answer", "gold")]
    kind, body = form(fields, b'{"gold": 1}\nnot json\n', "rows.jsonl")
    answer = send(
        server, "POST", f"/evals/{made}/new-run", {**HTML, "content-type": kind, "cookie": cookies_of(shown)}, body
    )
    assert answer.status == 400
    assert "Line 2" in answer.body.decode()
    assert kept(server) == before


@pytest.mark.thorough
def test_a_run_that_was_pasted_fills_the_form_in_and_is_checked_while_typing(server: Server, page: Page) -> None:
    made = new_eval(server, "Pasted")
    page.goto(f"/evals/{made}/new-run")
    page.get_by_text("Paste JSON or a curl command").click()
    rows = [{"item": {"answer": "Paris"}, "sample": "Paris"}]
    source = {
        "type": "completions",
        "model": "nobody-knows-it",
        "sampling_params": {"temperature": 0.25},
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{ item.answer }}"}]},
        "source": {"type": "file_content", "content": rows},
    }
    body = {"name": "from elsewhere", "metadata": {"team": "geo"}, "data_source": source}
    page.get_by_label("A run, or the command that starts one").fill(json.dumps(body))
    page.get_by_role("button", name="Fill in").click()
    expect(page.get_by_text("Filled in.")).to_be_visible()
    expect(page.get_by_label("Temperature")).to_have_value("0.25")
    expect(page.get_by_label("User prompt")).to_have_value("{{ item.answer }}")
    expect(page.get_by_label("Key").first).to_have_value("team")
    expect(page.get_by_text("pasted.jsonl")).to_be_visible()
    expect(page.get_by_text('Unknown model "nobody-knows-it"')).to_be_visible()
    page.get_by_label("Temperature").fill("7")
    expect(page.locator("#typed-temperature")).to_contain_text("2")
    page.get_by_label("Temperature").fill("1")
    expect(page.locator("#typed-temperature")).to_have_count(0)
    page.get_by_text("The rows have them").click()
    page.get_by_role("button", name="Start the run").click()
    assert started(server, page)["name"] == "from elsewhere"
