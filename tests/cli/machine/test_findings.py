"""What a machine can do, looked at without the command."""

from pathlib import Path

import pytest

from fairmark.cli.machine import findings
from fairmark.sandbox import images
from fairmark.settings import Settings
from tests.sandbox.tiny import ready


def test_what_python_graders_may_import_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "OF_THE_ENVIRONMENT", tmp_path / "nothing")
    monkeypatch.setattr(findings, "settings", lambda: Settings(home=tmp_path))
    nothing = findings._packages()
    assert (nothing.ok, nothing.fix, nothing.needed) == (False, "fairmark sandbox install", False)
    ready(tmp_path, "base")
    assert findings._packages().found == "image base; the rest of 2025-05-08: fairmark sandbox install --all"
    ready(tmp_path, "2025-05-08")
    assert findings._packages().found == "image 2025-05-08"


def test_a_variable_that_nobody_reads_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings._settings().ok
    monkeypatch.setenv("FAIRMARK_SANDBX", "none")
    found = findings._settings()
    assert (found.ok, found.needed) == (False, False)
    assert found.found == "FAIRMARK_SANDBX: nobody reads it. Did you mean FAIRMARK_SANDBOX?"
