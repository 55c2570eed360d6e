"""What is wrong with a template is told when it is made, all of it together, and in which line."""

import pytest

from fairmark.errors import InvalidGrader
from fairmark.text.handlebars import Handlebars
from fairmark.text.handlebars.compiling import MOST_PROBLEMS


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{#if a}}", "line 1: {{#if a}}: this block is not closed."),
        ("a\nb\n{{#each a}}x", "line 3: {{#each a}}: this block is not closed."),
        ("{{#if a}}{{else if b}}", "line 1: {{#if a}}: this block is not closed."),
        ("{{#if a}}{{/each}}", "line 1: {{/each}}: this does not close {{#if a}} of line 1."),
        ("{{#if a}}{{#each b}}{{/if}}{{/each}}", "line 1: {{/if}}: this does not close {{#each b}} of line 1."),
        ("{{/if}}", "line 1: {{/if}}: nothing is open that this could close."),
        ("{{#if a}}{{/if b}}", "line 1: {{/if b}}: a closing tag holds the name of its block and nothing else."),
        ("{{else}}", "line 1: {{else}}: an else without a block that it belongs to."),
        ("{{#if a}}{{else}}{{else}}{{/if}}", "line 1: {{else}}: an else without a block that it belongs to."),
        ("{{a", "line 1: {{a: not closed."),
        ("{{{a}}", "line 1: {{{a}}}: not closed."),
        ("{{", "line 1: {{: not closed."),
        ("{{}}", "line 1: {{}}: there is nothing between the braces."),
        ("{{#}}{{/if}}", "line 1: {{#}}: a block without a name. Use one of: if, unless, each, with."),
        ("{{! a", "line 1: {{! a: this comment is not closed."),
        ("{{!-- a }}", "line 1: {{!-- a }}: this comment is not closed."),
        ("{{#if}}{{/if}}", "line 1: {{#if}}: if takes one argument, found 0."),
        ("{{#each a b}}{{/each}}", "line 1: {{#each a b}}: each takes one argument, found 2."),
        ("{{#each a b=1}}{{/each}}", 'line 1: {{#each a b=1}}: unknown option "b" of each.'),
        ("{{shout a}}", 'line 1: {{shout a}}: unknown helper "shout". Use lookup; blocks: if, unless, each, with.'),
        ("{{#repeat 3}}{{/repeat}}",
         'line 1: {{#repeat 3}}: unknown helper "repeat". Use one of: if, unless, each, with.'),
        ('{{log "a"}}', 'line 1: {{log "a"}}: unknown helper "log". Use lookup; blocks: if, unless, each, with.'),
        ("{{#if (eq a b)}}{{/if}}",
         'line 1: {{#if (eq a b)}}: unknown helper "eq". Use lookup; blocks: if, unless, each, with.'),
        ("{{if a}}", "line 1: {{if a}}: if begins a block: {{#if …}} … {{/if}}."),
        ("{{lookup a}}", "line 1: {{lookup a}}: lookup takes two arguments, an object or a list and a key."),
        ("{{lookup}}", "line 1: {{lookup}}: lookup takes two arguments, an object or a list and a key."),
        ("{{#if (lookup a b}}{{/if}}", "line 1: {{#if (lookup a b}}: not closed."),
        ("{{a)}}", "line 1: {{a)}}: a closing parenthesis without an opening one."),
        ("{{a %}}", 'line 1: {{a %}}: cannot read "%}}".'),
        ("{{a..b}}", 'line 1: {{a..b}}: "a..b" is not a path.'),
        ("{{a/../b}}", 'line 1: {{a/../b}}: "a/../b" is not a path.'),
        ("{{a.}}", 'line 1: {{a.}}: "a." is not a path.'),
        ("{{@}}", 'line 1: {{@}}: cannot read "@}}".'),
        ("{{@this}}", 'line 1: {{@this}}: "@this" is not a path.'),
        ('{{a "b}}', 'line 1: {{a "b}}: cannot read "\\"b}}".'),
        ("{{> partial}}", "line 1: {{> partial}}: partials are not supported."),
        ("{{#> partial}}{{/partial}}", "line 1: {{#> partial}}: partials are not supported."),
        ('{{#*inline "a"}}{{/inline}}', 'line 1: {{#*inline "a"}}: decorators are not supported.'),
        ("{{* a}}", "line 1: {{* a}}: decorators are not supported."),
        ("{{{{raw}}}}{{{{/raw}}}}",
         "line 1: {{{{raw}}}: raw blocks are not supported. Braces that are text are written \\{{."),
        ("{{#if a as |b|}}{{/if}}",
         "line 1: {{#if a as |b|}}: if gives nothing a name: as |…| stands with each and with."),
        ("{{a as |b|}}", "line 1: {{a as |b|}}: as |…| stands in a tag that begins a block."),
        ("{{#each a as |b c d|}}{{/each}}",
         "line 1: {{#each a as |b c d|}}: as |…| gives two names at most, to the element and to its key."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_template_is_told_when_it_is_made(template: str, problem: str) -> None:
    with pytest.raises(InvalidGrader) as caught:
        Handlebars(template)
    assert [each.message for each in caught.value.problems] == [problem]


def test_all_unknown_helpers_are_told_together_but_not_thousands() -> None:
    with pytest.raises(InvalidGrader) as caught:
        Handlebars("{{a b}}\n{{c d}}\n{{#if}}{{/if}}")
    assert [problem.message[:7] for problem in caught.value.problems] == ["line 1:", "line 2:", "line 3:"]
    with pytest.raises(InvalidGrader) as caught:
        Handlebars("{{a b}}" * 5000)
    assert len(caught.value.problems) == MOST_PROBLEMS


def test_a_helper_cannot_be_brought_along_by_the_data() -> None:
    with pytest.raises(InvalidGrader):
        Handlebars("{{shout text}}")
    assert Handlebars("{{lookup object 'lookup'}}{{object.if}}").render({"object": {"lookup": 1, "if": 2}}) == "12"


def test_a_template_has_64_kib_at_most() -> None:
    assert Handlebars("ä" * 32_768).render({}) == "ä" * 32_768
    with pytest.raises(InvalidGrader, match="longer than 64 KiB"):
        Handlebars("ä" * 32_768 + "x")


def test_blocks_nest_100_levels_deep_at_most() -> None:
    assert Handlebars("{{#if a}}" * 100 + "x" + "{{/if}}" * 100).render({"a": 1}) == "x"
    for template in (
        "{{#if a}}" * 101 + "{{/if}}" * 101,
        "{{#if a}}" + "{{else if a}}" * 100 + "{{/if}}",
        "{{#if a}}" * 5000,
    ):
        with pytest.raises(InvalidGrader, match="blocks are nested deeper than 100 levels"):
            Handlebars(template)
    with pytest.raises(InvalidGrader, match="parentheses are nested deeper than 100 levels"):
        Handlebars("{{lookup " + "(" * 20_000)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{{a}} {{{b.c}}} {{#if d}}{{e}}{{/if}}", {"a", "b", "d", "e"}),
        ("{{#each a}}{{b}}{{../c}}{{@root.d}}{{else}}{{e}}{{/each}}", {"a", "c", "d", "e"}),
        ("{{#each a as |x|}}{{x}}{{/each}}{{#with b}}{{c}}{{/with}}", {"a", "b"}),
        ("{{#a}}{{b}}{{/a}}{{lookup c d}}{{this.e}}{{@index}}", {"a", "c", "d", "e"}),
    ],
)
def test_the_variables_of_a_template_are_known(template: str, names: set[str]) -> None:
    assert Handlebars(template).names == names
