import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark import metrics
from fairmark.metrics import rouge
from fairmark.metrics.rouge import rouge_1, rouge_2, rouge_5, rouge_l, scores
from tests.metrics.oracles import pairs, reference_rouge, thorough

Core = Callable[[str, str, int, int, bool], tuple[int, int, tuple[int, ...], int]]

BUILT = find_spec("fairmark.metrics._rouge") is not None
COMMAND = ".venv/bin/python -m pip install --no-deps --no-build-isolation -e ."
OVERLAPS = vars(rouge)["overlaps"]  # before the tests choose one
WARSAW = "According to wikipedia, Marie Curie was not born in Paris but in Warsaw."
BORN = "Marie Curie was born in Warsaw."


@pytest.fixture(params=["_rouge", "rouge_plain"], scope="module", autouse=True)
def core(request: pytest.FixtureRequest) -> Iterator[Core]:
    """Everything here is tested with the compiled core and with the plain one."""
    if request.param == "_rouge" and not BUILT:
        pytest.fail(f"ROUGE runs without its compiled core. Install gcc and Python's headers, then: {COMMAND}")
    overlaps: Core = import_module(f"fairmark.metrics.{request.param}").overlaps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rouge, "overlaps", overlaps)
        yield overlaps


# For what only the compiled core promises.
compiled = pytest.mark.parametrize("core", ["_rouge"], indirect=True)


