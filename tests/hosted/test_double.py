"""The double itself: it pages as the hosted service does, and fails as it is told to."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.hosted import Faults, Hosted, Size, World, hosting


def read(hosted: Hosted, path: str) -> Any:
    request = urllib.request.Request(hosted.base_url + path, headers={"Authorization": f"Bearer {hosted.key}"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.loads(answer.read())


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_a_list_is_paged_to_its_end_once(order: str, limit: int) -> None:
    with hosting(World(Size(items=30))) as hosted:
        eval_id = hosted.world.evals[0].id
        run_id = hosted.world.runs[eval_id][0].id
        path, ids, after = f"/evals/{eval_id}/runs/{run_id}/output_items", [], ""
        while True:
            page = read(hosted, f"{path}?limit={limit}&order={order}{after}")
            ids += [item["id"] for item in page["data"]]
            if not page["has_more"]:
                break
            after = f"&after={ids[-1]}"
    expected = [hosted.world.item_id(run_id, index) for index in range(30)]
    assert ids == (expected if order == "asc" else expected[::-1])
    assert hosted.kinds() == {"output_items": -(-30 // limit)}


def test_two_doubles_of_a_seed_say_the_same() -> None:
    said = []
    for _ in range(2):
        with hosting(World(seed=5)) as hosted:
            said.append([read(hosted, "/evals"), read(hosted, "/files"), read(hosted, "/fine_tuning/jobs")])
    assert said[0] == said[1]


def test_a_fault_is_met_by_every_so_many_th_request() -> None:
    with hosting(faults=Faults(too_many_every=2)) as hosted:
        read(hosted, "/models")
        with pytest.raises(urllib.error.HTTPError) as refused:
            read(hosted, "/models")
        assert refused.value.code == 429
        assert refused.value.headers["retry-after-ms"] == "5"
        refused.value.close()
