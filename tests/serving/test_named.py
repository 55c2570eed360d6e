"""What the path of a request names, in its own project and in no other."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.serving.named import named_eval, named_run
from fairmark.store import Store
from tests.store.conftest import new_run


def in_store(home: Path, ask: Callable[[Store], Awaitable[Any]]) -> Any:
    async def opened() -> Any:
        store = await Store.open(None, home)
        try:
            return await ask(store)
        finally:
            await store.close()

    return asyncio.run(opened())


def request(store: Store, project: str, **named: str) -> Request:
    return Request(
        {"type": "http", "headers": [], "fairmark": SimpleNamespace(store=store), "project": project,
         "path_params": named}
    )  # fmt: skip


def test_an_eval_and_a_run_are_found_by_their_ids(tmp_path: Path) -> None:
    async def ask(store: Store) -> None:
        run = await new_run(store)
        named = {"eval_id": run.eval_id, "run_id": run.id}
        assert (await named_eval(request(store, "default", **named))).id == run.eval_id
        assert (await named_run(request(store, "default", **named))).data_source == b'{"type": "jsonl"}'
        assert (await named_run(request(store, "default", **named), with_source=False)).id == run.id

    in_store(tmp_path, ask)


@pytest.mark.parametrize("project", ["default", "other"])
def test_what_a_project_does_not_have_is_not_found(tmp_path: Path, project: str) -> None:
    async def ask(store: Store) -> None:
        run = await new_run(store, project="elsewhere")
        for find in (named_eval, named_run):
            with pytest.raises(ApiError) as refused:
                await find(request(store, project, eval_id=run.eval_id, run_id=run.id))
            assert refused.value.status == 404

    in_store(tmp_path, ask)
