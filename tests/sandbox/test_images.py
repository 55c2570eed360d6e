"""Images: what is found, what is built, and what is left behind when that goes wrong."""

from pathlib import Path

import pytest

from fairmark.errors import NoSuchImage
from fairmark.sandbox import look
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG
from fairmark.sandbox.images import Images, missing_imports
from fairmark.settings import Settings
from tests.sandbox.tiny import brought, left_in, quiet, ready

__all__ = ["brought"]


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


def test_the_look_knows_the_modules_of_the_image() -> None:
    tree = look.parse("import numpy.linalg, os\nfrom sklearn import svm\nimport yaml_not")
    assert look.packages(tree, DEFAULT_TAG) == {"numpy", "sklearn"}
    assert look.packages(tree, "another") == frozenset()


NO_SKLEARN = (
    "scikit-learn is in the image 2025-05-08, which is not installed or lacks it. Run: fairmark sandbox install --all"
)

NO_YAML = "pyyaml is in the image base, which is not installed or lacks it. Run: fairmark sandbox install"


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
