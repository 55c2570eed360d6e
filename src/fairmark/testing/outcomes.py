"""How a check of a test ends where it was not passed."""

from typing import Any

import pytest

Failed: Any = pytest.fail.Exception  # pytest has no type for it


class Ungraded(Failed):  # type: ignore[misc]
    """Nothing can be said about the answer: a judge failed, a budget is spent, a grader or its rows are wrong.

    The test is an error then, and no failure: whoever reads the report looks for the answer's fault in vain. No
    `except Exception` of a test catches it.
    """

    # As pytest's own: reports show the bare name.
    __module__ = "builtins"


class Below(AssertionError):
    """An answer, or a file of them, is not as good as the test asks for."""

    __module__ = "builtins"
