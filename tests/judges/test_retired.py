"""Models that are gone or will go: known by their names, and told with the day and what to do."""

from datetime import timedelta

import pytest

from fairmark.judges.retired import RETIRED, retirement


@pytest.mark.parametrize("name", ["gpt-6-luna", "claude", "ft:", "ft:gpt-4o", "", "GPT-4"])
def test_other_models_have_no_end(name: str) -> None:
    assert retirement(name) is None


def test_a_fine_tune_ends_with_the_model_it_was_made_of() -> None:
    assert retirement("ft:gpt-4o-2024-08-06:me::abc") is RETIRED["gpt-4o-2024-08-06"]


def test_before_its_day_a_model_ends_and_from_then_on_it_is_ended() -> None:
    found = RETIRED["o1"]
    assert "OpenAI ends it on 2026-10-23" in found.words("o1", found.gone - timedelta(days=1))
    assert "OpenAI ended it on 2026-10-23" in found.words("o1", found.gone)


def test_the_words_name_the_replacement_with_the_line_that_maps_it_or_ask_for_another() -> None:
    found = RETIRED["o1"]
    words = found.words("o1", found.gone)
    assert f'[aliases] "o1" = "{found.replacement}"' in words
    assert "Its scores will differ." in words
    assert RETIRED["gpt-5.1"].words("gpt-5.1", found.gone).endswith("Name another model.")


def test_no_replacement_is_a_model_that_is_itself_gone_before() -> None:
    for entry in RETIRED.values():
        after = retirement(entry.replacement) if entry.replacement else None
        assert after is None or after.gone > entry.gone
