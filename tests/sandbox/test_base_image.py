"""The image base, as the project's own set-up installs it: what examples import is there."""

import fairmark
from fairmark.sandbox.catalogue import BASE_TAG, KNOWN
from fairmark.sandbox.images import Images
from fairmark.settings import settings

# As OpenAI's page on graders has it, word by word.
FUZZY = """
from rapidfuzz import fuzz, utils

def grade(sample, item) -> float:
    output_text = sample["output_text"]
    reference_answer = item["reference_answer"]

    # Returns similarity ratio 0-100, convert to 0-1
    return fuzz.WRatio(
        output_text,
        reference_answer,
        processor=utils.default_process
    ) / 100.0
"""
USES_EACH = """
import ast, numpy, rapidfuzz, deepdiff, jsonschema, pydantic, yaml, nltk, sqlparse, sympy

class Answer(pydantic.BaseModel):
    total: int

def grade(sample, item):
    jsonschema.validate(item, {"type": "object", "required": ["total"]})
    assert not deepdiff.DeepDiff(yaml.safe_load(sample["output_text"]), Answer(**item).model_dump())
    assert sqlparse.format("select 1", keyword_case="upper") == "SELECT 1"
    assert nltk.edit_distance("ab", "ac") == 1
    assert sympy.sqrt(8) == 2 * sympy.sqrt(2)
    return numpy.float64(numpy.linalg.norm([3, 4]))
"""


def test_the_set_up_has_installed_it() -> None:
    place = Images(settings().data_folder).find(BASE_TAG)
    assert place is not None, "make setup installs it"


def test_the_documented_example_runs_out_of_the_box() -> None:
    result = fairmark.grade(
        {"type": "python", "source": FUZZY}, "The capital is Paris!", {"reference_answer": "the capital is paris"}
    )
    assert (result.reward, result.error) == (1.0, None)


def test_each_of_its_packages_works_inside_the_sandbox() -> None:
    result = fairmark.grade({"type": "python", "source": USES_EACH}, "total: 3", {"total": 3})
    assert (result.reward, result.error) == (5.0, None)
    assert all(f" {module}" in USES_EACH for module in KNOWN[BASE_TAG].modules)
