"""Adding a kind: a file and a line in the table. A copy of the package gets both, and nothing else is wanted."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fairmark"
MODULE = '''"""shout: is it loud?"""

from typing import Literal

from fairmark.context import Context
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template


class Shout(GraderSpec):
    """Find out whether a text is loud; the reward is 1 or 0."""

    type: Literal["shout"]
    input: Template


def grade(spec: Shout, row: Row, ctx: Context) -> Grade:
    return Grade(float(spec.input.render(row).isupper()))
'''
LINE = '    "shout": Kind(shout.Shout, pure=shout.grade, title="Loudness", group="Rules", yes_or_no=True),\n'


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(SOURCE, folder / "fairmark")  # with what is compiled
    (folder / "fairmark" / "graders" / "shout.py").write_text(MODULE)
    table = folder / "fairmark" / "graders" / "__init__.py"
    text = table.read_text()
    start = "KINDS: dict[str, Kind] = {\n"
    assert text.count(start) == 1
    assert text.count("import cascade, custom, multi, ") == 1
    table.write_text(
        text.replace(start, start + LINE).replace(
            "import cascade, custom, multi, ", "import cascade, custom, multi, shout, "
        )
    )
    return folder


def answer(copied: Path, code: str) -> Any:
    """What the code leaves in `answer`, in a process that knows the copy alone."""
    begin = f"import sys; sys.path.insert(0, {str(copied)!r}); import asyncio, json, fairmark\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{begin}{code}\nprint(json.dumps(answer))"],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


GRADER = 'grader = {"type": "shout", "name": "loud", "input": "{{ sample.output_text }}"}\n'


def test_it_grades_and_is_checked(copied: Path) -> None:
    code = """
bad = fairmark.validate({"type": "shout"})
answer = [fairmark.__file__, *(fairmark.grade(grader, text).reward for text in ("HO", "ho")), str(bad.errors[0])]
"""
    where, loud, quiet, problem = answer(copied, GRADER + code)
    assert Path(where) == copied / "fairmark" / "__init__.py"
    assert (loud, quiet) == (1.0, 0.0)
    assert problem.startswith("$.input: missing")


def test_the_page_offers_it_with_a_form_and_an_example(copied: Path) -> None:
    code = """
from fairmark.graders import all_kinds, find
from fairmark.web.graders import forms
kinds = all_kinds()
rules = [name for heading, _, offered in forms.groups(kinds) if heading == "Rules" for name, _ in offered]
fields = [(field.path, field.widget, field.label) for field in forms.fields("shout", find("shout"))]
answer = ["shout" in rules, forms.title("shout"), fields, forms.start("shout", find("shout"))]
"""
    offered, title, fields, start = answer(copied, code)
    assert (offered, title) == (True, "Loudness")
    assert fields == [["input", "template", "Input"], ["pass_threshold", "number", "Pass threshold"]]
    assert start == {"type": "shout", "input": ""}


def test_the_list_of_kinds_and_the_schemas_have_it(copied: Path) -> None:
    code = """
import contextlib, io
from fairmark.cli.grading.kinds import command
from fairmark.server.schemas import schemas
with contextlib.redirect_stdout(io.StringIO()) as printed:
    command()
schema = next(each for each in schemas()["Grader"]["oneOf"] if each["title"] == "shout")
answer = [printed.getvalue(), schema["required"]]
"""
    printed, required = answer(copied, code)
    assert "shout              Find out whether a text is loud; the reward is 1 or 0.\n" in printed
    assert required == ["type", "input"]


def test_it_can_be_a_criterion_and_is_told_in_words(copied: Path) -> None:
    code = """
from fairmark.evals.criteria import load_criteria, new_criteria
from fairmark.web.evals import criteria
async def expand(grader): return grader
(stored,) = asyncio.run(new_criteria([grader], expand))
(loaded,) = load_criteria([stored])
words = [word.text for word in criteria.checks(stored)]
answer = [stored["name"], loaded.wire_type, loaded.outcome(fairmark.grade(loaded.spec, "HO")), words]
"""
    assert answer(copied, GRADER + code) == [
        "loud",
        "shout-grader",
        "pass",
        ["Find out whether a text is loud; the reward is 1 or 0."],
    ]


def test_the_registry_keeps_it(copied: Path, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from fairmark.registry.keeping import Registration, record
from fairmark.registry.lookup import Registry
from fairmark.store import Store
async def keep():
    store = await Store.open(None, Path({str(tmp_path)!r}))
    try:
        registration = Registration(store.graders, Registry(store.graders.find))
        return record((await registration.create("default", "loud", grader)).grader)
    finally:
        await store.close()
kept = asyncio.run(keep())
answer = [kept["grader"]["type"], kept["grader_type"], kept["metric"]["kind"], kept["grader_config"]]
"""
    assert answer(copied, GRADER + code) == ["shout", "SHOUT", "BOOL", {}]
