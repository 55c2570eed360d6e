import json
import math
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from fairmark.longjson import LONG
from tests.evals.working import JUDGE as HOUSE_JUDGE
from tests.evals.working import SAMPLED as HOUSE_SAMPLED
from tests.evals.working import python, recount
from tests.postgres import Postgres
from tests.server.client import EXACT, Answer, wait_for
from tests.server.databases import DATABASES, Api, serving
from tests.store.conftest import postgres  # noqa: F401  # a fixture

NEW: dict[str, Any] = {"data_source_config": {"type": "custom", "item_schema": {}}}
JUDGE = {**HOUSE_JUDGE, "model": "judge"}
SAMPLED = {**HOUSE_SAMPLED, "model": "student"}
SLOW = python("import time; time.sleep(0.005); return 1.0")


@pytest.fixture(scope="module", params=DATABASES)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    with serving(request, request.param) as started:
        yield started


def new_eval(api: Api, *criteria: dict[str, Any]) -> str:
    answer = api.post("/v1/evals", {**NEW, "testing_criteria": list(criteria) or [EXACT]})
    assert answer.status == 201, answer.body
    return f"/v1/evals/{answer.json()['id']}"


def inline(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = list(rows) or [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}]
    return {"type": "jsonl", **more, "source": {"type": "file_content", "content": content}}


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"item": {"a": f"no. {n}", "answer": str(n % 2)}, "sample": {"output_text": "1"}} for n in range(count)]


def by_id(file: dict[str, Any]) -> dict[str, Any]:
    return {"type": "jsonl", "source": {"type": "file_id", "id": file["id"]}}


def post(api: Api, where: str, data_source: Any, **more: Any) -> dict[str, Any]:
    answer = api.post(f"{where}/runs", {"data_source": data_source, **more})
    assert answer.status == 201, answer.body
    run: dict[str, Any] = answer.json()
    return run


