"""How far a long call is. In a real kernel: the last test."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fairmark import notebook

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-clients" / "notebook" / "bin" / "python"


class Clock:
    """Half a second later each time it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.5
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "time", Clock())


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As if this were the kernel of a notebook, without widgets: what it displays."""
    displayed: list[Any] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=1)  # type: ignore[attr-defined]

    def show(bundle: Any, **more: Any) -> SimpleNamespace:
        displayed.append(bundle)
        return SimpleNamespace(update=lambda bundle, **more: displayed.append(bundle))

    display.display = show  # type: ignore[attr-defined]
    for name, module in {"IPython": ipython, "IPython.display": display, "ipykernel": ModuleType("ipykernel")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return displayed


class Stderr(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_outside_of_notebooks_nothing_is_shown_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter(range(3))
    assert notebook.watched(values, [1, 2, 3], None) is values
    assert notebook.watched(values, [1, 2, 3], False) is values
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # asked for, and no terminal there
    assert notebook.watched(values, [1, 2, 3], True) is values


@pytest.mark.usefixtures("clock")
def test_on_a_terminal_one_line_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Stderr()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(notebook.watched(iter(range(3)), [1, 2, 3], True)) == [0, 1, 2]
    written = stderr.getvalue()
    assert "\r\x1b[2K2 of 3 rows, 2 rows/s, 0 s left" in written
    assert written.endswith("3 of 3 rows, 2 rows/s\n")


@pytest.mark.usefixtures("clock")
def test_in_a_notebook_without_widgets_one_text_is_replaced(kernel: list[Any]) -> None:
    def rows() -> Iterator[int]:
        yield from range(4)

    assert list(notebook.watched(rows(), rows(), None)) == [0, 1, 2, 3]
    texts = [bundle["text/plain"] for bundle in kernel]
    assert texts[0] == "2 rows, 2 rows/s"
    assert texts[-1] == "4 rows, 2 rows/s"
    assert list(notebook.watched(iter(range(9)), range(9), False)) == list(range(9))
    assert len(kernel) == len(texts)


@pytest.mark.usefixtures("clock")
def test_in_a_notebook_with_widgets_a_bar_goes_to_its_end(kernel: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[SimpleNamespace] = []

    def widget(*inside: Any, **fields: Any) -> SimpleNamespace:
        made.append(SimpleNamespace(**fields))
        return made[-1]

    fake: Any = SimpleNamespace(IntProgress=widget, Label=widget, HBox=widget)
    monkeypatch.setitem(sys.modules, "ipywidgets", fake)
    assert list(notebook.watched(iter(range(4)), range(4), None)) == [0, 1, 2, 3]
    bar, label, box = made
    assert (bar.max, bar.value, bar.bar_style, label.value) == (4, 4, "success", "4 of 4 rows, 2 rows/s")
    assert kernel == [box]


def test_what_is_quick_is_not_shown(kernel: list[Any]) -> None:
    assert list(notebook.watched(iter(range(1000)), range(1000), None)) == list(range(1000))
    assert kernel == []


@pytest.mark.usefixtures("clock")
def test_what_fails_half_way_still_tells_how_far_it_was(kernel: list[Any]) -> None:
    def rows() -> Iterator[int]:
        yield from range(3)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        list(notebook.watched(rows(), range(9), None))
    assert kernel[-1]["text/plain"].startswith("3 of 9 rows")


KERNEL = """
import asyncio, json, sys
import nbclient, nbformat

cells = json.loads(sys.stdin.read())
page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(page, timeout=300, kernel_name="python3").execute()
print(json.dumps([[output for output in cell["outputs"]] for cell in page.cells]))
"""
CELLS = [
    """
import asyncio, time
import fairmark
from fairmark import FakeJudge, FakeAnswer
asyncio.get_running_loop()  # notebooks run one
tone = {"type": "score_model", "model": "m", "input": [{"role": "user", "content": "{{ sample.output_text }}"}]}
exact = {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "{{ item.a }}", "operation": "eq"}
fairmark.grade(tone, "<b>bold</b>", judge=FakeJudge(0.7))
""",
    "fairmark.grade_many(exact, [{'item': {'a': '1'}, 'sample': '1'}] * 50)",
    "fairmark.evaluate(data=[{'a': 1, 'b': 1}], evaluators={'same': lambda a, b: {'same': a == b}})",
    """
def slow():
    for number in range(4):
        time.sleep(0.6)
        yield {"item": {"a": "1"}, "sample": "1"}
len(fairmark.grade_many(exact, slow()))
""",
    "(await fairmark.agrade(tone, 'x', judge=FakeJudge(0.7))).reward",
    """
rows = [{"item": {}, "sample": f"{n}", "score": n / 12} for n in range(12)]
fairmark.check_judge(tone, rows, judge=FakeJudge(0.7), probes=[])
""",
]


@pytest.mark.thorough
@pytest.mark.parametrize("widgets", [True, False])
def test_a_real_kernel_shows_it_all_while_its_event_loop_runs(tmp_path: Path, widgets: bool) -> None:
    without = "import sys\nsys.modules['ipywidgets'] = None"
    cells = ["" if widgets else without, *CELLS]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [PYTHON, "-c", KERNEL], cwd=tmp_path, env=environment, input=json.dumps(cells), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, one, many, evaluated, slow, awaited, checked = json.loads(done.stdout)
    assert "reward" in one[0]["data"]["text/html"]
    assert "50 results: 50 passed." in many[0]["data"]["text/html"]
    assert "<svg" in many[0]["data"]["text/html"]
    assert "same.same" in evaluated[0]["data"]["text/html"]
    kinds = [set(output.get("data", {})) for output in slow]
    if widgets:
        assert "application/vnd.jupyter.widget-view+json" in kinds[0]
    else:
        assert slow[0]["data"]["text/plain"].startswith("4 rows, ")
    assert slow[-1]["data"]["text/plain"] == "4"
    assert awaited[0]["data"]["text/plain"] == "0.7"
    assert "&lt;svg" in checked[0]["data"]["text/html"]
