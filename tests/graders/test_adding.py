"""Adding a kind: a file and a line in the table. A copy of the package gets both, and nothing else is wanted."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graders.packages import Interpreter

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
ASKED = [
    "fairmark.cli.grading.kinds", "fairmark.evals.criteria", "fairmark.registry.keeping", "fairmark.server.schemas",
    "fairmark.store", "fairmark.web.evals.criteria", "fairmark.web.graders.forms",
]  # fmt: skip
LINE = '    "shout": Kind(shout.Shout, pure=shout.grade, title="Loudness", group="Rules", yes_or_no=True),\n'


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreter]:
    """A Python that knows the copy alone."""
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
    imports = f"import sys; sys.path.insert(0, {str(folder)!r}); import {', '.join(ASKED)}"
    python = Interpreter(sys.executable, imports)
    yield python
    python.close()


GRADER = 'grader = {"type": "shout", "name": "loud", "input": "{{ sample.output_text }}"}\n'


def test_it_grades_and_is_checked(copied: Interpreter) -> None:
    code = """
bad = fairmark.validate({"type": "shout"})
answer = [fairmark.__file__, *(fairmark.grade(grader, text).reward for text in ("HO", "ho")), str(bad.errors[0])]
"""
    where, loud, quiet, problem = copied.answer(GRADER + code)
    assert Path(where).parents[1].name.startswith("copy")
    assert (loud, quiet) == (1.0, 0.0)
    assert problem.startswith("$.input: missing")


def test_the_page_offers_it_with_a_form_and_an_example(copied: Interpreter) -> None:
    code = """
from fairmark.graders import all_kinds, find
from fairmark.web.graders import forms
kinds = all_kinds()
rules = [name for heading, _, offered in forms.groups(kinds) if heading == "Rules" for name, _ in offered]
fields = [(field.path, field.widget, field.label) for field in forms.fields("shout", find("shout"))]
answer = ["shout" in rules, forms.title("shout"), fields, forms.start("shout", find("shout"))]
"""
    offered, title, fields, start = copied.answer(code)
    assert (offered, title) == (True, "Loudness")
    assert fields == [["input", "template", "Input"], ["pass_threshold", "number", "Pass threshold"]]
    assert start == {"type": "shout", "input": ""}


def test_the_list_of_kinds_and_the_schemas_have_it(copied: Interpreter) -> None:
    code = """
import contextlib, io
from fairmark.cli.grading.kinds import command
from fairmark.server.schemas import schemas
with contextlib.redirect_stdout(io.StringIO()) as printed:
    command()
schema = next(each for each in schemas()["Grader"]["oneOf"] if each["title"] == "shout")
answer = [printed.getvalue(), schema["required"]]
"""
    printed, required = copied.answer(code)
    assert "shout              Find out whether a text is loud; the reward is 1 or 0.\n" in printed
    assert required == ["type", "input"]


def test_it_can_be_a_criterion_and_is_told_in_words(copied: Interpreter) -> None:
    code = """
from fairmark.evals.criteria import load_criteria, new_criteria
from fairmark.web.evals import criteria
async def expand(grader): return grader
import asyncio
(stored,) = asyncio.run(new_criteria([grader], expand))
(loaded,) = load_criteria([stored])
words = [word.text for word in criteria.checks(stored)]
answer = [stored["name"], loaded.wire_type, loaded.outcome(fairmark.grade(loaded.spec, "HO")), words]
"""
    assert copied.answer(GRADER + code) == [
        "loud",
        "shout-grader",
        "pass",
        ["Find out whether a text is loud; the reward is 1 or 0."],
    ]


def test_the_registry_keeps_it(copied: Interpreter, tmp_path: Path) -> None:
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
import asyncio
kept = asyncio.run(keep())
answer = [kept["grader"]["type"], kept["grader_type"], kept["metric"]["kind"], kept["grader_config"]]
"""
    assert copied.answer(GRADER + code) == ["shout", "SHOUT", "BOOL", {}]
