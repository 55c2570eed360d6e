"""The dashboard for Grafana asks for metrics and labels that there are."""

import json
import re
from pathlib import Path
from typing import Any

import fairmark.judges.client
import fairmark.sandbox.runners
import fairmark.work.crew
from fairmark.serving.limits import ProjectLimiter
from fairmark.serving.metrics import Metrics, by_status
from fairmark.store import Store
from fairmark.work.counts import Family, gauge

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "fairmark.json"
OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
COUNTING = (fairmark.judges.client, fairmark.sandbox.runners, fairmark.work.crew)
NAME = re.compile(r"\b(?:fairmark|process)_[a-z_]+")


async def told(store: Store) -> dict[str, Family]:
    """All that a server tells, by name."""
    queued = gauge("fairmark_rows_queued", "", {})  # as server/health.py does
    families = [*Metrics().families(), *await ProjectLimiter(store).families(), by_status("runs", {}), queued]
    return {family.name: family for family in families}


def expressions() -> list[str]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


async def test_every_query_asks_for_what_there_is(store: Store) -> None:
    families = await told(store)
    assert len(expressions()) > 15
    for expression in expressions():
        names = NAME.findall(expression)
        assert names, expression
        labels: set[str] = set()
        for name in names:
            family = families[name.removesuffix("_bucket")]
            assert name.endswith("_bucket") == (family.kind == "histogram"), expression
            assert ("rate(" in expression) == (family.kind != "gauge"), expression
            labels |= {*family.labels, "process"}
        asked = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
        asked |= set(re.findall(r"[{,](\w+)=", expression))
        assert asked <= labels, expression


async def test_every_counter_of_ours_has_a_place_on_the_dashboard_or_the_page(store: Store) -> None:
    page = OPERATING.read_text()
    assert [name for name in await told(store) if name.startswith("fairmark_") and f"`{name}`" not in page] == []


def test_panels_do_not_lie_on_one_another() -> None:
    places = [tuple(panel["gridPos"][side] for side in "xy") for panel in json.loads(DASHBOARD.read_text())["panels"]]
    assert len(set(places)) == len(places)
