"""What callers get: all that is known of a grader, and it never changes."""

import re

import pytest

import fairmark
from fairmark.client import (
    Project,
)
from tests.client.places import EXACT, Place


def test_a_record_tells_all_that_is_known_of_a_grader(place: Place, client: fairmark.Client) -> None:
    made = client.graders.create(key="exact", grader=EXACT, description="As it stands.")
    assert re.fullmatch(r"grader_[0-9a-f]{32}", made.id)
    assert (made.key, made.name, made.description) == ("exact", "exact", "As it stands.")
    assert (made.version, made.locked, made.warnings) == (1, False, ())
    assert (made.grader, made.grader_type, made.grader_config) == (EXACT, "STRING_CHECK", {})
    assert made.project == Project(place.project, place.project, place.project)
    assert made.metric.id == made.id.replace("grader", "metric")
    assert (made.metric.key, made.metric.name, made.metric.kind) == ("exact", "exact", "BOOL")
    assert made.metric.scoring_type == "HIGHER_IS_BETTER"
    assert made.created_at == made.updated_at > 1_700_000_000
    assert client.graders.get(grader_key="exact") == made
    assert client.graders.get(grader_key=made.id) == made


def test_a_record_never_changes(client: fairmark.Client) -> None:
    made = client.graders.create(key="exact", grader=EXACT)
    with pytest.raises(AttributeError):
        made.key = "other"  # type: ignore[misc]
