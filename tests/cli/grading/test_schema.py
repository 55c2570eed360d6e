"""fairmark schema."""

import json

from fairmark import schema
from tests.cli.conftest import Run


def test_it_prints_the_schema_of_all_kinds_or_of_one(fairmark: Run) -> None:
    assert json.loads(fairmark("schema").stdout) == schema.published()
    assert json.loads(fairmark("schema", "multi").stdout) == schema.published("multi")


def test_an_unknown_kind_is_told_with_those_there_are(fairmark: Run) -> None:
    done = fairmark("schema", "string_chek")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean string_check?" in done.stderr
