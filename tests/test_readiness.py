"""What a grader needs and this machine lacks: told by `validate`, and in the way of whoever is about to run it."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import ApiError
from fairmark.evals.criteria import load_criteria
from fairmark.evals.ready import check_ready
from fairmark.judges.retired import retirement
from fairmark.parse import parse
from fairmark.readiness import lacks, model_remarks

JUDGE: dict[str, Any] = {"type": "binary_judge", "model": "house", "criteria": "It is right."}
PYTHON = {"type": "python", "source": "import re\n{}\ndef grade(sample, item):\n    {}\n    return 1.0\n"}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it but what its fairmark.toml names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path / "home"))
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "FAIRMARK_MODEL_ALIASES"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "fairmark.toml").write_text(
        '[providers.vllm]\nbase_url = "http://127.0.0.1:9/v1"\n[models.house]\nprovider = "vllm"\n'
    )
    return tmp_path


def python(top: str = "", inside: str = "pass") -> dict[str, Any]:
    return {"type": "python", "source": PYTHON["source"].format(top, inside)}


def told(grader: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in lacks(parse(grader))]


def test_a_known_model_and_the_standard_library_lack_nothing() -> None:
    assert fairmark.validate(JUDGE).warnings == []
    assert told(JUDGE) == told(python("import json")) == []


@pytest.mark.parametrize(
    ("grader", "path"),
    [
        ({**JUDGE, "model": "huose"}, "$.model"),
        ({**JUDGE, "panel": ["vllm/other", "huose"]}, "$.panel[1]"),
        ({**JUDGE, "model": "local/nosuch"}, "$.model"),
        (
            {"type": "text_similarity", "evaluation_metric": "cosine", "input": "a", "reference": "b",
             "embedding_model": "huose"},
            "$.embedding_model",
        ),
        (
            {"type": "multi", "graders": {"judged": {**JUDGE, "model": "huose"}}, "calculate_output": "judged"},
            "$.graders.judged.model",
        ),
    ],
)  # fmt: skip
def test_an_unknown_model_is_a_warning_of_validation_and_stops_a_run(grader: dict[str, Any], path: str) -> None:
    checked = fairmark.validate(grader)
    assert checked.valid
    assert [warning.split(": ")[0] for warning in checked.warnings] == [path]
    assert told(grader) == [(path, "model_not_found")]


def test_a_mistyped_table_of_the_settings_is_told_where_a_model_is_named(machine: Path) -> None:
    (machine / "fairmark.toml").write_text('[modles.house]\nprovider = "vllm"\n')
    (warning,) = fairmark.validate(JUDGE).warnings
    assert warning.startswith("$.model: fairmark.toml: modles: unknown. Did you mean models? There are: home, ")
    assert told(JUDGE) == [("$.model", "model_not_found")]


def test_a_package_of_an_image_that_is_not_installed_is_told_with_the_command() -> None:
    (warning,) = fairmark.validate(python("from scipy import stats")).warnings
    assert warning.startswith("$.source: ")
    assert "scipy" in warning
    assert "fairmark sandbox install" in warning
    assert told(python("from scipy import stats")) == [("$.source", "image_not_installed")]


def test_an_import_that_may_never_be_reached_is_told_and_stops_nothing() -> None:
    grader = python(inside="if item.get('numbers'): import pandas")
    assert len(fairmark.validate(grader).warnings) == 1
    assert told(grader) == []


def test_a_retired_model_stops_a_run_from_the_day_on_which_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    for today, stops, words in (
        (date(2026, 10, 22), False, "OpenAI ends it on 2026-10-23"),
        (date(2026, 10, 23), True, "OpenAI ended it on 2026-10-23"),
    ):
        (remark,) = model_remarks("o3-mini-2025-01-31", today)
        assert (remark.problem.code, remark.stops) == ("model_retired", stops)
        assert words in remark.problem.message
        assert '[aliases] "o3-mini-2025-01-31" = "gpt-5.6-sol"' in remark.problem.message
    assert list(model_remarks("gpt-6-luna")) == []


def test_who_has_an_alias_or_another_server_for_a_retired_name_hears_nothing(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = date(2030, 1, 1)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert list(model_remarks("gpt-4", day)) == []
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with (machine / "fairmark.toml").open("a") as file:
        file.write('[aliases]\n"gpt-4" = "house"\n')
    assert list(model_remarks("gpt-4", day)) == []


def test_a_name_that_is_retired_and_unknown_is_told_as_both() -> None:
    (remark,) = model_remarks("gpt-4", date(2026, 11, 16))
    assert remark.stops
    assert 'unknown model "gpt-4"' in remark.problem.message
    assert "gpt-5.6-sol" in remark.problem.message


def test_a_fine_tune_ends_with_its_model() -> None:
    assert retirement("ft:gpt-4o-2024-08-06:acme::abc") == retirement("gpt-4o")
    assert retirement("ft:gpt-6-luna:acme::abc") is None


def criteria(*graders: dict[str, Any]) -> Any:
    return load_criteria([{"name": grader["type"], **grader, "id": str(index)} for index, grader in enumerate(graders)])


def test_a_run_is_refused_with_everything_that_its_criteria_lack() -> None:
    with pytest.raises(ApiError) as refused:
        check_ready(criteria(JUDGE, {**JUDGE, "model": "huose"}, python("import pandas")), None)
    assert (refused.value.status, refused.value.param) == (400, "testing_criteria[1].model")
    assert [problem["path"] for problem in refused.value.extra["problems"]] == [
        "testing_criteria[1].model",
        "testing_criteria[2].source",
    ]


def test_a_run_is_refused_where_the_model_that_is_to_answer_is_unknown() -> None:
    with pytest.raises(ApiError) as refused:
        check_ready(criteria(JUDGE), "huose")
    assert (refused.value.status, refused.value.param, refused.value.code) == (
        400, "data_source.model", "model_not_found",
    )  # fmt: skip
    check_ready(criteria(JUDGE), "house")
    check_ready(criteria({**JUDGE, "model": "huose"}), "huose", asks_models=False)
