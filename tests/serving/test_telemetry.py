"""Traces and events for an OTLP endpoint. What is really sent is in tests/server/test_telemetry.py."""

import logging

import pytest

import fairmark
from fairmark.judgement import Judgement, Usage
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.serving import telemetry
from fairmark.serving.telemetry import attributes_of, open_telemetry

SIMILAR = {
    "type": "text_similarity",
    "name": "close",
    "input": "{{sample.output_text}}",
    "reference": "{{item.reference}}",
    "evaluation_metric": "fuzzy_match",
    "pass_threshold": 0.8,
}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_without_an_endpoint_there_is_nothing(environment: dict[str, str]) -> None:
    assert open_telemetry(environment) is None


def test_packages_that_are_missing_are_named_and_harm_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("no", name="opentelemetry.sdk")

    monkeypatch.setattr(telemetry, "Telemetry", missing)
    with caplog.at_level(logging.WARNING):
        assert open_telemetry({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}) is None
    assert "opentelemetry.sdk is missing: pip install 'fairmark[otel]'" in caplog.text


def test_a_grade_is_told_in_names_and_numbers_and_no_text_of_the_row() -> None:
    good, bad, broken = fairmark.grade_many(
        SIMILAR,
        [
            {"item": {"reference": "secret"}, "sample": "secret"},
            {"item": {"reference": "secret"}, "sample": "other"},
            {"item": {}, "sample": "secret"},
        ],
    )
    assert attributes_of(good) == {
        "gen_ai.evaluation.name": "close",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
        "fairmark.grader.type": "text_similarity",
        "fairmark.grade.status": "graded",
    }
    assert attributes_of(bad)["gen_ai.evaluation.score.label"] == "fail"
    failed = attributes_of(broken)
    assert failed["error.type"] == "invalid_variable_error"
    assert "gen_ai.evaluation.score.label" not in failed
    assert "secret" not in str([attributes_of(result) for result in (good, bad, broken)])


def test_what_a_judge_took_is_told() -> None:
    judgements = tuple(Judgement("m", [], usage=Usage(10, 5, 15), attempts=1) for _ in range(2))
    told = attributes_of(Result(parse(SIMILAR), Grade(1.0, judgements=judgements), 0.0))
    assert told["gen_ai.request.model"] == "m"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (20, 10)
