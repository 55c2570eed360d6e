"""Azure's grader classes by name and arguments."""

import pytest

import fairmark
from fairmark import evaluation


def test_azures_classes_tell_what_is_wrong_where_they_are_made() -> None:
    with pytest.raises(fairmark.InvalidGrader, match='unknown operation "contains"'):
        evaluation.AzureOpenAIStringCheckGrader(name="n", input="a", operation="contains", reference="b")
    with pytest.raises(TypeError, match="AzureOpenAIPythonGrader: missing arguments: pass_threshold, source"):
        evaluation.AzureOpenAIPythonGrader(name="n", model_config={})
    with pytest.raises(ValueError, match=r"found 1\.5\. It must lie between 0 and 1"):
        evaluation.AzureOpenAIPythonGrader(name="n", pass_threshold=1.5, source="def grade(sample, item): return 1")
