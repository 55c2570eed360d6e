"""fairmark sandbox."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairmark.cli import app
from fairmark.cli.machine import sandbox
from fairmark.errors import BuildFailed
from fairmark.sandbox.images import Image, Images
from tests.cli.conftest import Run
from tests.sandbox.tiny import ready

WITHOUT_COMPILER = "it has no wheel and could not be built: no compiler."


def test_images_are_listed_with_their_state(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}
    assert "2025-05-08  not installed\n" in fairmark("sandbox", "list", env=home).stdout
    ready(tmp_path, "2025-05-08", missing_packages={"scikit-bio": "no compiler"}, missing_corpora=["names"])
    ready(tmp_path, "old", abi="cpython-399", corpora=[], size_bytes=4_000_000)
    ready(tmp_path, "base")
    assert fairmark("sandbox", "list", env=home).stdout == (
        "2025-05-08  installed: 1 packages for Python 3.11.7; nltk data punkt; 0 MB; "
        "missing: scikit-bio, nltk data names\n"
        "base  installed: 1 packages for Python 3.11.7; nltk data punkt; 0 MB\n"
        "old  installed for another Python: 1 packages for Python 3.11.7; 4 MB\n"
    )


def test_an_image_is_removed(fairmark: Run, tmp_path: Path) -> None:
    ready(tmp_path, "2025-05-08")
    done = fairmark("sandbox", "remove", "2025-05-08", env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "2025-05-08: removed\n", "")
    assert not (tmp_path / "images" / "2025-05-08").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["install", "--image", "2020"], 'no image "2020". Use one of: base, 2025-05-08.'),
        (["install", "--image", "base", "--all"], "--all and --image: use one of them."),
        (["remove", "2025-05-08"], 'no image "2025-05-08" in {home}/images. There is none.'),
        (["remove", ".."], 'no image ".." in {home}/images. There is none.'),
    ],
)
def test_an_unknown_image_is_exit_code_2(fairmark: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = fairmark("sandbox", *arguments, env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message.format(home=tmp_path) + "\n")


def installing(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Image], *options: str) -> tuple[int, str, str]:
    """What `fairmark sandbox install` prints where building goes as told."""

    def install(self: Images, tag: str, say: Callable[[str], None], rebuild: bool = False) -> Image:
        say(f"Downloading {tag}")
        return answer()

    monkeypatch.setattr(Images, "install", install)
    done = CliRunner().invoke(app, ["sandbox", "install", *options])
    return done.exit_code, done.stdout.partition(", in ")[0], done.stderr


def test_installing_tells_its_steps_and_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = ready(tmp_path)
    assert installing(monkeypatch, lambda: image) == (
        0,
        "tiny: 1 packages for Python 3.11.7; nltk data punkt; 0 MB",
        "Downloading base\n",
    )


def test_all_is_the_whole_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = ready(tmp_path)
    assert installing(monkeypatch, lambda: image, "--all")[2] == "Downloading 2025-05-08\n"


def test_a_step_that_takes_long_says_that_it_goes_on() -> None:
    lines: list[str] = []
    goes_on = threading.Event()

    def tell(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            goes_on.set()

    with sandbox._Steps(tell, every_s=0.001) as steps:
        steps.say("Building scikit-bio")
        assert goes_on.wait(20)
    assert lines[:3] == ["Building scikit-bio", "Building scikit-bio (0 s)", "Building scikit-bio (0 s)"]


def test_missing_packages_are_exit_code_1_and_missing_data_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    image = Image("tiny", "3.11.7", "abi", {"six": "1.17.0"}, {}, [], ["names"], 12)
    code, _, told = installing(monkeypatch, lambda: image)
    assert code == 0
    assert told.splitlines()[1:] == [
        "missing: nltk data names: no package registry has it and nltk could not download it.",
        "Everything else works. To try again: fairmark sandbox install --image tiny --rebuild",
    ]
    image.missing_packages["scikit-bio"] = WITHOUT_COMPILER
    code, _, told = installing(monkeypatch, lambda: image)
    assert code == 1
    assert told.splitlines()[1] == f"missing: scikit-bio: {WITHOUT_COMPILER}"
    assert told.endswith("To try again: fairmark sandbox install --image tiny\n")


def test_a_failed_build_is_exit_code_3_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Image:
        raise BuildFailed("image tiny: the disk is full.")

    assert installing(monkeypatch, fail) == (3, "", "Downloading base\nimage tiny: the disk is full.\n")


def test_a_grader_without_its_package_names_the_command(tmp_path: Path) -> None:
    grader = '{"type": "python", "source": "import pandas\\ndef grade(sample, item):\\n    return 1"}'
    done = subprocess.run(
        [Path(sys.executable).parent / "fairmark", "grade", grader],
        env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.endswith(
        "ModuleNotFoundError: No module named 'pandas'\n"
        "pandas is in the image 2025-05-08, which is not installed or lacks it. Run: fairmark sandbox install --all\n"
    )
