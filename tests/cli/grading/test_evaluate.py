"""fairmark eval: results, summary, exit codes, interruption and going on."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Run
from tests.cli.grading.evaluating import CAPITALS, EXACT, data, lines, rewards


def test_results_are_one_line_a_row_with_item_and_sample(fairmark: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.jsonl"
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", EXACT, "-o", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = lines(out)
    assert first["results"]["exact"].pop("execution_time") > 0
    assert first.pop("graders") == last["graders"]
    assert first == {
        "row": 1,
        "results": {"exact": {"reward": 1.0, "passed": True, "status": "graded"}},
        "item": {"a": "1"},
        "sample": "1",
    }
    assert rewards(out) == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.0)]


def test_the_summary_keeps_errors_apart_from_zeros(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(
        '{"item": {"a": "x"}, "sample": "x"}\n{"item": {"a": "x"}, "sample": "y"}\n{"item": {}, "sample": "y"}\n'
    )
    done = fairmark("eval", str(tmp_path / "d.jsonl"), "--grader", EXACT)
    first, _, heading, row = done.stdout.splitlines()[:4]
    assert first == "1 of 3 rows could not be graded (33.3%). What follows is of the others alone."
    assert heading.split() == [
        "grader",
        "mean",
        "pass",
        "rate",
        "passed",
        "failed",
        "errors",
        "rewards",
        "0",
        "to",
        "1",
    ]
    assert row.split()[:6] == ["exact", "0.5000", "50.0%", "1", "1", "1"]
    assert "|█        █|" in row
    assert "exact: 1 of 3 rows could not be graded:\n  1 × " in done.stdout
    assert '{{ item.a }}: this item has no field "a". It has none.' in done.stdout


def test_several_graders_stand_side_by_side_under_their_own_labels(fairmark: Run, tmp_path: Path) -> None:
    unnamed = tmp_path / "same length.json"
    unnamed.write_text('{"type": "string_check", "input": "a", "reference": "b", "operation": "ne"}')
    out = tmp_path / "out.jsonl"
    graders = ["--grader", EXACT, "--grader", str(unnamed), "--grader", EXACT]
    assert fairmark("eval", data(tmp_path / "d.jsonl", 3), *graders, "-o", str(out)).returncode == 0
    assert list(lines(out)[0]["results"]) == ["exact", "same length", "exact (2)"]


@pytest.mark.parametrize(("fail_under", "code"), [("0.5", 0), ("0.75", 0), ("0.76", 1), ("1", 1)])
def test_fail_under_decides_the_exit_code(fairmark: Run, tmp_path: Path, fail_under: str, code: int) -> None:
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", EXACT, "--fail-under", fail_under)
    assert done.returncode == code
    assert done.stderr == (f"exact: 0.7500 is below {fail_under}\n" if code else "")


def test_a_grader_that_fails_on_every_row_is_exit_code_3(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("eval", *CAPITALS, "--grader", EXACT, "--fail-under", "0.1")
    assert done.returncode == 3
    assert "exact (2): 24 of 24 rows could not be graded" in done.stdout


def test_results_can_go_to_stdout_with_the_summary_on_stderr(fairmark: Run) -> None:
    done = fairmark("eval", *CAPITALS, "-o", "-")
    assert [json.loads(line)["row"] for line in done.stdout.splitlines()] == list(range(1, 25))
    assert "pass rate" in done.stderr


def test_data_can_come_from_stdin_csv_or_an_array(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,sample\n1,1\n2,3\n")
    (tmp_path / "d.json").write_text('[{"a": "1", "sample": "1"},\n {"a": "2", "sample": "3"}]')
    for source, stdin in (
        (f"{tmp_path}/d.csv", ""),
        (f"{tmp_path}/d.json", ""),
        ("-", '{"a": "1", "sample": "1"}\n' * 2),
    ):
        done = fairmark("eval", source, "--grader", EXACT, "-o", "-", stdin=stdin)
        assert json.loads(done.stdout.splitlines()[0])["results"]["exact"]["reward"] == 1.0
        assert len(done.stdout.splitlines()) == 2


def test_a_bad_line_stops_with_its_number_and_can_be_skipped(fairmark: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    source.write_text('{"a": "1", "sample": "1"}\n{"a": \n{"a": "3", "sample": "3"}\n')
    out = tmp_path / "out.jsonl"
    done = fairmark("eval", str(source), "--grader", EXACT, "-o", str(out))
    assert done.returncode == 2
    assert done.stderr == (
        f"{source}: line 2: not JSON: expecting value at column 6. --skip-bad-rows goes on without such rows.\n"
    )
    assert rewards(out) == [(1, 1.0)]
    done = fairmark("eval", str(source), "--grader", EXACT, "-o", str(out), "--resume", "--skip-bad-rows")
    assert done.returncode == 0
    assert "line 2: not JSON" in done.stderr
    assert "1 rows in" in done.stdout
    assert "1 from before, 1 bad rows left out" in done.stdout
    assert rewards(out) == [(1, 1.0), (3, 1.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "there are no rows in it."), (b"[", "not a JSON array: expecting value at line 2 column 1.")],
)
def test_a_file_without_rows_is_exit_code_2(fairmark: Run, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "d.jsonl").write_bytes(content)
    done = fairmark("eval", str(tmp_path / "d.jsonl"), "--grader", EXACT)
    assert (done.returncode, done.stderr) == (2, f"{tmp_path}/d.jsonl: {message}\n")


def test_an_existing_results_file_is_not_replaced_unasked(fairmark: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious\n")
    done = fairmark("eval", *CAPITALS, "-o", str(out))
    assert done.returncode == 2
    assert done.stderr == f"{out}: exists already. --resume goes on with it, --overwrite replaces it.\n"
    assert out.read_text() == "precious\n"
    assert fairmark("eval", *CAPITALS, "-o", str(out), "--overwrite").returncode == 0
    assert len(lines(out)) == 24


@pytest.mark.parametrize("fail_under", ["50", "-0.1", "1.01", "nan"])
def test_a_limit_that_no_pass_rate_can_reach_is_told(fairmark: Run, fail_under: str) -> None:
    done = fairmark("eval", *CAPITALS, "--fail-under", fail_under)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"--fail-under: found {fail_under}. The pass rate of exact is from 0 to 1.\n"


def test_the_summary_as_json_and_none_at_all(fairmark: Run, tmp_path: Path) -> None:
    source = data(tmp_path / "d.jsonl")
    summary = json.loads(fairmark("eval", source, "--grader", EXACT, "--json").stdout)
    assert summary["rows"] == 10
    exact = summary["graders"]["exact"]
    assert (exact["mean"], exact["pass_rate"], exact["passed"], exact["failed"], exact["errors"]) == (0.8, 0.8, 8, 2, 0)
    assert exact["warnings"] == []
    done = fairmark("eval", source, "--grader", EXACT, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_answer_under_the_wrong_key_is_no_plain_zero(fairmark: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "d.jsonl", tmp_path / "out.jsonl"
    wrapped, flat = {"item": {"a": "1"}, "response": "1"}, {"a": "2", "response": "2"}
    source.write_text("".join(json.dumps(row) + "\n" for row in (wrapped, flat, flat)))
    done = fairmark("eval", str(source), "--grader", EXACT, "-o", str(out))
    assert done.returncode == 3
    no_sample = "this row has no sample: sample.output_text is the empty text"
    advice = 'a model\'s answer has to stand under "sample".'
    told = [
        f'warning: exact: 1 of 3 rows: {no_sample}. It has "response"; {advice}',
        f'warning: exact: 2 of 3 rows: {no_sample}. Its item has "response"; {advice}',
        "exact: no row has the sample that it asks for, so that nothing was graded.",
    ]
    assert done.stderr.splitlines() == told
    assert fairmark("eval", str(source), "--grader", EXACT, "-o", str(out), "--resume").stderr.splitlines() == told


def test_what_is_wrong_with_a_grader_is_told_once(fairmark: Run, tmp_path: Path) -> None:
    mistaken = {**json.loads(EXACT), "pass_treshold": 1, "input": "{ sample.output_text }"}
    out = tmp_path / "out.jsonl"
    done = fairmark("eval", data(tmp_path / "d.jsonl"), "--grader", json.dumps(mistaken), "-o", str(out))
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: exact: $.input: { sample.output_text is taken as plain text; a variable stands in two braces on both "
        "sides.",
        "warning: exact: $.pass_treshold: unknown field, kept but not used. Did you mean pass_threshold?",
    ]
    assert "warnings" not in lines(out)[0]["results"]["exact"]


@pytest.mark.parametrize("way", ["itself", "relative", "symlink", "hardlink", "stdin", "resume", "grader"])
def test_the_data_is_never_the_output(fairmark: Run, tmp_path: Path, way: str) -> None:
    source = Path(data(tmp_path / "d.jsonl"))
    before = source.read_bytes()
    grader = tmp_path / "grader.json"
    grader.write_text(EXACT)
    out = {"relative": Path("./d.jsonl"), "grader": grader}.get(way, source)
    if way in ("symlink", "hardlink"):
        out = tmp_path / "other.jsonl"
        out.symlink_to(source) if way == "symlink" else out.hardlink_to(source)
    arguments = ["--grader", str(grader), "-o", str(out), "--resume" if way == "resume" else "--overwrite"]
    if way == "stdin":
        command = f"{Path(sys.executable).parent / 'fairmark'} eval - {shlex.join(arguments)} < {source}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)
    else:
        done = fairmark("eval", str(source), *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{out}: this is the file that is read" in done.stderr
    assert source.read_bytes() == before
    assert grader.read_text() == EXACT
    assert not list(tmp_path.glob("*.partial"))


def test_an_old_results_file_stays_until_the_new_one_is_whole(fairmark: Run, tmp_path: Path) -> None:
    source, out, partial = tmp_path / "d.jsonl", tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    out.write_text("precious\n")
    source.write_text('{"a": "1", "sample": "1"}\nnonsense\n{"a": "3", "sample": "3"}\n')
    arguments = ["eval", str(source), "--grader", EXACT, "-o", str(out)]
    done = fairmark(*arguments, "--overwrite")
    assert done.returncode == 2
    assert f"What was graded is in {partial}, and {out} is as it was. Go on with:\n  fairmark eval " in done.stderr
    assert out.read_text() == "precious\n"
    assert rewards(partial) == [(1, 1.0)]
    out.unlink()
    done = fairmark(*arguments)
    assert (done.returncode, done.stderr) == (
        2,
        f"{partial}: exists already. --resume goes on with it, --overwrite replaces it.\n",
    )
    done = fairmark(*arguments, "--resume", "--skip-bad-rows")
    assert done.returncode == 0
    assert rewards(out) == [(1, 1.0), (3, 1.0)]
    assert not partial.exists()


def test_a_link_as_output_stays_one_and_a_device_is_written_to(fairmark: Run, tmp_path: Path) -> None:
    link, real = tmp_path / "link.jsonl", tmp_path / "real.jsonl"
    link.symlink_to(real)
    assert fairmark("eval", *CAPITALS, "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert len(lines(real)) == 24
    assert fairmark("eval", *CAPITALS, "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_python_and_function_graders_work_on_files(fairmark: Run, tmp_path: Path) -> None:
    python = tmp_path / "length.json"
    source = "def grade(sample, item):\n    print(item['a'])\n    return 10 / (int(sample['output_text']) - 3)"
    python.write_text(json.dumps({"type": "python", "source": source}))
    function = tmp_path / "words.json"
    source = "async def grade(thread: StringThread) -> float:\n    return len(thread.completion())"
    function.write_text(json.dumps({"type": "function", "source": source}))
    out = tmp_path / "out.jsonl"
    graders = ["--grader", str(python), "--grader", str(function), "--grader", EXACT]
    done = fairmark("eval", data(tmp_path / "d.jsonl", 300), *graders, "-o", str(out))
    assert done.returncode == 0
    results = [line["results"] for line in lines(out)]
    assert [r["words"]["reward"] for r in results] == [float(len(str(i if i % 4 else -1))) for i in range(1, 301)]
    assert results[0]["length"]["reward"] == -5.0
    assert results[0]["length"]["printed"] == "1\n"
    assert results[2]["length"]["errors"]["python_grader_runtime_error"] is True
    assert "length: 1 of 300 rows could not be graded" in done.stdout


def test_a_reader_that_goes_away_is_no_error_message(tmp_path: Path) -> None:
    source = data(tmp_path / "d.jsonl", 5000)
    fairmark = Path(sys.executable).parent / "fairmark"
    shell = f"{fairmark} eval {source} --grader '{EXACT}' --no-store -o - | head -n 1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, cwd=ROOT)
    assert json.loads(done.stdout)["row"] == 1
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_results_that_cannot_be_written_are_a_clear_error(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = fairmark("eval", *CAPITALS, "-o", str(tmp_path / "file" / "out.jsonl"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"{tmp_path}/file/out.jsonl.partial: ")
    done = fairmark("eval", *CAPITALS, "-o", "/dev/full", "--overwrite")
    assert (done.returncode, done.stderr) == (
        2,
        "/dev/full: no space left on device. What was written before is kept.\n",
    )


def test_a_deadline_ends_what_would_never_end(fairmark: Run, tmp_path: Path) -> None:
    grader = tmp_path / "fuzzy.json"
    grader.write_text(
        json.dumps(
            {
                "type": "text_similarity",
                "input": "{{sample.output_text}}",
                "reference": "{{item.answer}}",
                "evaluation_metric": "fuzzy_match",
                "pass_threshold": 0.5,
            }
        )
    )
    rows = [{"answer": "4", "sample": "4"}, {"answer": "ab" * 3_000_000, "sample": "ba" * 3_000_000}]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = fairmark("eval", str(source), "--grader", str(grader), "--deadline", "1", "-o", str(tmp_path / "out.jsonl"))
    assert done.returncode == 0
    results = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert "not graded: the deadline of 1 s for the whole call has passed." in json.dumps(results[-1])


def test_a_deadline_is_a_time(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("eval", data(tmp_path / "d.jsonl"), "--grader", EXACT, "--deadline", "0")
    assert done.returncode == 2
    assert "--deadline: found 0. It takes seconds, more than 0." in done.stderr


def test_what_is_told_about_the_data_is_used(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes("expected;out\nZürich;Zürich\nBern;Basel\n".encode("latin-1"))
    check = {
        "type": "string_check",
        "operation": "eq",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.answer }}",
    }
    told = ["--map", "answer=expected", "--map", "sample=out", "--separator", ";", "--encoding", "latin-1"]
    done = fairmark("eval", str(tmp_path / "d.csv"), "--grader", json.dumps(check), "--json", *told)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["graders"]["string_check"]["passed"] == 1
    refused = fairmark("eval", str(tmp_path / "d.csv"), "--grader", json.dumps(check))
    assert (refused.returncode, "--separator ';'" in refused.stderr) == (2, True)
