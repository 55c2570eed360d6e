"""How schemas are put together."""

from fairmark.server.schemas.shapes import ABOVE_0, STRING, budget, list_of, maybe, ref, shape


def test_an_object_tells_which_of_its_fields_must_be_there() -> None:
    told = shape({"id": STRING}, {"name": STRING})
    assert told == {"type": "object", "properties": {"id": STRING, "name": STRING}, "required": ["id"]}


def test_what_may_be_null_is_told_so() -> None:
    assert maybe(ref("Grader")) == {"anyOf": [{"$ref": "#/components/schemas/Grader"}, {"type": "null"}]}


def test_a_list_has_the_fields_of_every_list() -> None:
    told = list_of("Run")
    assert told["required"] == ["object", "data", "first_id", "last_id", "has_more"]
    assert told["properties"]["data"] == {"type": "array", "items": {"$ref": "#/components/schemas/Run"}}


def test_a_budget_limits_tokens_and_dollars_and_nothing_else() -> None:
    told = budget(ABOVE_0)
    assert told["properties"] == {"tokens": ABOVE_0, "dollars": ABOVE_0}
    assert told["additionalProperties"] is False
