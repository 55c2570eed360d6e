"""Grader JSON in: normalisation, and every problem at once."""

import asyncio
import json
from typing import Any

import pytest

import fairmark
from fairmark import parse as parsing
from fairmark.errors import InvalidGrader
from fairmark.graders import KINDS
from fairmark.parse import aparse, avalidate, parse

CHECK = {"type": "string_check", "name": "n", "input": "{{item.a}}", "reference": "r", "operation": "eq"}
SIMILAR = {"type": "text_similarity", "input": "i", "reference": "r", "evaluation_metric": "bleu"}
TEXT = "It takes a string; {{ item.… }} and {{ sample.… }} in it are filled in for each row."
TYPES = f"Use one of: {', '.join(KINDS)}."


def problems(grader: Any) -> list[str]:
    validation = fairmark.validate(grader)
    assert not validation.valid
    assert validation.grader is None
    return [str(problem) for problem in validation.errors]


@pytest.mark.parametrize(
    ("grader", "expected"),
    [
        ("{", ["$: the grader is not JSON: expecting property name enclosed in double quotes at column 2."]),
        ("", ["$: the grader is not JSON: it is empty."]),
        ("examples/exact.json", ["$: the grader is not JSON: expecting value at column 1."]),
        (b"\xff", ["$: the grader is not JSON: byte 1 is not UTF-8."]),
        ('{"type": NaN}', ["$: the grader is not JSON: NaN is not a JSON number."]),
        ("[" * 10_000, ["$: the grader is not JSON: it is nested too deeply."]),
        ("[]", ["$: a grader is an object with a type, found a list of 0."]),
        (None, ["$: a grader is an object with a type, found null."]),
        (7, ["$: a grader is an object with a type, found a number (7)."]),
        ({}, [f"$.type: missing. {TYPES}"]),
        ({"type": "xyz"}, [f'$.type: unknown type "xyz". {TYPES}']),
        ({"type": ["multi"]}, [f"$.type: unknown type a list of 1. {TYPES}"]),
        (
            {"type": "string_check", "input": 5, "operation": "equals"},
            [
                f"$.input: found a number (5). {TEXT}",
                f"$.reference: missing. {TEXT}",
                '$.operation: unknown operation "equals". Use one of: eq, ne, like, ilike.',
            ],
        ),
        ({**CHECK, "operation": None}, ["$.operation: unknown operation null. Use one of: eq, ne, like, ilike."]),
        ({**CHECK, "name": 5}, ["$.name: found a number (5). It takes a string."]),
        ({**CHECK, "pass_threshold": "0.5"}, ['$.pass_threshold: found a string ("0.5"). It takes a number.']),
        ({**CHECK, "pass_threshold": True}, ["$.pass_threshold: found true. It takes a number."]),
        ({**CHECK, "pass_threshold": float("nan")}, ["$.pass_threshold: found nan. It takes a number."]),
        (
            {**CHECK, "input": "{{ x.y }}{{item.a|b}}"},
            [
                '$.input: {{ x.y }}: unknown namespace "x". Use item or sample: {{ item.name }}.',
                '$.input: {{item.a|b}}: cannot read "|b". A path is made of .key, [0] and ["a key"]; '
                "there are no filters and no expressions.",
            ],
        ),
        (
            {"type": "text_similarity", "input": "i", "reference": "r", "evaluation": "rouge"},
            [
                '$.evaluation: unknown evaluation_metric "rouge". Use one of: fuzzy_match, bleu, gleu, meteor, cosine, '
                "rouge_1, rouge_2, rouge_3, rouge_4, rouge_5, rouge_l. Did you mean rouge_l?"
            ],
        ),
    ],
)
def test_every_problem_is_told_with_path_finding_and_what_is_allowed(grader: Any, expected: list[str]) -> None:
    assert problems(grader) == expected


def test_the_operation_neq_and_the_key_evaluation_are_other_spellings() -> None:
    assert fairmark.validate({**CHECK, "operation": "neq"}).grader == {**CHECK, "operation": "ne"}
    spelled = {**{k: v for k, v in SIMILAR.items() if k != "evaluation_metric"}, "evaluation": "bleu"}
    assert fairmark.validate(spelled).grader == {**SIMILAR, "name": "text_similarity"}


def test_the_canonical_spelling_wins_over_the_other() -> None:
    echo = fairmark.validate({**SIMILAR, "evaluation": "gleu"}).grader
    assert echo == {**SIMILAR, "name": "text_similarity"}


def test_two_other_spellings_of_one_field_are_refused_and_none_is_dropped() -> None:
    judge = {"type": "answer_relevancy", "model": "m", "sampling_parameters": {"seed": 1}}
    assert fairmark.validate({**judge, "model_sampling_params": None}).valid is False
    assert problems({**judge, "model_sampling_params": {"seed": 2}}) == [
        "$.model_sampling_params: sampling_parameters and model_sampling_params are two spellings of sampling_params. "
        "Use one of them."
    ]


def test_unknown_keys_are_kept_and_given_back_and_unset_fields_are_left_out() -> None:
    grader = {**CHECK, "image_tag": None, "x": {"deep": [1]}, "pass_threshold": 1}
    assert fairmark.validate(grader).grader == grader
    assert "pass_threshold" not in (fairmark.validate(CHECK).grader or {})


