"""Several servers on one PostgreSQL and one Ray cluster, of which something is killed again and again."""

from pathlib import Path

import pytest

from tests.cluster.test_on_ray import in_the_environment
from tests.postgres import Postgres
from tests.store.conftest import MIGRATED, postgres

__all__ = ["postgres"]

pytestmark = pytest.mark.thorough


def test_three_servers_lose_no_row_and_grade_none_twice_though_all_is_killed(
    tmp_path: Path, postgres: Postgres
) -> None:
    """The longer loop is in bench/ray.py."""
    database = postgres.new_database(MIGRATED)
    seen = in_the_environment(tmp_path, "bench.ray_servers", database, "240", "4")
    assert seen["kills"] == {"server": 1, "actor": 1, "node": 1, "process": 1}
    assert (seen["ended"], seen["statuses"], seen["reasons"]) == (True, {"completed": 6}, {})
    assert (seen["right"], seen["wrong"], seen["twice"], seen["miscounted"]) == (240, 0, 0, 0)
    a_minute, at_once = seen["limits"]
    judge = seen["judge"]
    assert 240 <= judge["asked"] <= 240 + 4 * 2 * 2 * 16, "what was under way at a server's actors is asked again"
    assert judge["busiest_minute"] <= a_minute
    assert judge["most_at_once"] <= 2 * at_once, "the judge goes on with what killed actors asked, and counts it"
    assert (seen["left_behind"], seen["tracebacks"]) == ([], 0)
