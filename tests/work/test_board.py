"""Numbers that processes share: each writes its own, everybody reads all, and a dead one's are cleared."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from fairmark.work import board as boards
from fairmark.work.board import Board


@pytest.fixture
def boards_of_three() -> Iterator[list[Board]]:
    made = Board.make(3)
    yield [Board(made.fileno, 3, row) for row in range(3)]
    made.close()


def test_each_process_adds_to_its_own_and_sees_the_others(boards_of_three: list[Board]) -> None:
    first, second, third = (board.column("a name") for board in boards_of_three)
    assert first is not None
    assert second is not None
    assert third is not None
    first.add(2)
    second.add(0.5)
    second.add(1)
    assert [column.own for column in (first, second, third)] == [2, 1.5, 0]
    assert first.others == [1.5, 0]
    assert third.others == [2, 1.5]
    assert {column.total for column in (first, second, third)} == {3.5}
    other = boards_of_three[0].column("another name")
    assert other is not None
    assert other.total == 0


def test_a_row_is_cleared_and_the_others_stay(boards_of_three: list[Board]) -> None:
    for board in boards_of_three:
        for name in ("a", "b"):
            column = board.column(name)
            assert column is not None
            column.add(1)
    boards_of_three[0].clear(1)
    column = boards_of_three[0].column("b")
    assert column is not None
    assert column.others == [0, 1]
    assert column.own == 1


def test_more_names_than_there_is_room_for_are_counted_by_each_for_itself(
    boards_of_three: list[Board],
) -> None:
    columns = [boards_of_three[0].column(str(number)) for number in range(boards.COLUMNS + 1)]
    assert columns.count(None) == 1
    assert columns[-1] is None
    assert boards_of_three[1].column("17") is not None


ADD = """
import sys
from fairmark.work.board import Board
board = Board(int(sys.argv[1]), 3, int(sys.argv[2]))
column = board.column("taken")
for _ in range(2000):
    with board.locked():
        if column.total < 3000:
            column.add(1)
"""


def test_who_looks_and_takes_under_the_lock_never_takes_too_much() -> None:
    board = Board.make(3)
    try:
        adding = [
            subprocess.Popen([sys.executable, "-c", ADD, str(board.fileno), str(row)], pass_fds=[board.fileno])
            for row in range(3)
        ]
        assert [process.wait(60) for process in adding] == [0, 0, 0]
        column = Board(board.fileno, 3, 0).column("taken")
        assert column is not None
        assert column.total == 3000
    finally:
        board.close()
