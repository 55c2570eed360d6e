"""fairmark judge, against a provider on loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.judges.faults import FaultServer, Status

GRADER = json.dumps(
    {
        "type": "score_model",
        "name": "good",
        "model": "judge",
        "input": [{"role": "user", "content": "Rate {{ sample.output_text }}."}],
    }
)


def labelled(path: Path, count: int = 40) -> str:
    rows = [{"item": {"question": f"q{i}"}, "sample": f"answer {i}.", "score": i / count} for i in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def asking(server: FaultServer, home: Path, **more: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "FAIRMARK_HOME": str(home / "home"), **more}


def test_a_judge_that_says_the_same_of_everything_is_not_trusted(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    rows, out, page = labelled(tmp_path / "rows.jsonl"), tmp_path / "out.json", tmp_path / "out.html"
    arguments = ["judge", "check", GRADER, rows, "-o", str(out), "--html", str(page), "--probes", "sanity, repeat"]
    done = fairmark(*arguments, env=asking(server, tmp_path))
    assert done.returncode == 1
    assert done.stdout.startswith("good (judge): not trusted\n")
    assert "answers that cannot be good pass" in done.stdout
    assert done.stderr.startswith("220 calls, about ")
    told = json.loads(out.read_text())
    assert (told["schema"], told["grade"], told["alarms"]) == (1, "not trusted", ["sanity"])
    assert "not trusted" in page.read_text()
    asked = len(server.requests)
    assert asked == 144  # equal questions are asked once: without its row, nonsense is the same question each time
    again = fairmark(*arguments, env=asking(server, tmp_path))
    assert again.returncode == 1
    assert len(server.requests) == asked  # the cache has every answer


def test_the_plan_comes_without_a_question(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    rows = labelled(tmp_path / "rows.jsonl")
    done = fairmark("judge", "check", GRADER, rows, "--dry-run", "--max-calls", "300", env=asking(server, tmp_path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split()[:2] == ["base", "40"]
    assert "dropped: the whole takes" in done.stdout
    assert server.requests == []


@pytest.mark.parametrize(
    ("line", "options", "told"),
    [
        ({"score": 7}, [], "rows.jsonl, line 41: score: 7 is outside the grader's range, 0 to 1."),
        ({"label": "pass"}, [], "rows.jsonl, line 41: it has a label, and line 1 a score."),
        ({}, ["--require", "perfect"], "--require: found 'perfect'. Use one of: trusted, care."),
        ({}, ["--probes", "lenght"], "there is no probe 'lenght'"),
        ({}, ["--reference", "ideal"], "--reference: found 'ideal'"),
        ({}, ["--max-calls", "3"], "the labelled rows alone take"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    fairmark: Run, server: FaultServer, tmp_path: Path, line: dict[str, Any], options: list[str], told: str
) -> None:
    rows = labelled(tmp_path / "rows.jsonl")
    with Path(rows).open("a") as file:
        file.write(json.dumps({"item": {}, "sample": "x", **line}) + "\n")
    done = fairmark("judge", "check", GRADER, rows, *options, env=asking(server, tmp_path))
    assert done.returncode == 2
    assert told in done.stderr
    assert server.requests == []


def test_a_report_never_goes_over_what_is_read(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    rows = labelled(tmp_path / "rows.jsonl")
    done = fairmark("judge", "check", GRADER, rows, "-o", rows, env=asking(server, tmp_path))
    assert done.returncode == 2
    assert "this is the file that is read" in done.stderr


def test_a_judge_that_does_not_answer_is_no_grade(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    server.always(Status(401))
    rows = labelled(tmp_path / "rows.jsonl")
    done = fairmark("judge", "check", GRADER, rows, "--probes", "none", env=asking(server, tmp_path))
    assert done.returncode == 3
    assert "40 of 40 questions failed" in done.stderr
