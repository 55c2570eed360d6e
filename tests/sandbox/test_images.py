"""Images: what is found, what is built, and what is left behind when that goes wrong."""

import fcntl
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import BuildFailed, NoSuchImage
from fairmark.graders import code
from fairmark.sandbox import build, corpora, images, look
from fairmark.sandbox.base import Outcome, Policy, Program
from fairmark.sandbox.build import read_pins
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN, KnownImage
from fairmark.sandbox.children import Done
from fairmark.sandbox.images import ABI, Image, Images, missing_imports
from fairmark.settings import Settings

SIX = "six==1.17.0\n"


@pytest.fixture(autouse=True)
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the images lie that the environment brings: those of this one are out of sight."""
    folder = tmp_path / "environment" / "images"
    monkeypatch.setattr(images, "OF_THE_ENVIRONMENT", folder)
    return folder


def ready(folder: Path, tag: str = "tiny", **changes: Any) -> Image:
    """An image as a build leaves it, without the building."""
    image = Image(tag, "3.11.7", ABI, {"six": "1.17.0"}, {}, ["punkt"], [], 12)
    place = folder / "images" / tag
    (place / "site-packages").mkdir(parents=True, exist_ok=True)
    (place / "ready").write_text(json.dumps({**asdict(image), **changes}))
    return image


def tiny(tmp_path: Path, requirements: str = SIX, **changes: Any) -> dict[str, KnownImage]:
    file = tmp_path / "tiny.txt"
    file.write_text(requirements)
    return {"tiny": KnownImage(**{"requirements": file, "modules": {"six": "six"}, **changes})}


def make_wheel(folder: Path, name: str, source: str) -> None:
    """A wheel of one module, so that pip needs no registry."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", source)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "images").iterdir() if path.name != ".lock")


def quiet(step: str) -> None:
    pass


def test_an_image_is_found_once_it_is_ready(tmp_path: Path) -> None:
    assert Images(tmp_path).find("tiny") is None
    image = ready(tmp_path)
    assert Images(tmp_path).find("tiny") == tmp_path / "images" / "tiny"
    assert Images(tmp_path).installed() == [image]


@pytest.mark.parametrize("told", [None, "", "[]", "{", '{"tag": "tiny"}', '"ready"'])
def test_a_half_built_image_is_never_found(tmp_path: Path, told: str | None) -> None:
    ready(tmp_path)
    file = tmp_path / "images" / "tiny" / "ready"
    file.unlink() if told is None else file.write_text(told)
    assert Images(tmp_path).find("tiny") is None
    assert Images(tmp_path).installed() == []


def test_an_image_of_another_python_is_listed_and_not_found(tmp_path: Path) -> None:
    ready(tmp_path, abi="cpython-399-x86_64-linux-gnu")
    assert Images(tmp_path).find("tiny") is None
    assert [image.is_usable for image in Images(tmp_path).installed()] == [False]


def test_an_image_is_removed_ready_or_not(tmp_path: Path) -> None:
    ready(tmp_path)
    (tmp_path / "images" / "half").mkdir()
    for tag in ("tiny", "half"):
        Images(tmp_path).remove(tag)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("tag", ["other", "..", ".", "", "../images", ".lock", "a/b"])
def test_only_images_are_removed(tmp_path: Path, tag: str) -> None:
    ready(tmp_path)
    with pytest.raises(NoSuchImage, match=r"There is: tiny\.$"):
        Images(tmp_path).remove(tag)
    assert left_in(tmp_path) == ["tiny"]


