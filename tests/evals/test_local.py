"""Runs of fairmark eval are local ones: neither imported, nor a server's own."""

from pathlib import Path

import pytest

from fairmark.errors import ApiError
from fairmark.evals.eval_calls import find_eval
from fairmark.evals.journals import take_in
from fairmark.evals.local import is_local, local_words
from fairmark.evals.reopen import retry_errors
from fairmark.evals.run_calls import run_wire
from fairmark.store import Store
from tests.evals.test_journals import keep, the_run
from tests.evals.working import working


def test_only_the_mark_of_an_eval_is_a_local_one() -> None:
    assert is_local({"source": "fairmark eval", "at": 0})
    assert not is_local({"source": "openai", "at": 0})
    assert not is_local(None)


def test_who_made_it_is_told_where_somebody_knows() -> None:
    mark = {"source": "fairmark eval", "at": 1_794_660_000}
    told = "From the command line: fairmark eval"
    assert local_words(mark) == f"{told}, 2026-11-14T12:40:00Z"
    assert local_words({**mark, "by": "ada@desk"}) == f"{told}, by ada@desk, 2026-11-14T12:40:00Z"


async def test_the_api_says_local_and_not_imported(store: Store, tmp_path: Path) -> None:
    keep(tmp_path, by="ada@desk")
    await take_in(store, tmp_path, "")
    wire = run_wire(await the_run(store), "")
    assert wire["local"] == {"source": "fairmark eval", "by": "ada@desk", "at": 1_700_000_000}
    assert "imported" not in wire


async def test_a_server_does_not_go_on_with_one_and_says_who_does(store: Store, tmp_path: Path) -> None:
    keep(tmp_path)
    await take_in(store, tmp_path, "")
    run = await the_run(store)
    async with working(store) as engine:
        with pytest.raises(ApiError, match=r"made by fairmark eval, which goes on with it: .* --resume") as refused:
            await retry_errors(store, engine, await find_eval(store, "default", run.eval_id), run)
    assert refused.value.code == "run_local"
