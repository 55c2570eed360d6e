"""What is refused at every door alike."""

import pytest

from fairmark.errors import ApiError
from fairmark.evals.eval_calls import read_name
from fairmark.refusals import check_name


def test_a_name_of_256_characters_is_taken_and_a_longer_one_is_told_with_the_limit() -> None:
    assert read_name({"name": "é" * 256}) == "é" * 256
    check_name(None)
    with pytest.raises(ApiError) as refused:
        read_name({"name": "é" * 257})
    assert (refused.value.status, refused.value.param) == (400, "name")
    assert refused.value.message == "name: it has 257 characters. A name has at most 256."