def test_an_unknown_tag_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NoSuchImage, match=r'no image "x"\. Use one of: base, 2025-05-08\.'):
        Images(tmp_path).install("x", quiet)
    assert not (tmp_path / "images").exists()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Image, list[str]]:
    """The data folder of an image that was really built, what is in it, and the steps that were told.

    One package is the registry's, one does not import, and two are nowhere. The folder was named relatively.
    """
    folder = tmp_path_factory.mktemp("built")
    make_wheel(folder, "fairmark_broken", "import no_such_module")
    known = tiny(
        folder,
        f"{SIX}fairmark-absent==2.0\nfairmark-broken==1.0\nfairmark-source==3.0\n",
        modules={"six": "six", "fairmark_broken": "fairmark-broken", "fairmark_absent": "fairmark-absent"},
        from_source=frozenset({"fairmark-source"}),
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
    assert list(missing) == ["fairmark-absent", "fairmark-broken", "fairmark-source"]
    assert missing["fairmark-absent"].startswith(f"version 2.0 has no wheel for {python}")
    assert missing["fairmark-broken"].endswith("ModuleNotFoundError: No module named 'no_such_module'")
    assert missing["fairmark-source"].startswith("it has no wheel and could not be built: No matching distribution")


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
    class Compiling(build.Tools):
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


@pytest.mark.parametrize("tag", KNOWN)
def test_every_known_image_is_pinned_to_the_last_package(tag: str) -> None:
    known = KNOWN[tag]
    pins = read_pins(known.requirements)
    assert {*known.modules.values(), *known.from_source} <= pins.keys()
    assert all(name and version and name == name.lower() for name, version in pins.items())
    assert set(known.corpora) <= corpora.PLACES.keys()


def test_the_packages_of_the_default_image_are_the_documented_ones() -> None:
    pins = read_pins(KNOWN[DEFAULT_TAG].requirements)
    assert {name: pins[name] for name in KNOWN[DEFAULT_TAG].modules.values()} == {
        "numpy": "2.2.4",
        "scipy": "1.15.2",
        "sympy": "1.13.3",
        "pandas": "2.2.3",
        "rapidfuzz": "3.10.1",
        "scikit-learn": "1.6.1",
        "rouge-score": "0.1.2",
        "deepdiff": "8.4.2",
        "jsonschema": "4.23.0",
        "pydantic": "2.10.6",
        "pyyaml": "6.0.2",
        "nltk": "3.9.1",
        "sqlparse": "0.5.3",
        "rdkit": "2024.9.6",
        "scikit-bio": "0.6.3",
        "ast-grep-py": "0.36.2",
    }


def test_the_look_knows_the_modules_of_the_image() -> None:
    tree = look.parse("import numpy.linalg, os\nfrom sklearn import svm\nimport yaml_not")
    assert look.packages(tree, DEFAULT_TAG) == {"numpy", "sklearn"}
    assert look.packages(tree, "another") == frozenset()


def test_the_topics_of_wordnet_are_numbered_as_in_its_documentation() -> None:
    lines = corpora.lexnames().splitlines()
    assert len(lines) == 45
    assert [lines[number] for number in (0, 2, 3, 28, 29, 44)] == [
        "00\tadj.all\t3",
        "02\tadv.all\t4",
        "03\tnoun.Tops\t1",
        "28\tnoun.time\t1",
        "29\tverb.body\t2",
        "44\tadj.ppl\t3",
    ]


NO_SKLEARN = (
    "scikit-learn is in the image 2025-05-08, which is not installed or lacks it. Run: fairmark sandbox install --all"
)
NO_YAML = "pyyaml is in the image base, which is not installed or lacks it. Run: fairmark sandbox install"


def error_of(details: str, image: str | None = DEFAULT_TAG) -> str | None:
    """What a grader that failed like this tells."""
    program = Program("", "python", Policy().python, strict=False, image=image)
    grade = code.grade_of(Outcome(failure="error", details=details), program)
    assert grade.flags["python_grader_runtime_error_details"] == grade.error
    return grade.error


@pytest.mark.parametrize(
    ("module", "image", "told"),
    [
        ("sklearn", DEFAULT_TAG, f"\n{NO_SKLEARN}"),
        ("yaml", DEFAULT_TAG, f"\n{NO_YAML}"),  # the smaller image is enough
        ("sklearn.nonsense", DEFAULT_TAG, ""),  # it is there, and has no such part
        ("torch", DEFAULT_TAG, ""),  # installing the image would not help
        ("sklearn", None, ""),  # function graders have no image
    ],
)
def test_a_missing_module_of_the_image_names_the_command(module: str, image: str | None, told: str) -> None:
    error = f"ModuleNotFoundError: No module named '{module}'"
    assert error_of(error, image) == error + told


def test_missing_data_of_nltk_names_the_command() -> None:
    error = "LookupError: \n***\n  Resource punkt_tab not found.\n  >>> nltk.download('punkt_tab')\n***"
    assert error_of(error) == (
        f"{error}\nThe image 2025-05-08 has the data of nltk. Run: fairmark sandbox install --all"
    )


def test_the_smaller_image_holds_the_same_versions() -> None:
    smaller, whole = KNOWN[BASE_TAG], KNOWN[DEFAULT_TAG]
    assert smaller.modules.items() <= whole.modules.items()
    assert read_pins(smaller.requirements).items() <= read_pins(whole.requirements).items()
    assert not smaller.from_source


def test_the_smaller_image_stands_in_until_the_whole_one_is_there(tmp_path: Path) -> None:
    there = Images(tmp_path)
    ready(tmp_path, BASE_TAG)
    assert there.find(DEFAULT_TAG) == tmp_path / "images" / BASE_TAG
    ready(tmp_path, DEFAULT_TAG)
    assert there.find(DEFAULT_TAG) == tmp_path / "images" / DEFAULT_TAG
    ready(tmp_path, DEFAULT_TAG, abi="cpython-399")
    assert there.find(DEFAULT_TAG) == tmp_path / "images" / BASE_TAG


def test_an_image_that_the_environment_brings_is_found_after_those_of_the_data_folder(
    tmp_path: Path, brought: Path
) -> None:
    ready(tmp_path / "environment")
    there = Images(tmp_path / "data")
    assert there.find("tiny") == brought / "tiny"
    assert [image.tag for image in there.installed()] == ["tiny"]
    ready(tmp_path / "data")
    assert there.find("tiny") == tmp_path / "data" / "images" / "tiny"
    assert [image.tag for image in there.installed()] == ["tiny"]


def test_modules_that_a_grader_will_not_find_are_told_with_what_to_do(tmp_path: Path) -> None:
    there = Images(tmp_path)
    modules = ["json", "yaml", "sklearn", "adaptive_harmony", "torch"]
    no_torch = "there is no module torch in the sandbox: graders of this kind have the standard library"
    assert there.lacking(modules, DEFAULT_TAG) == {
        "sklearn": NO_SKLEARN,
        "torch": f"{no_torch} and the packages of the image 2025-05-08.",
        "yaml": NO_YAML,
    }
    assert there.lacking(["torch"], None) == {"torch": f"{no_torch} alone."}
    ready(tmp_path, BASE_TAG)
    packages = tmp_path / "images" / BASE_TAG / "site-packages"
    (packages / "yaml").mkdir()
    (packages / "six.py").touch()
    (packages / "_speed.cpython-311.so").touch()
    assert list(there.lacking([*modules, "six", "_speed"], DEFAULT_TAG)) == ["sklearn", "torch"]
    assert list(there.lacking(["yaml"], None)) == ["yaml"]


def test_the_missing_imports_of_a_source_are_found_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.settings.settings", lambda: Settings(home=tmp_path))
    source = """
    import json, sklearn.svm
    from . import beside
    try:
        import torch
    except ImportError:
        torch = None
    def grade(sample, item):
        from sympy.abc import x
        raise SystemExit
    """
    assert list(missing_imports(source)) == ["sklearn", "sympy"]
    monkeypatch.setattr("fairmark.settings.settings", lambda: Settings(home=tmp_path, sandbox="none"))
    assert list(missing_imports("import msgspec, no_such_module")) == ["no_such_module"]
    with pytest.raises(SyntaxError):
        missing_imports("import")
