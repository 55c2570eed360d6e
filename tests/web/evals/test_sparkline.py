"""A line as small as a word, which tells itself in words too."""

from fairmark.web.evals.sparkline import sparkline


def test_a_sparkline_is_as_high_as_the_share_and_says_it_in_words() -> None:
    shown = sparkline([0.0, 1.0, 0.5])
    assert 'points="3.0,25.0 60.0,3.0 117.0,14.0"' in shown
    assert "oldest first: 0%, 100%, 50.0%" in shown
    assert 'cx="117.0" cy="14.0"' in sparkline([0.5])
    assert sparkline([]) == ""
