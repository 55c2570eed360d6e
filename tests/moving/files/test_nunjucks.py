"""promptfoo's templates: variables become ours, everything else is refused."""

from typing import Any

import pytest

from fairmark.moving.files import nunjucks


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("What is {{ city }}?", "What is {{item.city}}?"),
        ("{{a.b}} {{a[0]}} {{a['k l']}}", "{{item.a.b}} {{item.a[0]}} {{item.a['k l']}}"),
        ("no variable { here }", "no variable { here }"),
    ],
)
def test_variables_become_those_of_the_item(text: str, template: str) -> None:
    assert nunjucks.to_template(text) == template


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ city | upper }}", "is more than a variable"),
        ("{{ a + b }}", "is more than a variable"),
        ("{% if a %}x{% endif %}", "has logic or a comment in it"),
        ("{# no #}", "has logic or a comment in it"),
        ("{{ env.HOME }}", "is a variable of the environment"),
        ("{{- city -}}", "is more than a variable"),
        ("{{ city", "has logic or a comment in it"),
    ],
)
def test_what_is_more_than_a_variable_is_refused(text: str, why: str) -> None:
    with pytest.raises(nunjucks.NotATemplate) as caught:
        nunjucks.to_template(text)
    assert why in str(caught.value)


def test_values_are_filled_in_as_javascript_writes_them() -> None:
    values: dict[str, Any] = {"a": 1.0, "b": True, "c": {"d": ["x", "y"]}, "e": "{{a}}"}
    assert nunjucks.render("{{a}} {{b}} {{c.d[1]}} {{e}}", values) == "1 true y {{a}}"


@pytest.mark.parametrize(
    ("text", "why"),
    [("{{nothing}}", "there is no such variable"), ("{{c}}", "is an object, which JavaScript writes in its own way")],
)
def test_a_variable_that_is_missing_or_no_text_is_refused(text: str, why: str) -> None:
    with pytest.raises(nunjucks.NotATemplate) as caught:
        nunjucks.render(text, {"c": {}})
    assert why in str(caught.value)
