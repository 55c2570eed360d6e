"""fairmark kinds."""

from fairmark.graders import KINDS
from tests.cli.conftest import Run


def test_every_kind_is_listed_with_its_summary(fairmark: Run) -> None:
    text = fairmark("kinds").stdout
    for name, kind in KINDS.items():
        assert f"{name} " in text
        assert kind.summary in text
    assert "input reference operation [pass_threshold]" in text
