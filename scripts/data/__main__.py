"""Rebuild the packaged metric data.

python -m scripts.data          rebuild the files in src/fairmark/metrics/data
python -m scripts.data check    rebuild them elsewhere and fail if one differs from the packaged one
python -m scripts.data oracle   give the reference library in .venv the data the tests need
"""

import argparse
import importlib
import sys
import tempfile
import zlib
from pathlib import Path

from scripts.data import oracle, sources

PACKAGED = sources.ROOT / "src" / "fairmark" / "metrics" / "data"

# Each has build(sources, out), which writes its own files into out, the same bytes every time.
BUILDERS = ["punkt", "unicode", "wordnet"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.data", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("task", nargs="?", choices=["build", "check", "oracle"], default="build")
    task = parser.parse_args(arguments).task
    try:
        fetched = sources.fetch()
    except sources.SourceError as problem:
        print(problem, file=sys.stderr)
        return 1
    if task == "oracle":
        oracle.lay_out(fetched, sources.ROOT / oracle.TREE)
        return 0
    if task == "build":
        build(fetched, PACKAGED)
        return 0
    with tempfile.TemporaryDirectory(prefix="fairmark-data-") as rebuilt:
        build(fetched, Path(rebuilt))
        changed = differences(Path(rebuilt), PACKAGED)
    for name in changed:
        print(f"{PACKAGED / name}: not what its sources give. Run: make data", file=sys.stderr)
    return 1 if changed else 0


def build(fetched: Path, out: Path, builders: list[str] = BUILDERS) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in builders:
        importlib.import_module(f"scripts.data.{name}").build(fetched, out)


def differences(rebuilt: Path, packaged: Path) -> list[str]:
    """The data files that only one folder has, or that do not hold the same in both."""
    ours, theirs = (
        {file.name: content(file) for file in folder.iterdir() if file.is_file() and file.suffix != ".py"}
        for folder in (rebuilt, packaged)
    )
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


def content(file: Path) -> bytes:
    """What a data file holds. Compressed bytes differ from one zlib to the next."""
    return zlib.decompress(file.read_bytes()) if file.suffix == ".zz" else file.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