@compiled
def test_the_compiled_core_is_used_where_fairmark_is_developed(core: Core) -> None:
    assert rouge.NATIVE
    assert core is OVERLAPS


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        (
            WARSAW,
            BORN,
            [0.631578947368421, 0.47058823529411764, 0.13333333333333333, 0.0, 0.0, 0.631578947368421],
        ),
        ("", "", [0.0] * 6),
        ("", BORN, [0.0] * 6),
        (BORN, "", [0.0] * 6),
        (" \t\n", " \t\n", [0.0] * 6),
        (" ", BORN, [0.0] * 6),
        ("?!...", "?!...", [0.0] * 6),
        ("東京", "東京", [0.0] * 6),
        ("The CAT", "the cat", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        ("a b c d e", "a b c d e", [1.0] * 6),
        ("a_b-c", "a b c", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
        ("a\0b\0", "a b", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        ("\u212a", "k", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),  # the Kelvin sign
        ("o\u212aay", "okay", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ("\u0130x", "i x", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),  # a dotted capital I, then a separator
        ("x\u0130\u0130", "xi i", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        ("café", "caf", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ("a a a", "a a", [0.8, 2 / 3, 0.0, 0.0, 0.0, 0.8]),
        ("\ud800a", "a", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ("a\udfffb\ud83d\ude00", "a b", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        ("\ud800", "\ud800", [0.0] * 6),
        ("12345678", "12345678 ", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ("123456789", "12345678 9", [0.0] * 6),
        ("1234567812345678", "12345678", [0.0] * 6),
        ("12345678x", "12345678y", [0.0] * 6),
    ],
)
def test_the_six_scores_have_these_values(text: str, reference: str, expected: list[float]) -> None:
    assert list(scores(text, reference).values()) == pytest.approx(expected, abs=1e-15)
    assert scores(text, reference) == reference_rouge(text, reference)


def test_the_published_score_is_met_to_the_last_bit() -> None:
    assert rouge_l(WARSAW, BORN) == 0.631578947368421


@thorough
@given(pairs())
def test_all_scores_are_those_of_the_reference_together_and_one_by_one(pair: tuple[str, str]) -> None:
    expected = reference_rouge(*pair)
    assert scores(*pair) == expected
    assert {name: metrics.load(name)(*pair) for name in expected} == expected


@thorough
@given(st.lists(st.sampled_from(["aab", "b,", "cd", "A-b"]), max_size=80).map(" ".join), st.data())
def test_text_that_repeats_itself_scores_as_in_the_reference(text: str, data: st.DataObject) -> None:
    start, stop = (data.draw(st.integers(0, len(text))) for _ in range(2))
    reference = text[start:] + " a b a " + text[:stop]
    assert scores(text, reference) == reference_rouge(text, reference)


# Tokens of 8 and 16 letters, and of one more and less: the compiled core reads 8 at a time.
LENGTHS = st.builds(
    lambda length, end: "a" * length + end, st.sampled_from([0, 6, 7, 8, 15, 16]), st.sampled_from("ab")
)


@thorough
@given(st.lists(LENGTHS, max_size=150).map(" ".join), st.lists(LENGTHS, max_size=150).map("\u3000".join))
def test_long_tokens_and_sequences_score_as_in_the_reference(text: str, reference: str) -> None:
    assert scores(text, reference) == reference_rouge(text, reference)


def test_long_texts_score_as_in_the_reference() -> None:
    # Longer than what is searched and than what is remembered, on both sides.
    text = " ".join(f"w{number * number % 1009}" for number in range(1500))
    reference = " ".join(f"w{number * number % 1013}" for number in range(1400))
    assert scores(text, reference) == reference_rouge(text, reference)
    assert scores(text[:500], reference) == reference_rouge(text[:500], reference)


def test_every_code_point_is_a_letter_or_separates_as_in_pythons_lower_case(core: Core) -> None:
    # Between letters and alone, in blocks. Both texts have the same tokens exactly when all of them are in common.
    for start in range(0, sys.maxunicode + 1, 4096):
        text = " ".join(f"a{chr(code)}b {chr(code)}" for code in range(start, start + 4096))
        tokens = re.findall("[a-z0-9]+", text.lower())
        assert core(text, " ".join(tokens), 1, 0, True) == (len(tokens), len(tokens), (), len(tokens))


@pytest.mark.parametrize("text", ["a" * 10_000_000, "." * 10_000_000, "a." * 500_000, "a b " * 20_000])
def test_megabytes_are_scored_in_seconds(text: str) -> None:
    assert rouge_1(text, text) in (0.0, 1.0)
    assert rouge_l(text, "a") >= 0
    assert rouge_2("a b", text) >= 0
    assert rouge_5("a b c d e", "a b c d e " * 2000) > 0


NUMBERS = [str(number) for number in range(150_000)]  # a megabyte, for the compiled core


def numbers(count: int) -> str:
    return " ".join(NUMBERS[:count])


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        (lambda n: "a " * 3 * n, lambda n: "a " * 2 * n, lambda n: (3 * n, 2 * n, tuple(2 * n - k for k in range(5)))),
        (numbers, lambda n: " ".join(reversed(NUMBERS[:n])), lambda n: (n, n, (n, 0, 0, 0, 0))),
        (numbers, numbers, lambda n: (n, n, tuple(n - k for k in range(5)))),
        (lambda n: "é" * 3 * n, lambda n: "é" * 3 * n, lambda n: (0, 0, (0, 0, 0, 0, 0))),
        (lambda n: "a" * 6 * n, lambda n: "a" * (6 * n - 1), lambda n: (1, 1, (0, 0, 0, 0, 0))),
    ],
    ids=["one token", "reversed", "all distinct", "no token", "one long token"],
)
def test_much_hostile_text_is_counted_right(
    text: Callable[[int], str],
    reference: Callable[[int], str],
    expected: Callable[[int], tuple[int, int, tuple[int, ...]]],
    core: Core,
) -> None:
    n = len(NUMBERS) if core is OVERLAPS else len(NUMBERS) // 5
    began = time.thread_time()
    assert core(text(n), reference(n), 1, 5, False) == (*expected(n), 0)
    assert time.thread_time() - began < 5


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("a " * 60_000, "a " * 50_000, 50_000),
        ("b " + "a " * 5_000 + "b", "a b " * 5_000 + "a", 5_001),
        (" ".join(NUMBERS[:20_000]), " ".join(reversed(NUMBERS[:20_000])), 1),
        (" ".join(NUMBERS[:20_000]), " ".join(["x", *NUMBERS[:20_000], "y"]), 20_000),
    ],
    ids=["one token", "repetition", "reversed", "unknown ends"],
)
def test_the_longest_sequence_of_long_texts_is_found(text: str, reference: str, expected: int, core: Core) -> None:
    assert core(text, reference, 1, 0, True)[2:] == ((), expected)
    assert core(reference, text, 1, 0, True)[2:] == ((), expected)


@pytest.mark.parametrize(
    ("shortest", "longest", "expected"),
    [(1, 0, ()), (1, 1, (4,)), (1, 3, (4, 2, 1)), (2, 3, (2, 1)), (3, 5, (1, 0, 0)), (5, 5, (0,)), (3, 2, ())],
)
def test_only_what_is_asked_for_is_counted(shortest: int, longest: int, expected: tuple[int, ...], core: Core) -> None:
    assert core("a b c x d", "d a b c y", shortest, longest, False) == (5, 5, expected, 0)
    assert core("a b c x d", "d a b c y", shortest, longest, True) == (5, 5, expected, 3)


@compiled
def test_a_signal_ends_a_long_search(core: Core) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        raise InterruptedError

    # Would take minutes: nothing at the ends is in common.
    text, reference = "a b " * 2_000_000 + "a", "b a " * 2_000_000 + "b"
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(InterruptedError):
            core(text, reference, 1, 0, True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@compiled
def test_the_compiled_core_refuses_what_it_cannot_take(core: Core) -> None:
    for shortest, longest in [(1, 6), (1, -1), (0, 5), (-1, 0)]:
        with pytest.raises(ValueError, match=f"runs of {shortest} to {longest} tokens"):
            core("a", "a", shortest, longest, True)
    with pytest.raises(TypeError, match="str"):
        core(b"a", "a", 1, 1, True)  # type: ignore[arg-type]
