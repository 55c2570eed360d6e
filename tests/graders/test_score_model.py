"""score_model: the judge's number becomes the reward; everything that is no number is an error with its flag."""

from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.parse import parse, validate
from fairmark.result import Result
from fairmark.run import grade, grade_many

INPUT = [
    {"role": "system", "content": "You are an expert grader."},
    {"role": "user", "content": "Reference: {{item.reference}}. Model answer: {{sample.output_text}}"},
]
ITEM = {"reference": "Paris"}
EFFORTS = "none, minimal, low, medium, high, xhigh, max"


def grader(**more: Any) -> dict[str, Any]:
    return {"type": "score_model", "name": "tone", "model": "judge", "input": INPUT, **more}


def ask(script: Any, **more: Any) -> Result:
    return grade(grader(**more), "It is Paris.", ITEM, judge=FakeJudge(script))


def set_flags(result: Result) -> list[str]:
    return [key for key, value in result.errors.items() if value]


def echo(**more: Any) -> dict[str, Any]:
    return validate(grader(**more)).grader or {}


def problems(**more: Any) -> list[str]:
    return [str(problem) for problem in validate(grader(**more)).errors]


def warnings_for(prompt: str, **more: Any) -> list[str]:
    return validate(grader(input=[{"role": "user", "content": prompt}], **more)).warnings


def test_the_reward_is_the_judges_number() -> None:
    result = ask(0.75)
    assert (result.reward, result.status, result.passed, result.error) == (0.75, "graded", True, None)
    assert result.warnings == ()


def test_the_judge_is_sent_the_messages_filled_in_and_nothing_else() -> None:
    judge = FakeJudge(1)
    grade(grader(), "It is Paris.", ITEM, judge=judge)
    assert judge.asked == [
        [
            {"role": "system", "content": "You are an expert grader."},
            {"role": "user", "content": "Reference: Paris. Model answer: It is Paris."},
        ]
    ]


def test_the_steps_of_the_answer_are_kept_whatever_a_model_made_of_them() -> None:
    whole = {"description": "d", "conclusion": "c"}
    steps = [whole, "just words", {"description": 5}, 7, None]
    result = ask({"steps": steps, "result": 0.5})
    assert result.judgements[0].value["steps"] == [
        whole,
        {"description": "just words", "conclusion": ""},
        {"description": "5", "conclusion": ""},
    ]
    assert ask({"steps": "none", "result": 0.5}).reward == 0.5


