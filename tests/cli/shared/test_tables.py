"""Plain tables: a line a thing, columns that line up, nothing that breaks a line."""

import pytest

from fairmark.cli.shared.tables import show_table


def test_columns_line_up_and_lines_end_where_their_words_do(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["KEY", "NAME"], [["a", "first"], ["longer", ""]])
    assert capsys.readouterr().out == "KEY     NAME\na       first\nlonger\n"


def test_what_would_break_a_line_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["KEY"], [["two\nlines"], ["\x1b[31mred"]])
    assert capsys.readouterr().out.splitlines() == ["KEY", '"two\\nlines"', '"\\u001b[31mred"']


def test_a_table_without_lines_has_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["KEY", "NAME"], [])
    assert capsys.readouterr().out == "KEY  NAME\n"
