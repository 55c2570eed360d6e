"""How far it is from a request to its grade."""

import asyncio

from scripts.walk import BODIES, walk_a_grade, walk_a_request

MOST_FILES = 10
"""On the way of a request that the server knows already. Fewer are welcome; then this number goes down."""


def test_a_request_for_a_grade_enters_few_files() -> None:
    walk = asyncio.run(walk_a_request(*BODIES["run"], first=False))
    assert walk.stays[0].file == "server/gate.py"
    assert "graders/string_check.py" in walk.files
    assert len(walk.files) <= MOST_FILES, "\n".join(walk.files)


def test_the_library_takes_the_same_road_without_the_server() -> None:
    files = asyncio.run(walk_a_grade(first=False)).files
    assert files[0] == "run.py"
    assert "graders/string_check.py" in files
    assert not [file for file in files if file.startswith(("server/", "serving/", "store/"))]


def test_a_coroutine_that_waits_is_entered_once() -> None:
    walk = asyncio.run(walk_a_request(*BODIES["run"], first=True))
    entered = [name for stay in walk.stays for name in stay.functions]
    assert entered.count("Gate.__call__") == 1
    assert entered.count("Access.visitor") == 1
