"""How values look on a page."""

import re

import pytest

from fairmark.web.frame import show


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0%"), (1, "100%"), (0.5, "50.0%"), (0.99999, "99.9%"), (0.00001, "0.1%"), (2 / 3, "66.7%"), (None, "–")],
)
def test_all_and_nothing_are_said_only_where_it_is_so(share: float | None, words: str) -> None:
    assert show.percent(share) == words


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(None, "–"), (0, "$0.00"), (0.00001, "< $0.0001"), (0.0042, "$0.0042"), (0.01, "$0.01"), (1234.5, "$1,234.50")],
)
def test_money_has_as_many_digits_as_it_needs(dollars: float | None, words: str) -> None:
    assert show.money(dollars) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0.0421, "42 ms"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min"),
        (150, "2 min 30 s"),
        (3600, "1 h"),
        (7380, "2 h 3 min"),
    ],
)
def test_a_duration_is_in_the_units_that_people_say(seconds: float | None, words: str) -> None:
    assert show.duration(seconds) == words


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7200, "2 hours ago"),
        (86_400 * 29, "29 days ago"),
        (86_400 * 31, "14 Oct 2026"),
    ],
)
def test_a_time_is_how_long_ago_and_later_its_date(passed: int, words: str) -> None:
    now = 1_794_660_000  # 14 November 2026
    assert show.ago(now - passed, now) == words


def test_a_time_has_the_exact_one_behind_it() -> None:
    shown = show.time(1_794_660_000)
    assert 'datetime="2026-11-14T' in shown
    assert re.search(r'title="2026-11-14 \d\d:\d\d:\d\d UTC"', shown)
    assert show.time(None) == "–"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (250_000, "250 kB"), (3e12, "3,000 GB")]
)
def test_sizes_are_decimal(count: int, words: str) -> None:
    assert show.size(count) == words


@pytest.mark.parametrize(("value", "words"), [(1.0, "1"), (1 / 3, "0.3333"), (None, "–"), (float("nan"), "–")])
def test_a_reward_has_four_digits(value: float | None, words: str) -> None:
    assert show.reward(value) == words


def test_counts_have_their_noun() -> None:
    assert [show.plural(1, "run"), show.plural(2000, "run"), show.plural(0, "entry", "entries")] == [
        "1 run",
        "2,000 runs",
        "0 entries",
    ]


def test_json_is_indented_marked_and_escaped() -> None:
    shown = show.json({"<b>": ["</script>", 1.5, True, None, {}, []]})
    plain = re.sub(r"</?span[^>]*>", "", shown)
    assert plain.splitlines() == [
        "{",
        "  &#34;&lt;b&gt;&#34;: [",
        "    &#34;&lt;/script&gt;&#34;,",
        "    1.5,",
        "    true,",
        "    null,",
        "    {},",
        "    []",
        "  ]",
        "}",
    ]
    assert '<span class="j-text">' in shown


def test_json_as_deep_as_the_wire_takes_it_is_shown() -> None:
    value: object = 1
    for _ in range(200):
        value = [value]
    assert show.json(value).count("[") == 200


def test_a_tree_folds_what_is_deep_and_escapes_everything() -> None:
    tree = str(show.tree({"a": {"b": {"c": ["<b>", 1]}}, "d": []}))
    assert tree.count("<details open>") == 2
    assert tree.count("<details>") == 2
    assert "<b>" not in tree
    text = re.sub("<[^>]*>", "", tree)
    assert "&#34;c&#34;: [ 2 elements" in text
    assert "&#34;d&#34;: []" in text
