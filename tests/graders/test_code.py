"""What the outcome of a user's code means: a grade, or a failure with what to do about it."""

import pytest

from fairmark.graders import code
from fairmark.sandbox.base import Outcome, Policy, Program
from fairmark.sandbox.catalogue import DEFAULT_TAG

NO_SKLEARN = (
    "scikit-learn is in the image 2025-05-08, which is not installed or lacks it. Run: fairmark sandbox install --all"
)

NO_YAML = "pyyaml is in the image base, which is not installed or lacks it. Run: fairmark sandbox install"


def error_of(details: str, image: str | None = DEFAULT_TAG) -> str | None:
    """What a grader that failed like this tells."""
    program = Program("", "python", Policy().python, strict=False, image=image)
    grade = code.grade_of(Outcome(failure="error", details=details), program)
    assert grade.flags["python_grader_runtime_error_details"] == grade.error
    return grade.error


@pytest.mark.parametrize(
    ("module", "image", "told"),
    [
        ("sklearn", DEFAULT_TAG, f"\n{NO_SKLEARN}"),
        ("yaml", DEFAULT_TAG, f"\n{NO_YAML}"),  # the smaller image is enough
        ("sklearn.nonsense", DEFAULT_TAG, ""),  # it is there, and has no such part
        ("torch", DEFAULT_TAG, ""),  # installing the image would not help
        ("sklearn", None, ""),  # function graders have no image
    ],
)
def test_a_missing_module_of_the_image_names_the_command(module: str, image: str | None, told: str) -> None:
    error = f"ModuleNotFoundError: No module named '{module}'"
    assert error_of(error, image) == error + told


def test_missing_data_of_nltk_names_the_command() -> None:
    error = "LookupError: \n***\n  Resource punkt_tab not found.\n  >>> nltk.download('punkt_tab')\n***"
    assert error_of(error) == (
        f"{error}\nThe image 2025-05-08 has the data of nltk. Run: fairmark sandbox install --all"
    )