@pytest.mark.parametrize(
    ("script", "reward"),
    [
        (0, 0.0),
        (1, 1.0),
        ("0.5", 0.5),
        (" 5e-1 ", 0.5),
        (".25", 0.25),
        ("+1.", 1.0),
        ({"score": 0.4}, 0.4),
        ({"result": 0.1, "score": 0.9}, 0.1),
        (FakeAnswer('{"result": 0.3}'), 0.3),
        (FakeAnswer('Sure!\n```json\n{"steps": [], "result": 0.3,}\n```'), 0.3),
        (FakeAnswer("<think>Maybe {\"result\": 1}?</think>Score: **0.3**"), 0.3),
        (FakeAnswer("0.3"), 0.3),
    ],
)  # fmt: skip
def test_a_number_counts_however_a_model_writes_it(script: Any, reward: float) -> None:
    result = ask(script)
    assert (result.reward, result.status) == (reward, "graded")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("excellent", 'the result is a string ("excellent"), not a number'),
        (True, "the result is true, not a number"),
        ({"result": None}, "the result is null, not a number"),
        ({"result": [1]}, "the result is a list of 1, not a number"),
        ({"steps": []}, "the answer has no result"),
        ("nan", 'the result is a string ("nan"), not a number'),
        ("1e999", 'the result is a string ("1e999"), not a number'),
        ("1/2", 'the result is a string ("1/2"), not a number'),
        (FakeAnswer('{"result": NaN}'), "the result is a number (nan), not a number"),
        (FakeAnswer('{"result": Infinity}'), "the result is a number (inf), not a number"),
        (FakeAnswer('{"result": -1e999}'), "the result is a number (-inf), not a number"),
        (FakeAnswer('{"result": ' + "9" * 400 + "}"), "the result is a number ("),
        (FakeAnswer('{"result": ' + "9" * 5000 + "}"), 'there is no verdict in the answer: "{\\"result\\": 99'),
        (FakeAnswer('{"result": "' + "9" * 60_000 + 'x"}'), 'the result is a string ("999'),
        (FakeAnswer("I like it."), 'there is no verdict in the answer: "I like it."'),
        (FakeAnswer("[0.5]"), 'there is no verdict in the answer: "[0.5]"'),
        (FakeAnswer('{"result": 1, "steps": ' + "[" * 60 + "]" * 60 + "}"), "the answer is nested too deeply"),
        (FakeAnswer(fault="empty"), "the answer is empty"),
        (FakeAnswer("<think>I wonder whether {\"result\": 1}"), "the answer is empty"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_reward_zero_with_its_flag_and_never_a_silent_one(script: Any, found: str) -> None:
    result = ask(script)
    assert (result.reward, result.status, result.passed) == (0.0, "error", False)
    assert set_flags(result) == ["model_grader_parse_error"]
    assert (result.error or "").startswith(f"judge: {found}")


def test_non_numeric_is_zero_even_where_zero_lies_outside_the_range() -> None:
    result = ask("good", range=[1, 7])
    assert (result.reward, set_flags(result)) == (0.0, ["model_grader_parse_error"])


@pytest.mark.parametrize(
    ("fault", "flags", "message"),
    [
        (
            "timeout",
            ["unresponsive_reward_error", "model_grader_server_error", "model_grader_server_error_details"],
            "judge: no answer in time (a scripted fault).",
        ),
        (
            "server_error",
            ["model_grader_server_error", "model_grader_server_error_details"],
            "judge: the server answered 500 (a scripted fault).",
        ),
        ("refusal", ["model_grader_refusal_error"], 'judge: the judge refused: "I cannot help with that.".'),
        (
            "cut_off",
            ["truncated_observation_error"],
            'judge: the answer was cut off by the token limit. It ends: "{\\"result\\": 1}".',
        ),
        ("empty", ["model_grader_parse_error"], "judge: the answer is empty."),
    ],
)
def test_every_failure_of_a_judge_has_its_flag_its_words_and_the_status_error(
    fault: Any, flags: list[str], message: str
) -> None:
    result = ask(FakeAnswer('{"result": 1}' if fault == "cut_off" else "", fault))
    assert (result.reward, result.status, result.passed) == (0.0, "error", False)
    assert set_flags(result) == flags
    assert result.error == message
    if "model_grader_server_error" in flags:
        assert result.errors["model_grader_server_error_details"] == message


def test_one_failing_question_leaves_the_other_rows_alone() -> None:
    def answer(messages: Any) -> Any:
        return FakeAnswer(fault="timeout") if "slow" in messages[-1]["content"] else 1.0

    rows = [{"item": ITEM, "sample": sample} for sample in ("a", "slow", "b")] + [{"item": {}, "sample": "c"}]
    results = grade_many(grader(), rows, judge=FakeJudge(answer))
    assert [result.status for result in results] == ["graded", "error", "graded", "error"]
    assert set_flags(results[3]) == ["invalid_variable_error"]


def test_a_missing_variable_is_found_before_anybody_is_asked() -> None:
    judge = FakeJudge([])
    result = grade(grader(), "x", {}, judge=judge)
    assert (result.status, judge.asked) == ("error", [])
    assert result.error == '{{ item.reference }}: this item has no field "reference". It has none.'


@pytest.mark.parametrize(
    ("number", "span", "reward"),
    [(5, None, 1.0), (-0.5, None, 0.0), (9, [1, 7], 7.0), (0, [1, 7], 1.0), (-3, [-2, -1], -2.0), (1e300, [0, 10], 10)],
)
def test_a_number_outside_the_range_is_clamped_and_the_result_says_so(number: Any, span: Any, reward: float) -> None:
    result = ask(number, range=span)
    assert (result.reward, result.status) == (reward, "graded")
    low, high = span or (0, 1)
    assert result.warnings == (
        f"the judge's number {number:g} is outside the range {low:g} to {high:g} and was taken as {reward:g}.",
    )
    assert result.judgements[0].value["result"] == number


@pytest.mark.parametrize("number", [1, 7, 4.2])
def test_a_number_inside_the_range_is_not_touched(number: float) -> None:
    result = ask(number, range=[1, 7])
    assert (result.reward, result.warnings) == (number, ())


@pytest.mark.parametrize(
    ("number", "more", "passed"),
    [
        (5.5, {"range": [1, 7], "pass_threshold": 5.5}, True),
        (5.4, {"range": [1, 7], "pass_threshold": 5.5}, False),
        (4, {"range": [1, 7]}, True),
        (3.9, {"range": [1, 7]}, False),
        (0.5, {}, True),
        (0.49, {}, False),
        (0, {"pass_threshold": 0}, True),
        (9, {"range": [1, 7], "pass_threshold": 8}, False),
        (0, {"range": [-10, 10]}, True),
    ],
)
def test_a_reward_passes_on_the_ranges_own_scale_and_by_default_from_its_middle(
    number: float, more: dict[str, Any], passed: bool
) -> None:
    assert ask(number, **more).passed is passed


@pytest.mark.parametrize(
    "span",
    ["0-1", [1], [0, 1, 2], [1, 1], [2, 1], [0, "1"], [False, True], [0, None], 5, {}, [], [float("nan"), 1],
     [0, float("inf")], [0, 10**400]],
)  # fmt: skip
def test_a_range_is_two_ascending_numbers_and_nothing_else(span: Any) -> None:
    (problem,) = validate(grader(range=span)).errors
    assert problem.path == "$.range"
    assert problem.message.endswith("It takes two ascending numbers: [0, 1].")


def test_a_range_is_echoed_and_null_is_the_default() -> None:
    assert echo(range=[1, 7])["range"] == [1, 7]
    assert echo(range=None)["range"] == [0, 1]
    assert "range" not in echo()


LARGER = [
    ("Grade the answer on a scale of 1 to 5.", 1, 5),
    ("Rate from 1-10 how helpful the reply is.", 1, 10),
    ("Give a score between 0 and 100.", 0, 100),
    ("Rate the tone 1–7.", 1, 7),
    ("Rate the answer out of 10.", 0, 10),
    ("Return an integer from 1 to 5", 1, 5),
    ("Judge it on a 1-5 scale.", 1, 5),
    ("Use a 0–10 point scale.", 0, 10),
    ("Your rating goes from 1 (terrible) to 5 (excellent).", 1, 5),
    ("Assign scores from 1 through 4", 1, 4),
    ("Score (0...3): {{sample.output_text}}", 0, 3),
    ("Answer with a number between -1 and 1.", -1, 1),
    ("RATING SCALE: 1 - 5", 1, 5),
]


@pytest.mark.parametrize(("prompt", "low", "high"), LARGER)
def test_a_prompt_that_names_a_larger_scale_without_a_range_is_a_warning(prompt: str, low: int, high: int) -> None:
    warning = (
        "$.range: not set, so the judge's number is clamped to 0 to 1; but the prompt names a scale of "
        f'{low} to {high}. Set "range": [{low}, {high}].'
    )
    assert warnings_for(prompt) == [warning]
    assert warnings_for(prompt, range=None) == [warning]
    assert warnings_for(prompt, range=[low, high]) == []
    assert warnings_for(prompt, range=[0, 1]) == []  # somebody decided


@pytest.mark.parametrize(
    "prompt",
    [
        "Give a score from 0 to 1.",
        "Return a number between 0.0 and 1.0.",
        "On a 0-1 scale.",
        "Explain your score in 2 to 3 sentences.",
        "Write 2 to 3 sentences.",
        "Give the score, then 3-5 short bullets.",
        "The company was founded between 1998 and 2004. Grade the answer.",
        "Rate whether the years 1990-2000 are named.",
        "3 out of 4 experts agree.",
        "Grade the answer.\nThe trip took 2 to 5 days.",
        "Compare 1 and 5.",
        "",
    ],
)
def test_other_numbers_in_a_prompt_are_no_scale(prompt: str) -> None:
    assert warnings_for(prompt) == []


def test_the_scale_is_found_in_any_message_and_told_once() -> None:
    messages = [
        {"role": "system", "content": "Be fair."},
        {"role": "user", "content": ["Rate it 1 to 5.", {"type": "input_text", "text": "Again: a score of 1 to 5."}]},
    ]
    assert len(validate(grader(input=messages)).warnings) == 1


def test_a_threshold_outside_the_range_and_a_template_for_a_model_are_warnings() -> None:
    assert validate(grader(pass_threshold=3)).warnings == ["$.pass_threshold: 3 is outside the range 0 to 1."]
    assert validate(grader(model="{{aoai_deployment}}")).warnings == [
        '$.model: "{{aoai_deployment}}" looks like a template, but a model\'s name is taken as it is.'
    ]
    assert warnings_for("{item.a}} is {{item.b}") == [
        f"$.input: {text} is taken as plain text; a variable stands in two braces on both sides."
        for text in ("{item.a}}", "{item.b}")
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            {"model": 5},
            ["$.model: found a number (5). It takes a string."],
        ),
        ({"model": None}, ["$.model: found null. It takes a string."]),
        ({"input": "judge this"}, [
            '$.input: found a string ("judge this"). It takes a list of messages: '
            '[{"role": "user", "content": "…"}, …].'
        ]),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "{{x}}"}]}]}, [
            '$.input[0].content[0].text: {{x}}: unknown namespace "x". Use item or sample: {{ item.name }}.'
        ]),
        ({"guard": "yes"}, ['$.guard: found a string ("yes"). It takes true or false.']),
        ({"sampling_params": [1]}, ["$.sampling_params: found a list of 1. It takes an object."]),
        ({"model_sampling_params": 5}, ["$.model_sampling_params: found a number (5). It takes an object."]),
        ({"range": [2, 1], "sampling_parameters": {"temperature": 3, "top_p": "x"}}, [
            "$.sampling_parameters.temperature: found a number (3). It takes a number from 0 to 2.",
            '$.sampling_parameters.top_p: found a string ("x"). It takes a number from 0 to 1.',
            "$.range: found [2, 1]. It takes two ascending numbers: [0, 1].",
        ]),
    ],
)  # fmt: skip
def test_every_problem_is_told_with_its_path(more: dict[str, Any], expected: list[str]) -> None:
    assert problems(**more) == expected


