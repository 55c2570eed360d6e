"""YAML is read as JSON's values, and what is built to hurt is refused with its line."""

import pytest

from fairmark.errors import InvalidData
from fairmark.moving.files import yamltext


def decoded(text: str) -> object:
    return yamltext.decode("x.yaml", text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes\nb: on\nc: No", {"a": "yes", "b": "on", "c": "No"}),  # bool in YAML 1.1 only
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: 010\nb: 0o17\nc: 0x1F\nd: -3", {"a": 10, "b": 15, "c": 31, "d": -3}),
        ("a: 2024-01-31\nb: 12:30:00", {"a": "2024-01-31", "b": "12:30:00"}),
        ("a: 1.5\nb: .5\nc: 1e3", {"a": 1.5, "b": 0.5, "c": 1000.0}),
        ("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("a: &x {k: v}\nb: {<<: *x, l: w}", {"a": {"k": "v"}, "b": {"k": "v", "l": "w"}}),
        ("- |\n  two\n  lines\n", ["two\nlines\n"]),
        ("", None),
    ],
)
def test_words_mean_what_they_do_in_yaml_1_2(text: str, value: object) -> None:
    assert decoded(text) == value


def laughs(levels: int) -> str:
    lists = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(["a0: &a0 [ha, ha]", *lists])


def merges(levels: int) -> str:
    maps = [f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}" for level in range(1, levels)]
    return "\n".join(["a0: &a0 {k: v}", *maps])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (laughs(12), "x.yaml, line 7: with its aliases it stands for more than 500,000 values."),
        (merges(60), "x.yaml, line 18: with its aliases it stands for more than 500,000 values."),
        ("a: &a [*a]", "x.yaml, line 1: it contains itself."),
        ("[" * 100_000, "x.yaml, line 1: it is nested deeper than 100 levels."),
        ("- " * 200 + "x", "x.yaml, line 1: it is nested deeper than 100 levels."),
        ("a: 1\nb: 2\na: 3", 'x.yaml, line 3: the key "a" is there twice.'),
        ("? [1]\n: 2", "x.yaml, line 1: a key has to be a text."),
        ("--- 1\n--- 2", "x.yaml: not YAML: line 2 column 1: but found another document."),
        ("a: 1e999", "x.yaml: it holds a number (inf), for which JSON has no value."),
        ("a: b: c", "x.yaml: not YAML: line 1 column 5: mapping values are not allowed in this context."),
    ],
)
def test_what_is_wrong_or_out_of_bounds_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidData) as caught:
        decoded(text)
    assert str(caught.value) == message


def test_no_tag_makes_anything_but_plain_values() -> None:
    with pytest.raises(InvalidData, match="could not determine a constructor"):
        decoded("!!python/object/apply:os.system ['true']")


def test_a_text_beyond_the_limits_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidData, match="At most 8,000,000 are read"):
        yamltext.decode("x.yaml", b"a" * 8_000_001)
    assert yamltext.MOST_VALUES == 500_000
    monkeypatch.setattr(yamltext, "MOST_VALUES", 5_000)  # which are read a hundred times as soon
    with pytest.raises(InvalidData, match="it holds more than 5,000 values"):
        decoded("- x\n" * 11_000)


def test_what_is_no_utf_8_is_told_with_its_byte() -> None:
    with pytest.raises(InvalidData, match="byte 4 is not UTF-8"):
        yamltext.decode("x.yaml", b"a: \xff")
