"""The example of the docs with the embedded model, which is at chance as a judge."""

import re
from pathlib import Path

import pytest

from tests import command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "judges-trust.md"
ON_ONE_CORE = """
import os
from fairmark import cli
os.sched_getaffinity = lambda pid: {0}
cli.main()
"""
"""The model has as many threads as there are cores: on a busy machine they burn one each, waiting for one another."""


@pytest.mark.thorough
def test_the_embedded_model_is_not_trusted_in_the_example_of_the_docs(tmp_path: Path) -> None:
    example = re.search(r"^    \$ fairmark (judge check .*)\n((?:    .*\n)+)", PAGE.read_text(), flags=re.MULTILINE)
    assert example is not None
    words, printed = example[1].split(), re.sub(r"^    ", "", example[2], flags=re.MULTILINE)
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(tmp_path)}
    done = command.python(ON_ONE_CORE, *words, cwd=ROOT, env=env, timeout_s=600)
    assert done.returncode == 1
    said = done.stderr.splitlines()[0] + "\n" + done.stdout
    pattern = ".*?".join(re.escape(part) for part in printed.split("..."))
    assert re.fullmatch(pattern, said, flags=re.DOTALL), said
    assert "not trusted" in printed