def test_model_and_input_must_be_there() -> None:
    assert [str(problem) for problem in validate({"type": "score_model"}).errors] == [
        "$.model: missing. It takes a string.",
        '$.input: missing. It takes a list of messages: [{"role": "user", "content": "…"}, …].',
    ]


PARAMS = {"seed": 42, "top_p": 1, "temperature": 0.5, "reasoning_effort": "medium", "max_completions_tokens": 32768}


@pytest.mark.parametrize("key", ["sampling_params", "sampling_parameters", "model_sampling_params"])
@pytest.mark.parametrize("tokens", ["max_completions_tokens", "max_completion_tokens", "max_tokens"])
def test_every_spelling_of_sampling_parameters_is_accepted_and_the_canonical_one_echoed(key: str, tokens: str) -> None:
    given = {tokens if name == "max_completions_tokens" else name: value for name, value in PARAMS.items()}
    assert echo(**{key: given}) == {**echo(), "sampling_params": PARAMS}
    result = ask(1, **{key: given})
    assert result.judgements[0].sampling == PARAMS


def test_the_canonical_spelling_wins() -> None:
    more = {"sampling_params": {"seed": 1}, "sampling_parameters": {"seed": 2}, "model_sampling_params": {"seed": 3}}
    assert echo(**more)["sampling_params"] == {"seed": 1}
    tokens = {"max_tokens": 3, "max_completion_tokens": 2, "max_completions_tokens": 1}
    assert echo(sampling_params=tokens)["sampling_params"] == {"max_completions_tokens": 1}
    del tokens["max_completions_tokens"]
    assert echo(sampling_params=tokens)["sampling_params"] == {"max_completions_tokens": 2}


