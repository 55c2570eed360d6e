from fairmark.text.moment import time_text


def test_a_moment_is_shown_in_utc_and_none_as_a_dash() -> None:
    assert time_text(1_794_660_000) == "2026-11-14T12:40:00Z"
    assert time_text(None) == "-"
