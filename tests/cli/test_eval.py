"""fairmark eval: results, summary, exit codes, interruption and going on."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Run
from tests.judges.faults import FaultServer, Raw, Status

EXACT = json.dumps(
    {
        "type": "string_check",
        "name": "exact",
        "input": "{{sample.output_text}}",
        "reference": "{{item.a}}",
        "operation": "eq",
    }
)
JUDGED = json.dumps(
    {
        "type": "score_model",
        "name": "judged",
        "model": "judge",
        "input": [{"role": "user", "content": "Rate {{sample.output_text}} as {{item.a}}."}],
    }
)
CAPITALS = ["examples/capitals.jsonl", "--grader", "examples/exact.json"]


def data(path: Path, count: int = 10) -> str:
    rows = [{"item": {"a": str(i)}, "sample": str(i if i % 4 else -1)} for i in range(1, count + 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewards(path: Path) -> list[tuple[int, float]]:
    return [(line["row"], line["results"]["exact"]["reward"]) for line in lines(path)]


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


def test_a_run_that_was_killed_goes_on(fairmark: Run, tmp_path: Path) -> None:
    """What a killed process leaves: the part that was written, with half a line at its end, and the old file."""
    source, out, partial = data(tmp_path / "d.jsonl"), tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    arguments = ["eval", source, "--grader", EXACT, "-o", str(out)]
    fairmark(*arguments)
    whole = out.read_bytes()
    partial.write_bytes(whole[: len(whole) // 2])
    out.write_text("the results of another day\n")
    done = fairmark(*arguments, "--resume")
    assert done.returncode == 0
    assert "from before" in done.stdout
    assert [row for row, _ in rewards(out)] == list(range(1, 11))
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


@pytest.mark.parametrize("cut", [0, 1, 250, 700, 10_000])
def test_resuming_a_cut_file_grades_just_what_is_missing(fairmark: Run, tmp_path: Path, cut: int) -> None:
    source, whole, part = data(tmp_path / "d.jsonl"), tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    fairmark("eval", source, "--grader", EXACT, "-o", str(whole))
    # What a crash leaves of the last line may be longer than what will stand in its place.
    part.write_bytes(whole.read_bytes()[:cut] + b"x" * 5000)
    kept = part.read_bytes().rpartition(b"\n")[0]
    done = fairmark("eval", source, "--grader", EXACT, "-o", str(part), "--resume")
    assert done.returncode == 0
    assert part.read_bytes().startswith(kept)
    assert rewards(part) == rewards(whole)
    assert done.stdout.splitlines()[1].split()[:5] == ["exact", "0.8000", "80.0%", "8", "2"]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"nonsense\n", "line 1 is not a result line; cannot resume."),
        (b'{"row":1,"graders":"other","results":{}}\n', "line 1 was made by other graders; cannot resume."),
    ],
)
def test_resuming_somebody_elses_file_is_refused(fairmark: Run, tmp_path: Path, stored: bytes, message: str) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(stored)
    done = fairmark("eval", *CAPITALS, "-o", str(out), "--resume")
    assert (done.returncode, done.stderr) == (2, f"{out}: {message}\n")
    assert out.read_bytes() == stored


def test_resuming_with_other_data_is_refused(fairmark: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    fairmark("eval", data(tmp_path / "d.jsonl", 3), "--grader", EXACT, "-o", str(out))
    (tmp_path / "d.jsonl").write_text('{"a": "1", "sample": "1"}\n' * 5)
    done = fairmark("eval", str(tmp_path / "d.jsonl"), "--grader", EXACT, "-o", str(out), "--resume")
    assert (done.returncode, done.stderr) == (
        2,
        f"{tmp_path}/d.jsonl: row 3 is not the row that was graded; cannot resume.\n",
    )


def test_ctrl_c_keeps_what_was_graded_and_says_how_to_go_on(fairmark: Run, tmp_path: Path) -> None:
    """Rows come by a pipe that stays open, so that the run is surely under way when it is interrupted."""
    out = tmp_path / "out.jsonl"
    command = [str(Path(sys.executable).parent / "fairmark"), "eval", "-", "--grader", EXACT, "-o", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin
        assert process.stderr
        deadline = time.monotonic() + 60
        number = 0
        partial = out.with_name("out.jsonl.partial")
        while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
            for _ in range(500):
                number += 1
                process.stdin.write(json.dumps({"a": str(number), "sample": str(number)}).encode() + b"\n")
            process.stdin.flush()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        told = process.stderr.read().decode()
        process.stdin.close()
        assert process.wait(timeout=60) == 130
    graded = rewards(out)
    # The interrupt may fall between writing a row and counting it.
    assert any(f"Stopped after {len(graded) - late:,} rows." in told for late in (0, 1))
    assert f"They are in {out}. Go on with:\n  fairmark eval - --grader" in told
    assert told.rstrip().endswith("--resume")
    assert graded == [(i, 1.0) for i in range(1, len(graded) + 1)]
    assert len(graded) > 100


def test_a_reader_that_goes_away_is_no_error_message(tmp_path: Path) -> None:
    source = data(tmp_path / "d.jsonl", 5000)
    fairmark = Path(sys.executable).parent / "fairmark"
    shell = f"{fairmark} eval {source} --grader '{EXACT}' -o - | head -n 1"
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


# Judges and their budget. The server answers every question with 0.75 and says that this took 120 tokens.


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def judging(server: FaultServer, home: Path) -> dict[str, str]:
    """One question at a time, so that it is known which rows are within a budget."""
    return {
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "FAIRMARK_HOME": str(home / "home"),
        "FAIRMARK_JUDGE_CONCURRENCY": "1",
        "FAIRMARK_JUDGE_CACHE": "off",
    }


def statuses(path: Path, label: str = "judged") -> list[tuple[int, str]]:
    return [(line["row"], line["results"][label]["status"]) for line in lines(path)]


def test_the_summary_shows_what_judges_took(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    source = data(tmp_path / "d.jsonl", 4)
    done = fairmark(
        "eval", source, "--grader", JUDGED, "--grader", EXACT, "-o", str(out), env=judging(server, tmp_path)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "judges: 480 tokens"
    assert "skipped" not in done.stdout
    result = lines(out)[0]["results"]["judged"]
    assert (result["reward"], result["passed"], result["status"]) == (0.75, True, "graded")
    (judgement,) = result["judgements"]
    assert (judgement["result"], judgement["usage"]["total_tokens"], judgement["cost"]) == (0.75, 120, None)
    assert "input" not in judgement
    assert "judgements" not in lines(out)[0]["results"]["exact"]


def test_rows_beyond_the_budget_are_skipped_and_counted_apart(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 5), "--grader", JUDGED, "--grader", EXACT, "-o", str(out)]
    done = fairmark(*arguments, "--budget-tokens", "300", env=judging(server, tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    heading, judged, exact = done.stdout.splitlines()[:3]
    assert heading.split()[6:8] == ["errors", "skipped"]
    assert judged.split()[:7] == ["judged", "0.7500", "100.0%", "3", "0", "0", "2"]
    assert exact.split()[:7] == ["exact", "0.8000", "80.0%", "4", "1", "0", "0"]
    assert (
        "judged: 2 of 5 rows were skipped. The first:\n  not asked: the budget of 300 tokens is spent." in done.stdout
    )
    assert done.stdout.endswith(f"; results in {out}; --resume grades the skipped rows\njudges: 360 tokens\n")
    assert [status for _, status in statuses(out)] == ["graded"] * 3 + ["skipped"] * 2
    skipped = lines(out)[4]["results"]["judged"]
    assert (skipped["passed"], skipped["skipped"]) == (None, "not asked: the budget of 300 tokens is spent.")
    assert len(server.requests) == 3


def test_all_graders_of_a_run_share_the_budget(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    other = JUDGED.replace("Rate", "Judge").replace("judged", "other")
    arguments = ["eval", data(tmp_path / "d.jsonl", 20), "--grader", JUDGED, "--grader", other]
    done = fairmark(*arguments, "--budget-tokens", "1000", env=judging(server, tmp_path))
    assert len(server.requests) == 9
    assert done.stdout.splitlines()[-1] == "judges: 1,080 tokens"


@pytest.mark.parametrize(("fail_under", "code"), [("0.6", 0), ("0.61", 1)])
def test_a_skipped_row_counts_as_not_passed(
    fairmark: Run, server: FaultServer, tmp_path: Path, fail_under: str, code: int
) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 5), "--grader", JUDGED, "--fail-under", fail_under]
    done = fairmark(*arguments, "--budget-tokens", "300", env=judging(server, tmp_path))
    assert done.returncode == code
    assert done.stderr == (f"judged: 0.6000 is below {fail_under}\n" if code else "")


def test_a_budget_of_nothing_grades_nothing(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 3), "--grader", JUDGED, "--budget-tokens", "0"]
    done = fairmark(*arguments, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert server.requests == []


def test_resume_grades_skipped_rows_again_and_keeps_the_others_and_their_order(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    """Also where skipped rows lie between others, as they do where a part of the answers was known already."""
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 8), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, "--budget-tokens", "300", env=env)
    whole = out.read_text().splitlines(keepends=True)
    # As a run that was stopped leaves it: skipped rows between graded ones, and half a line at the end.
    mixed = [whole[3].replace('"row":4', '"row":1'), *whole[1:3], *whole[3:6]]
    mixed[0] = json.dumps({**json.loads(mixed[0]), "item": {"a": "1"}, "sample": "1"}) + "\n"
    out.write_text("".join(mixed) + whole[6][:40])
    out.chmod(0o640)
    done = fairmark(*arguments, "--resume", "--budget-tokens", "500", env=env)
    assert done.returncode == 0
    assert statuses(out) == [(row, "skipped" if row == 8 else "graded") for row in range(1, 9)]
    assert out.read_text().splitlines(keepends=True)[1:3] == whole[1:3]
    assert len(server.requests) == 3 + 5
    assert "6 rows in" in done.stdout
    assert "2 from before" in done.stdout
    assert done.stdout.splitlines()[-1] == "judges: 840 tokens"  # seven rows, two of them from before
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "out.jsonl"]
    done = fairmark(*arguments, "--resume", env=env)
    assert statuses(out) == [(row, "graded") for row in range(1, 9)]
    assert "rows were skipped" not in done.stdout


def test_resume_keeps_the_rows_that_lie_behind_the_last_skipped_one(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 6), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, env=env)
    whole = out.read_text().splitlines(keepends=True)
    second = json.loads(whole[1])
    second["results"]["judged"] = {"reward": 0.0, "passed": None, "status": "skipped", "skipped": "no budget"}
    out.write_text("".join([whole[0], json.dumps(second) + "\n", *whole[2:]]))
    assert fairmark(*arguments, "--resume", env=env).returncode == 0
    assert statuses(out) == [(row, "graded") for row in range(1, 7)]
    assert [line for line in out.read_text().splitlines(keepends=True) if line in whole] == [whole[0], *whole[2:]]
    assert len(server.requests) == 6 + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "out.jsonl"]


def test_resuming_after_skipped_rows_loses_nothing_when_it_is_stopped_too(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out, source = tmp_path / "out.jsonl", Path(data(tmp_path / "d.jsonl", 6))
    arguments = ["eval", str(source), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, "--budget-tokens", "300", env=env)
    rows = source.read_text().splitlines()
    source.write_text("\n".join([*rows[:4], "no row", rows[5]]) + "\n")
    done = fairmark(*arguments, "--resume", env=env)
    assert done.returncode == 0  # a row that cannot be read was read before; its line stays as it is
    assert statuses(out) == [
        (1, "graded"),
        (2, "graded"),
        (3, "graded"),
        (4, "graded"),
        (5, "skipped"),
        (6, "graded"),
    ]
    source.write_text("\n".join([*rows, "no row"]) + "\n")
    done = fairmark(*arguments, "--resume", env=env)
    assert done.returncode == 2
    assert "line 7: not JSON" in done.stderr
    # Row 5 may have been under way when the bad one was found.
    assert [(row, status) for row, status in statuses(out) if row != 5] == [(row, "graded") for row in (1, 2, 3, 4, 6)]
    assert [row for row, _ in statuses(out)] == [1, 2, 3, 4, 5, 6]


def test_a_budget_in_dollars_stops_by_what_models_cost(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    source = data(tmp_path / "d.jsonl", 5)
    (tmp_path / "fairmark.toml").write_text(
        f"""
        [providers.house]
        base_url = "{server.url}/v1"
        [models.judge]
        provider = "house"
        price_in = 10
        price_out = 100
        """
    )
    arguments = ["eval", source, "--grader", JUDGED, "--budget-dollars", "0.005"]
    done = fairmark(*arguments, env=judging(server, tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests) == 2
    assert "not asked: the budget of $0.005 is spent." in done.stdout
    assert done.stdout.splitlines()[-1] == "judges: 240 tokens, $0.0060"
    both = ["--grader", JUDGED.replace('"judge"', '"unknown/price"')]
    done = fairmark("eval", source, "--grader", JUDGED, *both, env=judging(server, tmp_path), cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "judges: 1,200 tokens, at least $0.0150 (not every model has a price)"


def test_a_budget_in_dollars_for_a_model_without_a_price_is_an_error_on_every_row(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 2), "--grader", JUDGED, "--budget-dollars", "1"]
    done = fairmark(*arguments, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert "judge: a budget in dollars is set, and this model has no price." in done.stdout
    assert server.requests == []


@pytest.mark.parametrize("wrong", [("--budget-tokens", "-1"), ("--budget-dollars", "-1"), ("--budget-dollars", "nan")])
def test_a_wrong_budget_is_exit_code_2(fairmark: Run, wrong: tuple[str, str]) -> None:
    done = fairmark("eval", *CAPITALS, *wrong)
    assert done.returncode == 2
    assert wrong[0] in done.stderr


def test_a_broken_judge_is_errors_and_not_bad_answers(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    server.always(Status(401, "bad key"))
    done = fairmark("eval", data(tmp_path / "d.jsonl", 2), "--grader", JUDGED, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert "judged: 2 of 2 rows could not be graded:\n  2 × judge: the server answered 401: bad key" in done.stdout


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (True, '$.model: model "judge": openai does not list it at '),
        (False, '$.model: unknown model "judge". Configured: '),
    ],
)
def test_a_model_that_is_not_there_is_exit_code_2_before_anything_is_asked(
    fairmark: Run, server: FaultServer, tmp_path: Path, listed: bool, told: str
) -> None:
    server.always(Raw(b'{"object": "list", "data": [{"id": "judge-2"}, {"id": "student"}]}'), "/models")
    env = judging(server, tmp_path)
    if not listed:
        del env["OPENAI_BASE_URL"]
    out = tmp_path / "out.jsonl"
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", JUDGED, "-o", str(out), env=env, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert ("Did you mean judge-2?" in done.stderr) == listed
    assert [request.path for request in server.requests] == ["/v1/models"] * listed
    assert not out.exists()
    checked = fairmark("validate", JUDGED, env=env, cwd=tmp_path)  # without asking anybody
    assert checked.returncode == 0
    assert len(server.requests) == listed


def test_a_model_that_is_listed_is_asked(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    server.always(Raw(b'{"object": "list", "data": [{"id": "judge"}]}'), "/models")
    env = judging(server, tmp_path)
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", JUDGED, "--workers", "2", env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests) == 1 + 4


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
    done = fairmark("eval", str(source), "--grader", str(grader), "--deadline", "3", "-o", str(tmp_path / "out.jsonl"))
    assert done.returncode == 0
    results = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert "not graded: the deadline of 3 s for the whole call has passed." in json.dumps(results[-1])


def test_a_deadline_is_a_time(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("eval", data(tmp_path / "d.jsonl"), "--grader", EXACT, "--deadline", "0")
    assert done.returncode == 2
    assert "--deadline: found 0. It takes seconds, more than 0." in done.stderr
