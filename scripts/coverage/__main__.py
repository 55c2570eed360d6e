"""python -m scripts.coverage COMMAND…: ends as the command does."""

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coverage import CoverageData

from scripts.coverage import probes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "coverage"


def main(command: list[str]) -> int:
    files = sorted((ROOT / "src" / "fairmark").rglob("*.py"))
    with measuring(files, FOLDER):
        code = subprocess.run(command, check=False).returncode
        write(lines_of(FOLDER), FOLDER / "data")
    return code


@contextmanager
def measuring(files: list[Path], folder: Path, site: Path | None = None) -> Iterator[None]:
    """Whatever Python of this environment starts in here notes the lines of these files in the folder."""
    hook = (site or Path(sysconfig.get_path("purelib"))) / "fairmark-coverage.pth"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    firsts, size = {}, 1
    for file in files:
        firsts[str(file)] = size, file.stat().st_mtime_ns
        size += file.read_bytes().count(b"\n") + 2
    (folder / "firsts.json").write_text(json.dumps(firsts))
    (folder / "notes").write_bytes(bytes(size))
    hook.write_text(f"import runpy; runpy.run_path({probes.__file__!r})['install']({str(folder)!r})\n")
    try:
        yield
    finally:
        hook.unlink()
        (folder / "notes").rename(folder / "noted")  # who starts from now on notes nothing


def lines_of(folder: Path) -> dict[str, list[int]]:
    """The lines of each file that ran."""
    firsts = {file: first for file, (first, _) in json.loads((folder / "firsts.json").read_text()).items()}
    notes = (folder / "notes").read_bytes()
    ends = [*list(firsts.values())[1:], len(notes)]
    return {
        file: [index - first for index in range(first, end) if notes[index]]
        for (file, first), end in zip(firsts.items(), ends, strict=True)
    }


def write(lines: dict[str, list[int]], file: Path) -> None:
    data = CoverageData(str(file))
    data.add_lines(lines)
    data.write()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
