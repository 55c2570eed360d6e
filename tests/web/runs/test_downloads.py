"""A run's rows as files: complete, in order, and harmless in a spreadsheet."""

import csv
import io
import json
from typing import Any

import pytest
from playwright.sync_api import Page

from fairmark.web.runs.downloads import cell
from tests.server.client import EXACT, Server
from tests.web.browser import new_eval, new_run, rows
from tests.web.forms import get
from tests.web.reading import read

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}, "n": {"type": "number"}}}
CONFIG = {"type": "custom", "item_schema": SCHEMA, "include_sample_schema": True}


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    """Of a run of three rows, that passed, failed and could not be graded."""
    made = new_eval(server, "files", data_source_config=CONFIG)
    return f"/evals/{made}/runs/{new_run(server, made, rows(1, 1, 1), 'Täglich: run 7/8 (a.b)')}"


def table(server: Server, path: str) -> list[list[str]]:
    answer = get(server, f"{path}/download.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.body.decode(), newline="")))


def test_json_lines_are_the_items_of_the_api(server: Server, path: str) -> None:
    answer = get(server, f"{path}/download.jsonl")
    assert answer.headers["content-type"] == "application/jsonl"
    items = server.get(f"/v1{path}/output_items").json()["data"]
    assert [json.loads(line) for line in answer.body.splitlines()] == items


def test_a_table_has_a_row_a_row_and_columns_that_the_eval_tells(server: Server, path: str) -> None:
    head, *found = table(server, path)
    criterion = ["exact reward", "exact outcome", "exact error"]
    assert head == ["row", "status", "item.answer", "item.n", "item", "sample", "model", *criterion]
    assert found[0] == ["0", "pass", "Paris", "", '{"answer": "Paris"}', "Paris", "", "1.0", "pass", ""]
    assert found[1][:2] + found[1][7:] == ["1", "fail", "0.0", "fail", ""]
    assert found[2][7:9] == ["0.0", "error"]
    assert 'this item has no field "answer"' in found[2][9]


def test_the_name_of_the_file_is_the_runs_as_far_as_all_systems_can_have_it(server: Server, path: str) -> None:
    for ending in ("jsonl", "csv"):
        told = get(server, f"{path}/download.{ending}").headers["content-disposition"]
        assert told == f'attachment; filename="T-glich-run-7-8-a.b.{ending}"'


@pytest.mark.parametrize(
    ("name", "filename"),
    [
        ("../../etc/passwd", "etc-passwd.csv"),
        ('a"; filename="evil.exe', "a-filename-evil.exe.csv"),
        ("x\r\nset-cookie: y", "x-set-cookie-y.csv"),
        ("a" * 256, "a" * 60 + ".csv"),
        ("....", None),
        ("日本", None),
    ],
)
def test_no_name_leads_anywhere_else(server: Server, name: str, filename: str | None) -> None:
    made = new_eval(server, "names")
    run_id = new_run(server, made, rows(1), name)
    told = get(server, f"/evals/{made}/runs/{run_id}/download.csv").headers
    assert told["content-disposition"] == f'attachment; filename="{filename or run_id + ".csv"}"'
    assert "y" not in told.get("set-cookie", "")[:1]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("＝1+1", "'＝1+1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
        ("-1.5", "-1.5"),
        ("+3e8", "+3e8"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
        (-1.5, -1.5),
        (True, "true"),
        ({"a": 1}, '{"a": 1}'),
        (["=1"], '["=1"]'),
    ],
)
def test_a_cell_is_never_a_formula(value: Any, written: Any) -> None:
    assert cell(value) == written


def test_formulas_of_rows_and_names_arrive_as_text(server: Server) -> None:
    made = new_eval(
        server, "formulas", testing_criteria=[{**EXACT, "name": "=HYPERLINK(1)"}], data_source_config=CONFIG
    )
    row = {"item": {"answer": "=1+1", "n": -4}, "sample": {"output_text": "@SUM(1)\nsecond, line"}}
    head, found = table(server, f"/evals/{made}/runs/{new_run(server, made, [row])}")
    assert head[7] == "'=HYPERLINK(1) reward"
    assert (found[2], found[3], found[5]) == ("'=1+1", "-4", "'@SUM(1)\nsecond, line")


@pytest.mark.thorough
def test_many_rows_come_whole_and_in_order_in_little_memory(server: Server) -> None:
    made = new_eval(server, "many")
    text = "x" * 2_000
    many = [{"item": {"answer": text, "n": n}, "sample": {"output_text": text}} for n in range(5_000)]
    path = f"/evals/{made}/runs/{new_run(server, made, many)}"
    get(server, f"{path}/download.csv")
    before = server.memory_mb(peak=True)
    lines = get(server, f"{path}/download.jsonl").body.splitlines()
    assert [json.loads(line)["datasource_item"]["n"] for line in lines] == list(range(5_000))
    assert [row[0] for row in table(server, path)[1:]] == [str(n) for n in range(5_000)]
    assert server.memory_mb(peak=True) - before < 15  # MB; the files are 25 and 30


def test_the_page_offers_both_files(server: Server, page: Page, path: str) -> None:
    page.goto(path)
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    assert started.value.suggested_filename == "T-glich-run-7-8-a.b.csv"
    offered = read(server, path).css("a").containing("JSONL").one
    assert get(server, offered.attributes["href"]).body.count(b"\n") == 3