def test_null_is_kept_in_the_echo_and_counts_as_not_set() -> None:
    assert echo(sampling_params=None)["sampling_params"] is None
    nulls = dict.fromkeys(PARAMS)
    assert echo(sampling_params=nulls)["sampling_params"] == nulls
    assert ask(1, sampling_params={**nulls, "seed": 7}).judgements[0].sampling == {"seed": 7}
    both = {"max_completions_tokens": None, "max_tokens": 9}
    assert echo(sampling_params=both)["sampling_params"] == {"max_completions_tokens": 9}


def test_parameters_that_nobody_knows_are_echoed_and_told() -> None:
    unknown = {"top_k": 5, "temprature": 0, "stop": None}
    assert echo(sampling_params=unknown)["sampling_params"] == unknown
    told = (
        "$.sampling_params.top_k: unknown parameter, kept but not used.",
        "$.sampling_params.temprature: unknown parameter, kept but not used. Did you mean temperature?",
    )
    assert ask(1, sampling_params=unknown).warnings == told
    assert tuple(validate(grader(model_sampling_params=unknown)).warnings) == told
    assert validate(grader(sampling_params=PARAMS)).warnings == []


@pytest.mark.parametrize("effort", [*EFFORTS.split(", "), None])
def test_every_reasoning_effort_of_the_contract_is_accepted(effort: str | None) -> None:
    assert echo(sampling_params={"reasoning_effort": effort})["sampling_params"] == {"reasoning_effort": effort}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"reasoning_effort": "huge"}, f'.reasoning_effort: unknown reasoning_effort "huge". Use one of: {EFFORTS}.'),
        ({"reasoning_effort": 3}, f".reasoning_effort: unknown reasoning_effort a number (3). Use one of: {EFFORTS}."),
        ({"seed": "42"}, '.seed: found a string ("42"). It takes a whole number.'),
        ({"seed": 1.5}, ".seed: found a number (1.5). It takes a whole number."),
        ({"seed": True}, ".seed: found true. It takes a whole number."),
        ({"top_p": -0.1}, ".top_p: found a number (-0.1). It takes a number from 0 to 1."),
        ({"temperature": 2.1}, ".temperature: found a number (2.1). It takes a number from 0 to 2."),
        ({"temperature": float("nan")}, ".temperature: found a number (nan). It takes a number from 0 to 2."),
        ({"temperature": False}, ".temperature: found false. It takes a number from 0 to 2."),
        ({"max_tokens": 0}, ".max_tokens: found a number (0). It takes a whole number, 1 or more."),
        ({"max_completion_tokens": "9"},
         '.max_completion_tokens: found a string ("9"). It takes a whole number, 1 or more.'),
        ({"max_completions_tokens": 1.0},
         ".max_completions_tokens: found a number (1.0). It takes a whole number, 1 or more."),
    ],
)  # fmt: skip
def test_a_wrong_sampling_parameter_is_told_under_the_users_own_spelling(params: dict[str, Any], problem: str) -> None:
    assert problems(sampling_params=params) == [f"$.sampling_params{problem}"]


