"""The lines that modules note by themselves are those that coverage.py finds by tracing."""

import json
import os
import signal
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest
from coverage import Coverage
from coverage.parser import PythonParser
from scripts.coverage import probes
from scripts.coverage.__main__ import lines_of, measuring

SAMPLE = '''\
"""A module of everything that can hold statements."""
from __future__ import annotations

import functools
LONG = [
    each
    for each in range(3)
]
if LONG:
    KNOWN = 1
elif KNOWN:
    KNOWN = 2
else:
    KNOWN = 3


@functools.cache
@functools.lru_cache(
    maxsize=3
)
def cached(number):
    """Its text is no statement."""
    global KNOWN
    KNOWN = number
    return lambda: (
        number
    )


class Shape:
    """A class."""

    __sides = 3
    sides = __sides

    def name(self):
        match self.sides:
            case 3:
                return "triangle"
            case _:
                return "other"

    def never(self):
        return self.sides


def tries(text):
    try:
        return int(text)
    except ValueError:
        text = text.strip()
    else:
        text = ""
    finally:
        done = True
    with open("/dev/null") as file:
        for line in file:
            print(line)
        else:
            done = False
    while done:
        break
    return done


async def waits():
    return 1


cached(1)()
Shape().name()
tries("x")
raise SystemExit(0)
KNOWN = "never"
'''


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE)
    return file


def run(code: CodeType) -> None:
    with pytest.raises(SystemExit):
        exec(code, {"__name__": "sample"})  # noqa: S102  # our own source


def counted(file: Path, lines: set[int]) -> set[int]:
    """The statements these lines belong to, as coverage.py reports them."""
    parser = PythonParser(filename=str(file))
    parser.parse_source()
    found: set[int] = parser.translate_lines(lines) & parser.statements
    return found


def test_the_lines_noted_are_those_that_tracing_finds(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracing = Coverage(data_file=None, include=[str(sample)], config_file=False)
    plain = compile(SAMPLE, str(sample), "exec", dont_inherit=True)
    with tracing.collect():
        run(plain)
    traced = set(tracing.get_data().lines(str(sample)) or ())
    notes = bytearray(100)
    monkeypatch.setattr(f"builtins.{probes.NOTES}", notes, raising=False)
    run(probes.compiled(SAMPLE.encode(), str(sample)))
    noted = {line for line, note in enumerate(notes) if note}
    assert counted(sample, noted) == counted(sample, traced)
    assert SAMPLE.splitlines().index('KNOWN = "never"') + 1 not in noted


def test_a_traceback_names_the_lines_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"builtins.{probes.NOTES}", bytearray(10), raising=False)
    with pytest.raises(ZeroDivisionError) as raised:
        exec(probes.compiled(b"x = 1\n\ny = x / 0\n", "there.py"), {})  # noqa: S102  # our own source
    assert raised.traceback[-1].lineno == 2  # counted from 0


PROGRAM = """\
import os, runpy, signal, sys
runpy.run_path({probes!r})["install"]({folder!r})
sys.path.insert(0, {packages!r})
from fairmark import parent
if os.fork() == 0:
    import importlib.util
    spec = importlib.util.spec_from_file_location("child", {packages!r} + "/fairmark/child.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_forked_and_what_is_killed_has_noted_its_lines(tmp_path: Path) -> None:
    package = tmp_path / "fairmark"
    package.mkdir()
    sources = {"__init__": "", "parent": "A = 1\nif not A:\n    A = 2\n", "child": "B = 1\n", "unseen": "C = 1\n"}
    files = [package / f"{name}.py" for name in sorted(sources)]
    for file in files:
        file.write_text(sources[file.stem])
    folder, site = tmp_path / "measured", tmp_path / "site"
    site.mkdir()
    with measuring(files, folder, site):
        assert (site / "fairmark-coverage.pth").read_text().startswith("import ")
        program = PROGRAM.format(probes=probes.__file__, folder=str(folder), packages=str(tmp_path))
        killed = subprocess.run([sys.executable, "-S", "-c", program], check=False, timeout=60)
        lines = {Path(file).stem: found for file, found in lines_of(folder).items()}
    assert killed.returncode == -signal.SIGKILL
    assert lines == {"__init__": [], "parent": [1, 2], "child": [1], "unseen": []}
    assert list(site.iterdir()) == []


def test_a_file_that_was_changed_since_is_run_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("A = 1\n")
    firsts = {str(file): (1, file.stat().st_mtime_ns)}
    assert probes.noting_code(file, firsts, tmp_path) is not None
    assert probes.noting_code(tmp_path / "other.py", firsts, tmp_path) is None
    file.write_text("A = 1\nB = 2\n")
    assert probes.noting_code(file, firsts, tmp_path) is None


def test_what_starts_after_the_measuring_is_left_alone(tmp_path: Path) -> None:
    with measuring([], tmp_path / "measured", tmp_path):
        pass
    before = SourceFileLoader.get_code
    probes.install(str(tmp_path / "measured"))
    assert SourceFileLoader.get_code is before


def test_a_command_ends_with_its_own_code_and_its_lines_are_reported(tmp_path: Path) -> None:
    """In a process of its own, in a copy: this one may be measured itself."""
    root = tmp_path / "project"
    (root / "src" / "fairmark").mkdir(parents=True)
    (root / "src" / "fairmark" / "__init__.py").write_text("A = 1\nif not A:\n    A = 2\n")
    program = (
        "import sys; from pathlib import Path; from scripts.coverage import __main__ as it; import sysconfig\n"
        f"it.ROOT, it.FOLDER = Path({str(root)!r}), Path({str(root / 'build')!r})\n"
        f"sysconfig.get_path = lambda name: {str(tmp_path)!r}\n"
        "sys.exit(it.main([sys.executable, '-c', 'raise SystemExit(3)']))\n"
    )
    top = Path(probes.__file__).parents[2]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(top)}
    assert subprocess.run([sys.executable, "-c", program], env=env, check=False, timeout=60).returncode == 3
    assert [*json.loads((root / "build" / "firsts.json").read_text())] == [str(root / "src/fairmark/__init__.py")]
    assert (root / "build" / "data").exists()
