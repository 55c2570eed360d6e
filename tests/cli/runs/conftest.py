from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.runs.keeping import Kept


@pytest.fixture
def kept(fairmark: Run, tmp_path: Path) -> Kept:
    return Kept(fairmark, tmp_path)
