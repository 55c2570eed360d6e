"""Commands and code to copy: each is run for real, in a shell or by Python, and grades what it was made from."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairmark.web.graders import snippets
from fairmark.web.graders.snippets import GradingCall
from tests import command
from tests.server.client import EXACT, Server
from tests.server.test_gate import make_key
from tests.web.browser import in_thread
from tests.web.conftest import Start

BIN = Path(sys.executable).parent
OPENAI = Path(__file__).parents[3] / ".venv-clients" / "openai" / "bin" / "python"
Write = Callable[[GradingCall], str]

HOSTILE = [
    "Paris",
    "",
    "@/etc/passwd",
    "-n --help",
    'it\'s "quoted" and `ticked` $(touch ran) ${HOME} $HOME \\n \\',
    "!! !echo ~ * ? [a] {b,c} # & | ; < > ( )",
    "JSON\nEOF\n'JSON'\n",
    "\nbegins and ends with lines\n\n",
    "tab\tand\rreturn, bell\a, escape \x1b[31m, nul \x00, rtl \u202e, end \x7f",
    "Grüße, 日本語, 👩‍🚀",
    "{{ item.answer }} {% raw %}",
]
ECHO = {
    **EXACT,
    "name": 'it\'s $(touch ran) "named"',
    "x-note": "two\nlines and '''quotes''' \\",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    started = Server(tmp_path_factory.mktemp("server") / "home")
    yield started
    started.stop()


def run(words: list[str], cwd: Path, **env: str) -> str:
    """What it prints. PATH has fairmark on it, as a user's would."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env={
            "PATH": f"{command.folder()}:{BIN}:/usr/bin:/bin",
            "FAIRMARK_HOME": str(cwd),
            "HOME": str(cwd),
            "LANG": "C.UTF-8",
            **env,
        },
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert not (cwd / "ran").exists(), "a command inside a text was run"
    assert done.returncode in (0, 1), done.stderr.decode()  # 1: graded, and below its threshold
    return done.stdout.decode()


def shell(snippet: str, cwd: Path, **env: str) -> Any:
    script = cwd / "snippet.sh"
    script.write_text(snippet)
    return json.loads(run(["bash", str(script)], cwd, **env))


def python(snippet: str, cwd: Path, by: Path = BIN / "python", **env: str) -> str:
    script = cwd / "snippet.py"
    script.write_text(snippet)
    return run([str(by), str(script)], cwd, **env)


def call(server: Server, sample: Any, item: dict[str, Any], grader: Any = ECHO) -> GradingCall:
    return GradingCall(grader, item, sample, server.url, needs_key=False)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("write", [snippets.curl, snippets.command])
def test_a_shell_carries_every_text_to_the_grader_as_it_is(
    server: Server, tmp_path: Path, write: Write, text: str
) -> None:
    """The sample is compared with the item, which came by another way."""
    right = shell(write(call(server, text, {"answer": text, "it's": ["$(touch ran)", text]})), tmp_path)
    assert (right["reward"], right["error"]) == (1.0, None)
    assert right["metadata"]["name"] == ECHO["name"]
    assert shell(write(call(server, f"{text}.", {"answer": text})), tmp_path)["reward"] == 0.0


ONE_BY_ONE = """import runpy, sys
for name in sys.argv[1:]:
    runpy.run_path(name, run_name="__main__")
    print("", flush=True)
"""


