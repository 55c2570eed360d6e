"""The process that trains, seen from its worker."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fairmark.training.folder import JobFolder
from fairmark.training.process import TrainerProcess, ended_in_words
from tests.server.client import wait_for
from tests.test_command import is_alive


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    made = JobFolder(tmp_path, "ftjob-1")
    made.make()
    return made


def started(folder: JobFolder, source: str) -> TrainerProcess:
    return TrainerProcess(folder, (sys.executable, "-c", source))


def told(process: TrainerProcess) -> list[dict[str, Any]]:
    heard = []
    while not process.has_ended:
        if (said := process.next(10)) is not None:
            heard.append(said)
    return heard


def test_lines_of_json_are_told_and_all_else_is_not(folder: JobFolder) -> None:
    process = started(folder, 'print(\'{"type": "a"}\\nnoise\\n[1]\\n{"type": "b"}\'); import sys; sys.exit(3)')
    assert told(process) == [{"type": "a"}, {"type": "b"}]
    assert process.end() == 3
    assert process.end() == 3


def test_the_tail_is_what_this_process_said_last(folder: JobFolder) -> None:
    folder.log.write_text("of a former one\n")
    process = started(folder, "import sys; sys.stderr.write('one\\n' * 50 + 'last words')")
    told(process)
    process.end()
    assert process.tail().endswith("one\nlast words")
    assert "former" not in process.tail()


def test_a_process_is_ended_with_all_that_it_started(folder: JobFolder) -> None:
    source = (
        "import subprocess, time; child = subprocess.Popen(['sleep', '600'])\n"
        "print('{\"pid\": %d}' % child.pid, flush=True); time.sleep(600)"
    )
    process = started(folder, source)
    heard = process.next(30)
    assert heard is not None
    assert process.end() == -signal.SIGKILL
    wait_for(lambda: not is_alive(heard["pid"]) and not is_alive(process.pid))


def test_a_process_that_floods_its_worker_can_be_ended(folder: JobFolder) -> None:
    process = started(folder, "while True: print('{}')")
    assert process.next(30) == {}
    assert process.end() == -signal.SIGKILL


def test_a_stop_is_a_line_and_the_workers_end_is_the_end_of_the_input(folder: JobFolder) -> None:
    source = "import sys, json\nfor line in sys.stdin: print(json.dumps({'line': line}), flush=True)"
    process = started(folder, source)
    process.ask_to_stop()
    assert process.next(30) == {"line": "stop\n"}
    process.end()
    process.ask_to_stop()  # of one that is gone already


@pytest.mark.parametrize(
    ("code", "words"), [(1, "exit code 1"), (-11, "SIGSEGV"), (-9, "memory runs out"), (-63, "ended by ")]
)
def test_an_end_is_told_in_words(code: int, words: str) -> None:
    assert words in ended_in_words(code)


def test_the_key_of_the_server_is_not_handed_on(folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-judge")  # graders may ask a judge
    process = started(folder, "import os, json; print(json.dumps(dict(os.environ)))")
    (environment,) = told(process)
    process.end()
    assert "FAIRMARK_API_KEY" not in environment
    assert (environment["OPENAI_API_KEY"], environment["HF_HUB_OFFLINE"]) == ("sk-judge", "1")
