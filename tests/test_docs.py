"""The examples in README and docs do what they say, and nothing that users meet lacks its page."""

import doctest
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.core

from fairmark import errors, parse
from fairmark.cli.commands import COMMANDS, load
from fairmark.graders import KINDS
from fairmark.settings import settings
from tests import command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
GUIDE = ROOT / "docs" / "moving-from-openai.md"
"""Its commands need a hosted service: tests/test_moving_guide.py has a double of it."""
ASKS_A_MODEL = ROOT / "docs" / "commands" / "models.md"
"""The embedded model answers there, for seconds; in every run it does so in tests/judges/test_local.py."""
PAGE_IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples in it, as the place where the examples run."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What examples keep is kept below the desk, and not among what the user of this machine has."""
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "pycon")], ids=str)
def test_python_examples_print_what_they_show(page: Path, desk: Path) -> None:
    session = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page.name, str(page), 0)
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(session, out=told.append)
    assert session.examples
    assert not told, "".join(told)


def commands(block: str) -> list[tuple[str, str]]:
    """The `$ commands` of a block with what they print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def with_free_port(block: str) -> str:
    """The block with a port that is free in the place of its own, which another run of these tests may have."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return re.sub(r"\b187\d\d\b", str(unused.getsockname()[1]), block)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.thorough] if page == ASKS_A_MODEL else [])
        for page in PAGES
        if blocks(page, "console") and page != GUIDE
    ],
    ids=str,
)
def test_commands_print_what_they_show(page: Path, desk: Path) -> None:
    path = f"{command.folder()}:{Path(sys.executable).parent}:/usr/bin:/bin"
    for block in blocks(page, "console"):
        for line, expected in commands(with_free_port(block)):
            done = subprocess.run(
                ["bash", "-c", line],
                capture_output=True,
                text=True,
                env={"PATH": path, "COLUMNS": "500", "LANG": "C.UTF-8", "FAIRMARK_HOME": str(desk / "home")},
                check=False,
            )
            printed = done.stdout + done.stderr + (f"[exit {done.returncode}]\n" if "[exit " in expected else "")
            printed = re.sub(r" +$", "", printed, flags=re.MULTILINE)
            # "..." stands for anything, also for whole lines.
            pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
            assert re.fullmatch(pattern, printed, flags=re.DOTALL), f"{line}\n{printed}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "json")], ids=str)
def test_graders_in_the_docs_are_valid(page: Path) -> None:
    for block in blocks(page, "json"):
        assert parse.validate(json.loads(block)).errors == []


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_fenced_blocks_are_of_a_language_that_a_test_runs(page: Path) -> None:
    languages = set(re.findall(r"^```(\S*)\n.*?^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    assert languages <= {"json", "console", "pycon"}


def test_every_kind_has_its_page_and_its_tests() -> None:
    for kind in KINDS:
        assert (ROOT / "docs" / "kinds" / f"{kind}.md").read_text().startswith(f"# {kind}\n")
        assert (ROOT / "tests" / "graders" / f"test_{kind}.py").exists()


def command_line() -> list[tuple[list[str], Any]]:
    """Every command with the words that call it; the commands of a group share the group's page and tests."""
    loaded = {name: load(name) for name in COMMANDS}
    groups = {name: getattr(command, "commands", None) for name, command in loaded.items()}
    alone = [([name], command) for name, command in loaded.items() if groups[name] is None]
    return alone + [
        ([name, inner], command) for name, group in groups.items() if group for inner, command in group.items()
    ]


def test_every_command_has_its_page_with_every_option_and_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer.core, "HAS_RICH", False)  # the same words, without frames that take time to draw
    listed = command_line()
    assert {words[0] for words, _ in listed} == set(COMMANDS)
    for words, called in listed:
        page = (ROOT / "docs" / "commands" / f"{words[0]}.md").read_text()
        assert page.startswith(f"# fairmark {words[0]}\n")
        assert f"fairmark {' '.join(words)}" in page
        room, module = COMMANDS[words[0]].module.split(".")
        assert (ROOT / "tests" / "cli" / room / f"test_{module.strip('_')}.py").exists()
        text = called.get_help(called.context_class(called, info_name=" ".join(words)))
        assert "--help" in text
        for option in set(re.findall(r"--[a-z-]+", text)) - {"--help"}:
            assert f"`{option}" in page or f", `{option}" in page or f"{option} " in page, f"{words}: {option}"


def test_every_error_key_has_its_word_on_the_errors_page() -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    for key in errors.ERROR_KEYS:
        assert f"`{key}`" in page


def test_every_metric_has_its_word_on_the_metrics_page() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    for name in ("fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_5", "rouge_l"):
        assert f"`{name}`" in page
