import subprocess
import sys
from types import FunctionType

import pytest

from fairmark import metrics

NAMES = (
    "fuzzy_match",
    "bleu",
    "gleu",
    "meteor",
    "rouge_1",
    "rouge_2",
    "rouge_3",
    "rouge_4",
    "rouge_5",
    "rouge_l",
)


def test_the_metrics_are_these_in_this_order() -> None:
    assert metrics.METRICS == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_a_function_of_its_name_and_loads_by_it(name: str) -> None:
    metric = metrics.load(name)
    assert isinstance(metric, FunctionType)
    assert metric.__name__ == name
    assert getattr(metrics, name) is metric
    assert 0 <= metric("The cat sat.", "A cat sat down.") <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("text", "reference"), [("", ""), ("", "a"), ("a", "")])
def test_an_empty_text_scores_nothing_but_for_two_empty_ones_in_fuzzy_match(
    name: str, text: str, reference: str
) -> None:
    expected = 1.0 if (name, text, reference) == ("fuzzy_match", "", "") else 0.0
    score = metrics.load(name)(text, reference)
    assert score == expected
    assert type(score) is float


def test_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(KeyError, match="rouge_6"):
        metrics.load("rouge_6")
    with pytest.raises(AttributeError, match="rouge_6"):
        metrics.rouge_6  # noqa: B018


def test_nothing_heavy_is_loaded_before_a_metric_is_used() -> None:
    program = (
        "import sys, fairmark.metrics\n"
        "print([name for name in sys.modules if 'rapidfuzz' in name or name.startswith('fairmark.metrics.')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_hides_the_function_of_its_name() -> None:
    assert not set(metrics.MODULES) & set(metrics.MODULES.values())