@pytest.fixture(scope="module")
def said_by_python(server: Server, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the snippets print for each text, right and wrong. One process runs them all: it takes a third of a second
    to import the library."""
    folder = tmp_path_factory.mktemp("python")
    names: list[str] = []
    for text in HOSTILE:
        for sample in (text, f"{text}."):
            names.append(f"snippet{len(names)}.py")
            (folder / names[-1]).write_text(snippets.library(call(server, sample, {"answer": text})))
    said = run([str(BIN / "python"), "-c", ONE_BY_ONE, *names], folder).split("\n\n")
    assert said.pop() == ""
    return said


@pytest.mark.parametrize("text", HOSTILE)
def test_python_carries_every_text_to_the_grader_as_it_is(said_by_python: list[str], text: str) -> None:
    assert len(said_by_python) == 2 * len(HOSTILE)
    at = 2 * HOSTILE.index(text)
    assert said_by_python[at : at + 2] == ["1.0 True None", "0.0 False None"]


@pytest.mark.thorough
def test_openais_client_carries_every_text_to_the_grader_as_it_is(server: Server, tmp_path: Path) -> None:
    """All in one go: the client takes a second to start."""
    item = {f"t{index}": text for index, text in enumerate(HOSTILE)}
    for index in (4, 6, 8, 9):
        grader = {**ECHO, "reference": f"{{{{item.t{index}}}}}"}
        said = python(snippets.client(call(server, HOSTILE[index], item, grader)), tmp_path, OPENAI)
        assert said.startswith("1.0 "), said


@pytest.mark.thorough
def test_a_sample_may_be_an_object_and_a_grader_may_hold_code(server: Server, tmp_path: Path) -> None:
    source = (
        "def grade(sample, item):\n"
        "    print('it\\'s', \"$HOME\")\n"
        "    return 1.0 if sample['output_json']['n'] == item['n'] else 0.0\n"
    )
    grader = {"type": "python", "name": "code", "source": source}
    sample = {"output_text": '{"n": 12345678901234567}', "note": None, "flag": True}
    made = call(server, sample, {"n": 12345678901234567, "x": 1.5e-9}, grader)
    for write in (snippets.curl, snippets.command):
        result = shell(write(made), tmp_path)
        assert (result["reward"], result["printed"]) == (1.0, "it's $HOME\n")
    assert python(snippets.library(made), tmp_path) == "1.0 True None\n"
    assert python(snippets.client(made), tmp_path, OPENAI).startswith("1.0 ")


@pytest.mark.parametrize("write", [snippets.curl, snippets.command])
def test_what_is_too_long_for_an_argument_goes_by_a_file(server: Server, tmp_path: Path, write: Write) -> None:
    text = "it's long " * 40_000
    assert shell(write(call(server, text, {"answer": text})), tmp_path)["reward"] == 1.0


def test_half_an_emoji_is_written_as_an_escape(server: Server, tmp_path: Path) -> None:
    made = call(server, "\ud83d", {"answer": "\ud83d"})
    for write in (snippets.curl, snippets.command):
        assert shell(write(made), tmp_path)["reward"] == 1.0
    assert python(snippets.library(made), tmp_path) == "1.0 True None\n"


def test_with_keys_the_commands_take_the_key_from_the_environment(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "keyed"
    key = in_thread(make_key, home)
    server = start(home=home)
    made = GradingCall(EXACT, {"answer": "Paris"}, "Paris", server.url, needs_key=True)
    assert shell(snippets.curl(made), tmp_path, OPENAI_API_KEY=key)["reward"] == 1.0
    assert python(snippets.client(made), tmp_path, OPENAI, OPENAI_API_KEY=key).startswith("1.0 ")
    assert shell(snippets.curl(made), tmp_path, OPENAI_API_KEY="fm-wrong")["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize("write", [snippets.curl, snippets.command, snippets.library, snippets.client])
def test_nothing_that_a_terminal_would_obey_stands_in_a_snippet(write: Write) -> None:
    made = GradingCall(
        EXACT, {"answer": "\x1b]0;title\x07\u202e"}, "a\tb\x1b[2J\r", "http://127.0.0.1:1", needs_key=False
    )
    assert all(char.isprintable() or char == "\n" for char in write(made))


def test_a_snippet_reads_as_a_person_would_write_it() -> None:
    made = GradingCall(EXACT, {"answer": "Paris"}, "It's Paris", "http://127.0.0.1:8000", needs_key=True)
    assert snippets.curl(made).startswith(
        "curl http://127.0.0.1:8000/v1/fine_tuning/alpha/graders/run \\\n"
        '  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' --data-binary @- <<'JSON'\n"
    )
    assert snippets.command(made).startswith(
        "fairmark grade - \\\n  --item '{\"answer\": \"Paris\"}' \\\n  --sample 'It'\"'\"'s Paris' <<'JSON'\n"
    )
    assert "item = {\n    'answer': 'Paris',\n}\n" in snippets.library(made)