def test_the_echo_is_normalised_and_parses_to_the_same_grader() -> None:
    given = grader(pass_threshold=5.5, range=[1, 7], model_sampling_params={"max_tokens": 10}, image_tag=None)
    normalised = {
        "type": "score_model",
        "name": "tone",
        "model": "judge",
        "input": [
            {"role": each["role"], "content": {"type": "input_text", "text": each["content"]}, "type": "message"}
            for each in INPUT
        ],
        "pass_threshold": 5.5,
        "range": [1, 7],
        "sampling_params": {"max_completions_tokens": 10},
        "image_tag": None,
    }
    assert validate(given).grader == normalised
    assert validate(normalised).grader == normalised
    assert parse(given) == parse(normalised)


def test_a_grader_that_names_no_model_is_never_run() -> None:
    with pytest.raises(InvalidGrader):
        grade({"type": "score_model", "input": INPUT}, judge=FakeJudge([]))


def test_the_schema_that_goes_out_asks_for_steps_before_the_result_and_names_the_range() -> None:
    shape = parse(grader(range=[1, 7])).shape  # type: ignore[attr-defined]
    assert shape.name == "score"
    assert list(shape.schema["properties"]) == ["steps", "result"]
    assert shape.schema["properties"]["result"] == {"type": "number", "minimum": 1.0, "maximum": 7.0}
    assert shape.schema["required"] == ["steps", "result"]
    assert shape.schema["additionalProperties"] is False
