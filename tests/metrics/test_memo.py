from fairmark.metrics.memo import Memo


def test_a_result_is_computed_once_while_it_is_remembered() -> None:
    seen: list[str] = []

    def length(text: str) -> int:
        seen.append(text)
        return len(text)

    memo = Memo(length, max_texts=2, max_length=3)
    assert [memo[text] for text in ("a", "bb", "a", "bb")] == [1, 2, 1, 2]
    assert seen == ["a", "bb"]


def test_a_full_memo_starts_again_and_never_holds_more_than_it_may() -> None:
    memo = Memo(len, max_texts=2, max_length=3)
    held = [(memo[text], len(memo)) for text in ("a", "bb", "ccc", "a")]
    assert held == [(1, 1), (2, 2), (3, 1), (1, 2)]


def test_a_long_text_is_answered_but_not_remembered() -> None:
    memo = Memo(len, max_texts=2, max_length=3)
    assert memo["dddd"] == 4
    assert len(memo) == 0
