"""Labels in the OpenAPI document."""

from fairmark.labelling.calls import FIELDS, label_wire
from fairmark.server.schemas.labels import label_schemas
from fairmark.store import Label


def test_all_that_a_label_may_say_is_told_and_nothing_else() -> None:
    assert set(label_schemas()["NewLabel"]["properties"]) == set(FIELDS)


def test_all_that_a_label_shows_is_told() -> None:
    shown = label_wire(Label(0, "kim", "label", "pass", 1.0))
    assert set(shown) <= set(label_schemas()["Label"]["properties"])
