"""The raw data behind the metrics: where each file comes from, and the only bytes accepted for it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venv" / "sources"


class SourceError(Exception):
    """A source could not be fetched, or is not the one the tables were made from."""


def wheel(requirement: str, folder: str) -> Callable[[Path], Path]:
    """A fetcher of what one wheel of the package index holds in `folder`. Nothing gets installed."""

    def fetch(scratch: Path) -> Path:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        run([*command, "--no-deps", "--only-binary=:all:", "--dest", str(scratch), requirement], scratch)
        archive = next(scratch.glob("*.whl"))
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(scratch, [name for name in opened.namelist() if name.startswith(folder)])
        archive.unlink()
        return scratch / folder

    return fetch


def debian(packages: list[str], folder: str) -> Callable[[Path], Path]:
    """A fetcher of what Debian packages hold in `folder`. Nothing gets installed; no root needed
    unless apt has no package lists yet, as on a fresh container."""

    def fetch(scratch: Path) -> Path:
        for tool in ("apt-get", "dpkg-deb"):
            if not shutil.which(tool):
                raise SourceError(
                    f"{tool} was not found. {' and '.join(packages)} come from Debian or Ubuntu: run this "
                    f"there and copy {CACHE} over, or put the files of {folder} into {CACHE / 'wordnet'}."
                )
        download = ["apt-get", "download", "-qq", *packages]
        try:
            run(download, scratch)
        except SourceError:
            run([*as_root(), "apt-get", "update", "-qq"], scratch)
            run(download, scratch)
        for archive in sorted(scratch.glob("*.deb")):
            run(["dpkg-deb", "-x", str(archive), str(scratch)], scratch)
        return scratch / folder

    return fetch


def as_root() -> list[str]:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    raise SourceError("apt has no package lists. Run apt-get update as root, then this again.")


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SourceError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.strip()}")


class Source(NamedTuple):
    name: str
    """Its folder in the cache."""
    origin: str
    fetch: Callable[[Path], Path]
    """Fetches into a scratch folder; the files are in the folder it returns."""
    sha256: dict[str, str]
    """The files taken from there, and what they must be: another edition changes scores."""


SOURCES = [
    Source(
        name="punkt_tab/english",
        origin="llama-index-core 0.14.25 (a wheel that bundles nltk's punkt_tab)",
        fetch=wheel("llama-index-core==0.14.25", "llama_index/core/_static/nltk_cache/tokenizers/punkt_tab/english/"),
        sha256={
            "abbrev_types.txt": "92a3e070f43d9b4c5534758ca40ad7343b04e7e29bfe0c2eb658a39445a4f779",
            "collocations.tab": "8e2da1225e4dd2cc9dba261ee231ccb134859e21b46006e7f472c5ee269af0cf",
            "ortho_context.tab": "4bbcca25ed3d3f06c02402abf8419b9f033b8adc06e7b482eca4e45f81a5dc4c",
            "sent_starters.txt": "f3f8535483e1dba487241b764945168123bca3209a9645e59acd1225dc76edac",
        },
    ),
    Source(
        name="perluniprops",
        origin="sacremoses 0.1.1 (the last wheel with these lists)",
        fetch=wheel("sacremoses==0.1.1", "sacremoses/data/perluniprops/"),
        sha256={
            "Number.txt": "bdd4091ffb857b47bb10e10c82f750e30419aa7a3ce6da39dae92f77efa28476",
            "Punctuation.txt": "e2f503ffac0d4c69620ff0ce22a6b4a28b328363602a74270efbbe92ed0efcac",
            "Symbol.txt": "d57b6f965049bb8a0b2f43e17bb32a71bd4ca82bc86766c059ca80273660c99e",
        },
    ),
    Source(
        name="wordnet",
        origin="Debian wordnet-base and wordnet-sense-index 1:3.0-37",
        fetch=debian(["wordnet-base", "wordnet-sense-index"], "usr/share/wordnet"),
        sha256={
            "adj.exc": "8824cc24bbedd797b9702316b27f07cd4c2b76b629539f0a1276f03926758016",
            "adv.exc": "e7291461b629abfe63301bbe1998cee09fd575ed7107abd7ea9763adb05bf0a8",
            "cntlist.rev": "a198580b8f705fa02797bba8b13e5cbe4a9f9f40cb1697e774c7fc6a5865b035",
            "data.adj": "c89120dfc1f046ddff4a631bf9b7e9fa1a36b5e86565a23bf82dbe14f30b88a7",
            "data.adv": "444a63bf3955080ab7524f5079cfc07ff9bc682cb98bdb1db73b0fb9829f1139",
            "data.noun": "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2",
            "data.verb": "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2",
            "index.adj": "c9865d7b4d1f805bdef82ccdcea5282436e23083e6f6f1b33e716327c4eda810",
            "index.adv": "6f5465ed5758fe9c8a2f7ec17b1300f3aa875756c70ff7cba162f7e71bcf88ea",
            "index.noun": "a490d99d93d017bf4822fe2f0ffa51fd73911ce271dc7535fade21f8814b5a04",
            "index.sense": "ce997000ec806318ff1dfadf77d314ac527358e127d7bbe3d1f4e83a1c5c1c2b",
            "index.verb": "e2ac24816c3a8289dcb72aaa9cf8db81fdf25ec34d792bfc96ac5b7a20c8b4ae",
            "noun.exc": "2b5d675c380b39ecf595af9fa9d4e7feb1d58c643b0bff08c40ed5bfe41fab7a",
            "verb.exc": "dbbcf9a601b2d77e934e413b91d90e88ec7f933a8b77cfc00602a923b891b42c",
        },
    ),
]


def fetch(cache: Path = CACHE) -> Path:
    """Fill `cache` with every source and give it back. What is there already, unchanged, stays."""
    for source in SOURCES:
        folder = cache / source.name
        if any(differing(source, folder)):
            print(f"Fetching {source.name} from {source.origin}", file=sys.stderr)
            refresh(source, folder)
    return cache


def refresh(source: Source, folder: Path) -> None:
    """Replace the files of `folder`, but by none that is not the pinned one."""
    with tempfile.TemporaryDirectory(prefix="fairmark-data-") as scratch:
        found = source.fetch(Path(scratch))
        wrong = list(differing(source, found))
        if wrong:
            raise SourceError(
                f"{source.name}: {', '.join(wrong)} missing or not the pinned edition. "
                f"The tables are made from {source.origin}; nothing was replaced."
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in source.sha256:
            shutil.copyfile(found / name, folder / name)


def differing(source: Source, folder: Path) -> Iterator[str]:
    """The names of those files of `source` which `folder` lacks or has in another edition."""
    for name, expected in source.sha256.items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            yield name
