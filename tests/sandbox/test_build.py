"""Building an image: what is in it, what is left out and why, and nothing behind when it is stopped."""

import fcntl
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fairmark.errors import BuildFailed
from fairmark.sandbox import build
from fairmark.sandbox.children import Done
from fairmark.sandbox.images import Image, Images
from tests.sandbox.tiny import SIX, brought, left_in, quiet, ready, tiny

__all__ = ["brought"]


def make_wheel(folder: Path, name: str, source: str) -> None:
    """A wheel of one module, so that pip needs no registry."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", source)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Image, list[str]]:
    """The data folder of an image that was really built, what is in it, and the steps that were told.

    One package is the registry's, one does not import, and one is nowhere. The folder was named relatively.
    """
    folder = tmp_path_factory.mktemp("built")
    make_wheel(folder, "fairmark_broken", "import no_such_module")
    known = tiny(
        folder,
        f"{SIX}fairmark-absent==2.0\nfairmark-broken==1.0\n",
        modules={"six": "six", "fairmark_broken": "fairmark-broken", "fairmark_absent": "fairmark-absent"},
    )
    ready(folder, missing_packages={"fairmark-absent": "it was not there"})
    steps: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.chdir(folder.parent)
        before = os.umask(0o077)
        try:
            image = Images(Path(folder.name), known).install("tiny", steps.append)
        finally:
            os.umask(before)
    return folder, image, steps


@pytest.mark.thorough
def test_a_package_of_the_registry_is_built_into_an_image(built: tuple[Path, Image, list[str]]) -> None:
    folder, image, steps = built
    place = Images(folder).find("tiny")
    assert place is not None
    assert image.packages == {"six": "1.17.0"}
    assert (place / "site-packages" / "six.py").is_file()
    assert any(step.startswith("Downloading six 1.17.0 (") for step in steps)
    assert Images(folder).installed() == [image], "it has replaced the one that lacked a package"
    assert left_in(folder) == ["tiny"]


def test_what_cannot_be_had_is_left_out_with_its_reason(built: tuple[Path, Image, list[str]]) -> None:
    missing = built[1].missing_packages
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    assert list(missing) == ["fairmark-absent", "fairmark-broken"]
    assert missing["fairmark-absent"].startswith(f"version 2.0 has no wheel for {python}")
    assert missing["fairmark-broken"].endswith("ModuleNotFoundError: No module named 'no_such_module'")


def test_a_source_that_cannot_be_had_is_left_out_with_its_reason(tmp_path: Path) -> None:
    known = tiny(tmp_path, from_source=frozenset({"fairmark-source"}))["tiny"]
    tools = build.BuildTools(tmp_path)
    tools.temporary.mkdir()
    missing = build._build_from_source(known, {"six": "1.17.0", "fairmark-source": "3.0"}, tmp_path, tools, quiet)
    assert list(missing) == ["fairmark-source"]
    assert missing["fairmark-source"].startswith("it has no wheel and could not be built: No matching distribution")


@pytest.mark.thorough  # pip takes its time to make an environment
def test_what_is_built_from_source_is_built_in_an_environment_of_its_own(tmp_path: Path) -> None:
    requirements = f"fairmark-source==3.0\n{SIX}"
    steps: list[str] = []
    known = tiny(tmp_path, requirements, from_source=frozenset({"fairmark-source"}))
    image = Images(tmp_path, known).install("tiny", steps.append)
    assert image.packages == {"six": "1.17.0"}
    assert list(image.missing_packages) == ["fairmark-source"]
    assert image.missing_packages["fairmark-source"].startswith("it has no wheel and could not be built: No matching")
    making, building = (
        steps.index(step)
        for step in ("Creating a virtual environment for pip", "Building fairmark-source 3.0 from its source")
    )
    assert making < building
    assert left_in(tmp_path) == ["tiny"]


def test_everybody_may_read_an_image_whatever_the_umask(built: tuple[Path, Image, list[str]]) -> None:
    place = built[0] / "images" / "tiny"
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in (place, *place.rglob("*")))
    assert place.stat().st_mode & 0o777 == 0o755


def test_an_image_that_lacks_no_package_is_not_built_again(tmp_path: Path) -> None:
    image = ready(tmp_path, missing_corpora=[])
    assert Images(tmp_path, tiny(tmp_path)).install("tiny", pytest.fail) == image


def test_a_failing_build_leaves_the_image_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = ready(tmp_path)
    (tmp_path / "images" / ".building-killed").mkdir()
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(BuildFailed, match="image tiny: pip could not download its packages: /no/python: no such file"):
        Images(tmp_path, tiny(tmp_path)).install("tiny", quiet, rebuild=True)
    assert (Images(tmp_path).installed(), left_in(tmp_path)) == ([image], ["tiny"])


def test_without_pip_an_environment_with_it_is_made_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(BuildFailed, match="image tiny: no virtual environment could be made: /no/python: no such file"):
        Images(tmp_path, tiny(tmp_path)).install("tiny", quiet)


def test_a_package_index_that_is_not_there_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: it is asked a second time and no more."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as index:

        def hang_up() -> None:
            while True:
                try:
                    connection, _ = index.accept()
                except OSError:
                    return
                asked.append(connection.recv(1000).decode().partition("\r\n")[0])
                connection.close()

        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_PROXY"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{index.getsockname()[1]}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        answering = threading.Thread(target=hang_up)
        answering.start()
        try:
            with pytest.raises(BuildFailed, match="image tiny: pip cannot reach its package index"):
                Images(tmp_path, tiny(tmp_path)).install("tiny", quiet)
        finally:
            index.shutdown(socket.SHUT_RDWR)
            answering.join(20)
    assert asked == ["GET /simple/six/ HTTP/1.1"] * 2


def test_building_from_source_tells_the_part_that_is_being_compiled(tmp_path: Path) -> None:
    class Compiling(build.BuildTools):
        def pip(self, *arguments: str | Path, each_line: Callable[[str], None] = lambda line: None) -> Done:
            each_line("  building 'skbio.alignment._ssw' extension")
            each_line("  gcc -c skbio/alignment/_ssw.c")
            return Done(0, [])

    steps: list[str] = []
    known = tiny(tmp_path, from_source=frozenset({"six"}))["tiny"]
    assert build._build_from_source(known, {"six": "1.17.0"}, tmp_path, Compiling(tmp_path), steps.append) == {}
    assert steps == [
        "Building six 1.17.0 from its source",
        "Building six 1.17.0 from its source: skbio.alignment._ssw",
    ]


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("a file")
    with pytest.raises(BuildFailed, match=r"images: file exists\.$"):
        Images(tmp_path, tiny(tmp_path)).install("tiny", quiet)


def test_a_build_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    tiny(tmp_path)
    program = f"""
import signal, sys
from pathlib import Path
from fairmark.sandbox.catalogue import KnownImage
from fairmark.sandbox.images import Images
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
known = {{"tiny": KnownImage(requirements=Path({str(tmp_path)!r}, "tiny.txt"), modules={{}})}}
Images(Path({str(tmp_path)!r}), known).install("tiny", lambda step: print(step, flush=True))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Asking the package index\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 3
    assert left_in(tmp_path) == []


def test_who_comes_second_waits_and_finds_the_image_built(tmp_path: Path) -> None:
    image = ready(tmp_path, missing_packages={"six": "not yet"})
    lock = os.open(tmp_path / "images" / ".lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    steps: list[str] = []
    found: list[Image] = []
    second = threading.Thread(
        target=lambda: found.append(Images(tmp_path, tiny(tmp_path)).install("tiny", steps.append))
    )
    second.start()
    _until(lambda: bool(steps))
    ready(tmp_path)  # the first has built it meanwhile
    os.close(lock)
    second.join(20)
    assert (found, steps) == ([image], ["Waiting for another process that is changing images"])


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