@pytest.mark.parametrize("name", [{}, {"name": None}])
def test_a_missing_name_is_filled_with_the_type(name: dict[str, Any]) -> None:
    grader = {key: value for key, value in CHECK.items() if key != "name"} | name
    assert (fairmark.validate(grader).grader or {})["name"] == "string_check"


def test_a_misspelt_field_is_a_warning_and_others_are_not() -> None:
    warnings = fairmark.validate({**CHECK, "pass_treshold": 1, "image_tag": "x"}).warnings
    assert warnings == ["$.pass_treshold: unknown field, kept but not used. Did you mean pass_threshold?"]


def test_unbalanced_braces_are_a_warning() -> None:
    warnings = fairmark.validate({**CHECK, "input": "{{item.a}"}).warnings
    assert warnings == ["$.input: {item.a} is taken as plain text; a variable stands in two braces on both sides."]


def test_text_bytes_dicts_and_specs_are_all_graders() -> None:
    text = '\ufeff{"type": "string_check", "name": "n", "input": "{{item.a}}", "reference": "r", "operation": "eq"}'
    spec = parse(CHECK)
    assert parse(text) == parse(text.encode().removeprefix(b"\xef\xbb\xbf")) == parse(spec) == spec


def test_equal_json_is_parsed_once() -> None:
    assert parse(CHECK) is parse(dict(CHECK))
    assert parse(CHECK) is not parse({**CHECK, "name": "other"})


def test_null_and_nan_are_not_confused_by_the_cache() -> None:
    assert fairmark.validate({**CHECK, "pass_threshold": None}).valid
    assert not fairmark.validate({**CHECK, "pass_threshold": float("nan")}).valid


def test_a_grader_nested_too_deeply_is_refused_even_where_it_is_a_cycle() -> None:
    cycle: dict[str, Any] = {**CHECK}
    cycle["self"] = cycle
    assert problems(cycle) == ["$: the grader is nested deeper than 200 levels."]


def test_invalid_grader_is_a_value_error_that_lists_everything() -> None:
    with pytest.raises(ValueError, match=r"\$\.input: missing.*\n\$\.reference: missing") as error:
        fairmark.grade({"type": "string_check", "operation": "eq"})
    assert isinstance(error.value, InvalidGrader)
    assert [problem.code for problem in error.value.problems] == ["missing_required_parameter"] * 2


def test_keys_that_are_no_strings_and_values_json_does_not_know_do_no_harm() -> None:
    odd: dict[Any, Any] = {**CHECK, 5: 1, "when": object()}
    assert fairmark.validate(odd).valid


def test_a_long_grader_is_read_beside_others_on_an_event_loop() -> None:
    texts = ["{{item.a}}" * 2_000 + str(number) for number in range(60)]
    children = {f"part{number}": {**CHECK, "input": text, "name": f"part{number}"} for number, text in enumerate(texts)}
    grader = {"type": "multi", "graders": children, "calculate_output": "part0"}

    async def turns_of_others(reading: Any) -> int:
        task = asyncio.ensure_future(reading)
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        await task
        return turns

    assert asyncio.run(turns_of_others(aparse(grader))) > 5
    other = {**grader, "name": "other"}  # none that is remembered
    assert asyncio.run(turns_of_others(avalidate(json.dumps(other)))) > 5
    assert asyncio.run(turns_of_others(aparse(CHECK))) < 5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"type": "string_chek"}, "Did you mean string_check?"),
        ({"operation": "Like"}, "Did you mean like?"),
        ({"operation": "equals"}, "Use one of: eq, ne, like, ilike."),
        ({"type": "text_similarity", "evaluation_metric": "rougel"}, "Did you mean rouge_l?"),
        ({"pass_threshold": 80}, None),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(change: dict[str, Any], says: str | None) -> None:
    given = {"type": "string_check", "input": "a", "reference": "b", "operation": "eq", **change}
    checked = fairmark.validate(given)
    if says is None:
        assert checked.warnings == ["$.pass_threshold: 80 is outside the range 0 to 1."]
    else:
        assert [problem.message.endswith(says) for problem in checked.errors] == [True]


def test_long_graders_do_not_fill_the_memory() -> None:
    for number in range(200):
        parse({**CHECK, "reference": str(number) + "x" * 100_000})
    assert sum(map(len, parsing._cache)) <= parsing._CACHE_BYTES
    assert parse({**CHECK, "reference": "199" + "x" * 100_000}) is parse({**CHECK, "reference": "199" + "x" * 100_000})


def test_where_an_editor_finds_the_schema_is_no_part_of_a_grader() -> None:
    noted = {"$schema": "./grader.schema.json", **CHECK}
    both = {"$schema": 1, "type": "multi", "graders": {"a": noted}, "calculate_output": "a"}
    assert fairmark.validate(noted).grader == fairmark.validate(CHECK).grader
    assert fairmark.validate(both).grader == fairmark.validate({**both, "graders": {"a": CHECK}}).grader
    assert "$schema" not in json.dumps(fairmark.validate(both).grader)
    assert fairmark.validate(both).warnings == []