def poll(api: Api, where: str, run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{where}/runs/{run['id']}").json()
    return found


def counted(api: Api, where: str, run: dict[str, Any], total: int) -> bool:
    return bool(poll(api, where, run)["result_counts"]["total"] == total)


def has_status(api: Api, where: str, run: dict[str, Any], status: str) -> bool:
    return bool(poll(api, where, run)["status"] == status)


def wait(api: Api, where: str, run: dict[str, Any], within_s: float = 60) -> dict[str, Any]:
    """The run once it has ended."""
    wait_for(lambda: poll(api, where, run)["status"] not in ("queued", "in_progress"), within_s)
    return poll(api, where, run)


def items(api: Api, where: str, run: dict[str, Any], query: str = "limit=100") -> list[dict[str, Any]]:
    """All pages, as a client reads them."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = api.get(f"{where}/runs/{run['id']}/output_items?{query}{after}").json()
        found += page["data"]
        if not page["has_more"]:
            return found
        after = f"&after={page['data'][-1]['id']}"


def test_what_a_run_does_not_use_is_told_from_its_start_to_its_end(api: Api) -> None:
    where = new_eval(api)
    run = post(api, where, inline(*numbered(2), model="student"))
    told = "data_source.model: not used: a run of type jsonl grades its rows as they are."
    assert [(note["warning"].startswith(told), note["count"]) for note in run["warnings"]] == [(True, 2)]
    assert wait(api, where, run)["warnings"] == run["warnings"]


@pytest.mark.on_both
def test_a_run_is_queued_worked_off_and_read(api: Api) -> None:
    where = new_eval(api, EXACT, {**EXACT, "operation": "ne"})
    source = inline(*numbered(3))
    run = post(api, where, source, name="first", metadata={"k": "v"}, unknown=1)
    assert run["status"] in ("queued", "in_progress")
    assert (run["object"], run["eval_id"], run["name"], run["metadata"], run["model"], run["error"]) == (
        "eval.run", where.split("/")[-1], "first", {"k": "v"}, None, None
    )  # fmt: skip
    assert run["result_counts"] == {"total": 0, "passed": 0, "failed": 0, "errored": 0, "skipped": 0}
    assert (run["per_model_usage"], run["per_testing_criteria_results"]) == (None, None)
    assert run["data_source"] == source
    done = wait(api, where, run)
    assert done["status"] == "completed"
    assert done["result_counts"] == {"total": 3, "passed": 0, "failed": 3, "errored": 0, "skipped": 0}
    ids = [criterion["id"] for criterion in api.get(where).json()["testing_criteria"]]
    assert done["per_testing_criteria_results"] == [
        {"testing_criteria": ids[0], "passed": 1, "failed": 2, "errored": 0, "skipped": 0},
        {"testing_criteria": ids[1], "passed": 2, "failed": 1, "errored": 0, "skipped": 0},
    ]
    assert done["per_model_usage"] == []
    seen = items(api, where, run)
    assert [item["datasource_item_id"] for item in seen] == [0, 1, 2]
    assert api.get(f"{where}/runs/{run['id']}/output_items/{seen[1]['id']}").json() == seen[1]


def test_the_report_url_is_absolute(api: Api) -> None:
    run = post(api, new_eval(api), inline())
    assert run["report_url"] == f"{api.url}/evals/{run['eval_id']}/runs/{run['id']}"


def test_a_run_by_file_reads_jsonl_arrays_and_csv(api: Api) -> None:
    where = new_eval(api)
    row = {"answer": "Paris", "sample": "Paris"}
    for content, name in (
        (json.dumps({"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}), "a.jsonl"),
        (json.dumps([row]), "a.json"),
        ("answer,sample\nParis,Paris\n", "a.csv"),
    ):
        file = api.upload(content.encode(), name).json()
        run = post(api, where, by_id(file))
        assert run["data_source"]["source"] == {"type": "file_id", "id": file["id"]}
        assert wait(api, where, run)["result_counts"]["passed"] == 1, name


def test_a_bad_line_of_a_file_is_named_and_no_run_is_made(api: Api) -> None:
    where = new_eval(api)
    file = api.upload(b'{"item": {"answer": "x"}}\n{"item": \n').json()
    answer = api.post(f"{where}/runs", {"data_source": by_id(file)})
    assert (answer.status, answer.error["param"]) == (400, "data_source.source.id")
    assert "line 2: not JSON" in answer.error["message"]
    assert str(api.home) not in answer.error["message"]
    assert api.get(f"{where}/runs").json()["data"] == []


BY_FILE = {"type": "jsonl", "source": {"type": "file_id", "id": "file-unknown"}}
NO_ID, NO_ROWS = {"type": "file_id", "id": ""}, {"type": "file_content", "content": []}
BAD_ROW = {"type": "file_content", "content": [{"item": {}}, 5]}
STORED, LOGGED = {"type": "stored_completions"}, {"type": "responses"}
RESPONSES = {**inline(), **SAMPLED, "type": "responses"}
WEB = {"sampling_params": {"tools": [{"type": "web_search"}]}}


@pytest.mark.parametrize(
    ("given", "param", "code"),
    [
        ({}, "data_source", "missing_required_parameter"),
        ({"data_source": 5}, "data_source", "invalid_type"),
        ({"data_source": {"type": "x"}}, "data_source.type", "invalid_value"),
        ({"data_source": BY_FILE}, "data_source.source.id", "file_not_found"),
        ({"data_source": {**BY_FILE, "source": NO_ID}}, "data_source.source.id", "file_not_found"),
        ({"data_source": {**BY_FILE, "source": NO_ROWS}}, "data_source.source.content", "invalid_value"),
        ({"data_source": {**BY_FILE, "source": BAD_ROW}}, "data_source.source.content[1]", "invalid_value"),
        ({"data_source": {**SAMPLED, "source": STORED}}, "data_source.source", "no_rows"),
        ({"data_source": {**RESPONSES, "source": LOGGED}}, "data_source.source", "no_rows"),
        ({"data_source": SAMPLED | WEB}, "data_source.sampling_params.tools[0].type", "unsupported_tool"),
        ({"data_source": inline(), "name": []}, "name", "invalid_type"),
        ({"data_source": inline(), "metadata": {"a": None}}, "metadata.a", "invalid_type"),
        ({"data_source": inline(), "budget": 5}, "budget", "invalid_type"),
        ({"data_source": inline(), "budget": {"tokens": -1}}, "budget.tokens", "invalid_value"),
        ({"data_source": inline(), "budget": {"tokens": True}}, "budget.tokens", "invalid_type"),
        ({"data_source": inline(), "budget": {"euros": 1}}, "budget.euros", "unknown_parameter"),
        ({"data_source": inline(), "deadline_s": 0}, "deadline_s", "invalid_value"),
        ({"data_source": inline(), "deadline_s": "1 h"}, "deadline_s", "invalid_type"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_is_refused_with_its_place_and_its_code(
    api: Api, given: dict[str, Any], param: str, code: str
) -> None:
    answer = api.post(f"{new_eval(api)}/runs", given)
    assert answer.status == 400
    assert (answer.error["param"], answer.error["code"]) == (param, code)
    assert answer.error["message"]


def test_unknown_runs_and_those_of_another_eval_are_not_found(api: Api) -> None:
    mine, other = new_eval(api), new_eval(api)
    run = post(api, mine, inline())
    wait(api, mine, run)
    item = items(api, mine, run)[0]["id"]
    for path in (f"{other}/runs/{run['id']}", f"{mine}/runs/evalrun_unknown"):
        answers: list[Answer] = [
            api.get(path),
            api.post(f"{path}/cancel", None),
            api.post(path, None),
            api.request("DELETE", path),
            api.get(f"{path}/output_items"),
            api.get(f"{path}/output_items/{item}"),
        ]
        assert [answer.status for answer in answers] == [404] * 6
    again = post(api, mine, inline())
    assert api.get(f"{mine}/runs/{again['id']}/output_items/{item}").status == 404
    assert api.get(f"{mine}/runs/{run['id']}/output_items/outputitem_x").status == 404


def test_rows_are_sampled_judged_and_counted_by_model(api: Api) -> None:
    where = new_eval(api, JUDGE, {**EXACT, "reference": "{{ item.a }}"})
    rows = [{"item": {"a": text}} for text in ("one", "two BAD", "three BROKEN")]
    run = wait(api, where, post(api, where, {**SAMPLED, **inline(*rows), "type": "completions"}))
    assert (run["status"], run["model"]) == ("completed", "student")
    seen = items(api, where, run)
    assert [item["status"] for item in seen] == ["pass", "fail", "error"]
    assert seen[0]["sample"]["output"][0]["content"] == "one"
    assert json.loads(seen[0]["results"][0]["sample"]["output"][0]["content"])["result"] == 1
    assert seen[2]["sample"]["error"]["code"] == "model_grader_server_error"
    tokens = {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240, "cached_tokens": 0}
    assert run["per_model_usage"] == [
        {"model_name": "judge", "invocation_count": 2, **tokens},
        {"model_name": "student", "invocation_count": 3, **tokens},
    ]


def test_a_run_is_cancelled_by_both_paths_at_once_while_its_judge_hangs(api: Api) -> None:
    where = new_eval(api, JUDGE)
    for path in ("/cancel", ""):
        # One chunk of good rows comes through before the judge hangs.
        rows = [{"item": {"a": f"{n}" if n < 32 else f"{n} HANG"}} for n in range(64)]
        run = post(api, where, inline(*rows))
        wait_for(partial(counted, api, where, run, 32))
        answer = api.post(f"{where}/runs/{run['id']}{path}", None, {"content-type": "application/json"})
        assert (answer.status, answer.json()["status"]) == (200, "canceled")
        assert len(items(api, where, run)) == 32
        assert poll(api, where, run)["result_counts"]["total"] == 32
    # Nothing of them is left that would keep others from their turn.
    assert wait(api, where, post(api, where, inline({"item": {"a": "1"}})))["status"] == "completed"


def test_cancelling_a_run_that_has_ended_changes_nothing(api: Api) -> None:
    where = new_eval(api)
    done = wait(api, where, post(api, where, inline()))
    answer = api.post(f"{where}/runs/{done['id']}/cancel", None)
    assert (answer.status, answer.json()) == (200, done)


@pytest.mark.on_both
def test_a_deleted_run_is_gone_while_it_is_worked_off_too(api: Api) -> None:
    where = new_eval(api, JUDGE)
    run = post(api, where, inline({"item": {"a": "HANG"}}))
    wait_for(lambda: poll(api, where, run)["status"] == "in_progress")
    gone = api.request("DELETE", f"{where}/runs/{run['id']}")
    assert (gone.status, gone.json()) == (
        200,
        {"object": "eval.run.deleted", "deleted": True, "run_id": run["id"]},
    )
    assert api.get(f"{where}/runs/{run['id']}").status == 404
    assert api.request("DELETE", f"{where}/runs/{run['id']}").status == 404


def test_what_exceeds_budget_or_deadline_is_skipped_and_shown(api: Api) -> None:
    where = new_eval(api, JUDGE)
    rows = [{"item": {"a": str(n)}} for n in range(300)]
    run = wait(api, where, post(api, where, inline(*rows), budget={"tokens": 1200}))
    assert (run["status"], run["budget"]) == ("completed", {"tokens": 1200})
    assert run["result_counts"]["total"] == 300
    # What is under way when the budget is spent still finishes: no more than the judge takes at once.
    assert 10 <= run["result_counts"]["passed"] <= 10 + 64
    assert run["result_counts"]["skipped"] == 300 - run["result_counts"]["passed"]
    assert {item["status"] for item in items(api, where, run, "status=skip&limit=100")} == {"skip"}
    hanging = post(api, where, inline({"item": {"a": "HANG"}}), deadline_s=1.5)
    run = wait(api, where, hanging, 20)
    assert (run["status"], run["result_counts"]["skipped"], run["deadline_s"]) == ("completed", 1, 1.5)


def test_runs_are_listed_by_status_and_paged(api: Api) -> None:
    where = new_eval(api)
    runs = [post(api, where, inline()) for _ in range(3)]
    for run in runs:
        wait(api, where, run)
    ids = [run["id"] for run in runs]

    def listed(query: str) -> list[str]:
        return [run["id"] for run in api.get(f"{where}/runs?{query}").json()["data"]]

    assert listed("") == listed("status=completed") == ids
    assert listed("status=queued") == listed("status=failed") == listed("status=canceled") == []
    assert listed("order=desc&limit=2") == [ids[2], ids[1]]
    assert listed(f"after={ids[0]}&limit=1") == [ids[1]]
    assert listed(f"before={ids[2]}&limit=1") == [ids[1]]
    of_other_kind = where.rpartition("/")[2]
    for query, param in (
        ("status=done", "status"),
        ("after=evalrun_x", "after"),
        (f"after={of_other_kind}", "after"),
        ("before=evalrun_x", "before"),
        ("limit=1000", "limit"),
    ):
        answer = api.get(f"{where}/runs?{query}")
        assert (answer.status, answer.error["param"]) == (400, param)
    assert api.request("DELETE", f"{where}/runs/{ids[1]}").status == 200
    assert listed(f"after={ids[1]}") == [ids[2]]
    assert listed(f"before={ids[1]}") == [ids[0]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=pass", [1, 3]),
        ("status=passed", [1, 3]),
        ("status=fail", [0, 2]),
        ("status=failed&order=desc", [2, 0]),
        ("status=error", [4]),
        ("limit=2&order=desc", [4, 3, 2, 1, 0]),
        ("limit=1&status=pass", [1, 3]),
    ],
)
def test_items_are_listed_by_status_in_both_orders(api: Api, query: str, expected: list[int]) -> None:
    where = new_eval(api)
    run = post(api, where, inline(*numbered(4), {"item": {}, "sample": {"output_text": "1"}}))
    wait(api, where, run)
    assert [item["datasource_item_id"] for item in items(api, where, run, query)] == expected


def test_the_items_in_front_of_one_are_listed_in_the_same_order(api: Api) -> None:
    where = new_eval(api)
    run = post(api, where, inline(*numbered(5)))
    wait(api, where, run)
    ids = [item["id"] for item in items(api, where, run, "limit=100")]
    page = api.get(f"{where}/runs/{run['id']}/output_items?limit=2&before={ids[4]}").json()
    assert ([item["id"] for item in page["data"]], page["has_more"]) == (ids[2:4], True)
    page = api.get(f"{where}/runs/{run['id']}/output_items?limit=2&order=desc&before={ids[1]}").json()
    assert ([item["id"] for item in page["data"]], page["has_more"]) == ([ids[3], ids[2]], True)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=good", "status"),
        ("split=yes", "split"),
        ("after=x", "after"),
        ("before=x", "before"),
        ("limit=101", "limit"),
    ],
)
def test_a_wrong_query_for_items_is_refused(api: Api, query: str, param: str) -> None:
    where = new_eval(api)
    answer = api.get(f"{where}/runs/{post(api, where, inline())['id']}/output_items?{query}")
    assert (answer.status, answer.error["param"]) == (400, param)


@pytest.mark.on_both
def test_items_on_which_judges_split_tell_who_differed_and_are_listed_alone(api: Api) -> None:
    asked = [{"role": "user", "content": "How good is {{ sample.output_text }}?"}]
    jury = {"type": "score_model", "name": "jury", "model": "judge", "panel": ["critic"], "input": asked}
    where = new_eval(api, jury)
    said = ["BAD", "fine", "GOOD", "odd", "so so"]
    run = post(api, where, inline(*({"item": {}, "sample": {"output_text": text}} for text in said)))
    wait(api, where, run)
    found = items(api, where, run, "split=true&limit=2")
    assert [item["datasource_item_id"] for item in found] == [1, 3, 4]
    spread, judgements = found[0]["results"][0]["spread"], found[0]["results"][0]["judgements"]
    assert (spread["models"], spread["verdicts"]) == (["judge", "critic"], [1, 0])
    assert (spread["split"], spread["dissent"]) == (True, ["critic"])  # the mean of 0.5 passes
    assert [(judgement["model"], judgement["result"]) for judgement in judgements] == [("judge", 1), ("critic", 0)]
    last = items(api, where, run, "split=true&limit=1&order=desc&status=pass")
    assert [item["datasource_item_id"] for item in last] == [4, 3, 1]
    before = api.get(f"{where}/runs/{run['id']}/output_items?split=true&limit=1&before={found[2]['id']}").json()
    assert ([item["datasource_item_id"] for item in before["data"]], before["has_more"]) == ([3], True)
    assert items(api, where, run, "split=true&status=fail") == []


@pytest.mark.on_both
def test_paging_while_the_run_goes_on_shows_no_item_twice_and_cursors_stay(api: Api) -> None:
    where = new_eval(api, SLOW)
    run = post(api, where, inline(*numbered(400)))
    seen: list[int] = []
    after = ""
    while True:
        status = poll(api, where, run)["status"]
        page = api.get(f"{where}/runs/{run['id']}/output_items?limit=100{after}")
        assert page.status == 200
        seen += [item["datasource_item_id"] for item in page.json()["data"]]
        if page.json()["data"]:
            after = f"&after={page.json()['last_id']}"
        elif status == "completed":
            break
    assert seen == sorted(set(seen))
    assert [item["datasource_item_id"] for item in items(api, where, run)] == list(range(400))


def test_half_an_emoji_in_a_row_comes_back_in_the_run_and_its_item(api: Api) -> None:
    where = new_eval(api)
    source = inline({"item": {"answer": "half \ud83d"}, "sample": {"output_text": "half \ud83d"}})
    run = post(api, where, source)
    assert wait(api, where, run)["data_source"] == source
    (item,) = items(api, where, run)
    assert (item["status"], item["datasource_item"]) == ("pass", {"answer": "half \ud83d"})


def test_a_run_whose_file_is_deleted_before_it_begins_fails_and_says_so(request: pytest.FixtureRequest) -> None:
    with serving(request, "sqlite", {"FAIRMARK_RUNS_AT_ONCE": "1"}) as api:
        busy = new_eval(api, JUDGE)
        hanging = post(api, busy, inline({"item": {"a": "HANG"}}))
        wait_for(partial(has_status, api, busy, hanging, "in_progress"))
        where = new_eval(api)
        file = api.upload(b'{"answer": "x"}\n').json()
        run = post(api, where, by_id(file))
        api.request("DELETE", f"/v1/files/{file['id']}")
        assert has_status(api, where, run, "queued")
        api.post(f"{busy}/runs/{hanging['id']}/cancel", None)
        failed = wait(api, where, run)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "file_not_found")
    assert file["id"] in failed["error"]["message"]


# Faults: the store cannot be reached for a while, under a server that goes on running.


@pytest.mark.on_both
def test_requests_say_503_while_the_store_is_away_and_the_run_goes_on_by_itself_after(
    request: pytest.FixtureRequest, api: Api
) -> None:
    where = new_eval(api, SLOW, JUDGE)
    asked, house = len(api.models.requests), api.models.house
    house.most_answers = house.answers + 100
    run = post(api, where, inline(*numbered(300)))
    wait_for(lambda: poll(api, where, run)["result_counts"]["total"] > 0)
    back = take_away(request, api)
    try:
        refused = outage(api, where)
        house.most_answers = math.inf  # what is left is graded now, and cannot be stored
        assert refused.error["code"] == "store_unavailable"
        assert refused.headers["retry-after"]
        ready = api.get("/readyz")
        assert ready.status == 503
        assert not re.search(r"postgresql|127\.0\.0\.1|/tmp", ready.body.decode())  # anybody may ask
        if api.database is not None:  # where no file may grow, the log does not either
            assert any("not ready" in line for line in api.stderr.read_text().splitlines())
        time.sleep(1.0)
    finally:
        house.most_answers = math.inf
        back()
    done = wait(api, where, run)
    seen = items(api, where, run)
    assert (done["status"], done["result_counts"]["total"]) == ("completed", 300)
    assert [item["datasource_item_id"] for item in seen] == list(range(300))
    statuses, by_criterion = recount(seen)
    assert statuses == {"pass": 300}
    assert [[each["passed"], each["failed"]] for each in done["per_testing_criteria_results"]] == [
        counts[:2] for counts in by_criterion.values()
    ]
    assert len(api.models.requests) - asked == 300


def outage(api: Api, where: str) -> Answer:
    """The first answer that tells of it."""
    until = time.monotonic() + 30
    while True:
        answer = api.post(where, {"metadata": {"filler": "x" * 500}})
        if answer.status == 503:
            return answer
        assert answer.status == 200
        assert time.monotonic() < until


def take_away(request: pytest.FixtureRequest, api: Api) -> Callable[[], Any]:
    """Stops the database server, or lets no file grow any more; what undoes it."""
    if api.database is not None:
        server = request.getfixturevalue("postgres")
        assert isinstance(server, Postgres)
        server.stop()
        return server.start
    pid = api.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, hard))
    return lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_creating_and_polling_go_on_while_a_big_run_is_worked_off(api: Api) -> None:
    where = new_eval(api, EXACT)
    run = post(api, where, inline(*numbered(3_000)))
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(api.get(where).status)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 10
    assert wait(api, where, run)["result_counts"] == {
        "total": 3_000, "passed": 1_500, "failed": 1_500, "errored": 0, "skipped": 0
    }  # fmt: skip


def many() -> list[dict[str, Any]]:
    rows = [{**row, "item": {**row["item"], "more": "x" * 150}} for row in numbered(2_500)]
    assert len(json.dumps(rows)) > LONG
    return rows


def test_a_run_of_many_rows_in_its_request_is_the_same_as_one_of_few(api: Api) -> None:
    """So many that they are looked through in turns, and never all in memory."""
    where, rows = new_eval(api), many()
    run = post(api, where, inline(*rows), name="many")
    assert run["data_source"]["source"]["content"] == rows
    wait_for(lambda: poll(api, where, run)["status"] not in ("queued", "in_progress"))
    done = poll(api, where, run)
    assert (done["status"], done["result_counts"]["passed"], done["result_counts"]["failed"]) == (
        "completed",
        1_250,
        1_250,
    )
    assert done["data_source"]["source"]["content"] == rows


@pytest.mark.parametrize(
    ("row", "where_told"),
    [(b'{"itme": {}}', "data_source.source.content[2500]"), (b'{"item": {"a": nan}}', "data_source.source.content")],
)
def test_a_wrong_row_among_many_is_refused_with_its_place(api: Api, row: bytes, where_told: str) -> None:
    body = json.dumps({"data_source": inline(*many())}).encode().replace(b"]}}", b", " + row + b"]}}")
    refused = api.request("POST", f"{new_eval(api)}/runs", body=body)
    assert (refused.status, refused.error["param"]) == (400, where_told), refused.error
