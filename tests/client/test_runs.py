"""Evals and runs of a server, over HTTP; tests/kept/test_found.py has a whole one."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from fairmark.client.runs import ServedRuns
from fairmark.work import eventloop


class Pages:
    """A server's lists, as Remote gives them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.removed: list[str] = []

    async def pages(self, path: str, query: dict[str, Any]) -> AsyncIterator[Sequence[dict[str, Any]]]:
        self.asked.append((path, query))
        for number in range(3):
            yield [{"id": f"{number}a"}, {"id": f"{number}b"}]

    async def remove(self, path: str) -> None:
        self.removed.append(path)


def test_no_more_pages_are_asked_for_than_are_wanted() -> None:
    served = ServedRuns(Pages())  # type: ignore[arg-type]
    assert [run["id"] for run in eventloop.run(served.runs("eval_1", 3))] == ["0a", "0b", "1a", "1b"]
    assert len(eventloop.run(served.runs("eval_1"))) == 6


def test_an_id_stays_one_part_of_a_path() -> None:
    pages = Pages()
    eventloop.run(ServedRuns(pages).delete("a/b", "c?d"))  # type: ignore[arg-type]
    assert pages.removed == ["evals/a%2Fb/runs/c%3Fd"]
