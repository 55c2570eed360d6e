from fairmark.metrics.texts import TextMemo


def test_the_texts_held_never_come_to_more_than_the_limit() -> None:
    memo = TextMemo(len, max_texts=100, max_total=40)
    for number in range(200):
        text = f"{number:010}"
        assert memo[text] == 10
        assert sum(map(len, memo)) <= 40
    assert len(memo) > 1


def test_no_more_texts_are_held_than_allowed() -> None:
    memo = TextMemo(len, max_texts=3, max_total=1000)
    for number in range(20):
        assert memo[str(number)] == len(str(number))
        assert 1 <= len(memo) <= 3


def test_a_text_too_long_to_hold_is_answered_and_others_stay() -> None:
    memo = TextMemo(len, max_texts=3, max_total=40)
    assert memo["a"] == 1
    assert memo["b" * 20] == 20
    assert list(memo) == ["a"]
