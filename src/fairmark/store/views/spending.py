"""What a project's runs have spent on models: calls, tokens and dollars, of each model."""

import msgspec
from sqlalchemy import select

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import runs
from fairmark.store.evals.counts import add_costs


class ModelSpending(msgspec.Struct):
    """One model's. Runs of old versions keep their tokens by model, but their dollars as one sum."""

    model: str
    runs: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    """Its own; None where it has no price."""
    shared_cost: float | None = None
    """Of old runs that asked others too: some of this is theirs."""


class SpentTotals(msgspec.Struct):
    """By all runs since a time."""

    models: dict[str, ModelSpending] = msgspec.field(default_factory=dict)
    runs: int = 0
    cost: float | None = None

    def add(self, usage: dict[str, list[int]], cost: float | None, costs: dict[str, float]) -> None:
        self.runs += 1
        self.cost = add_costs(self.cost, cost)
        for model, (calls, prompt, completion, total, cached) in usage.items():
            spending = self.models.setdefault(model, ModelSpending(model))
            spending.runs += 1
            spending.calls += calls
            spending.prompt_tokens += prompt
            spending.completion_tokens += completion
            spending.total_tokens += total
            spending.cached_tokens += cached
            if len(usage) == 1:
                spending.cost = add_costs(spending.cost, cost)
            elif costs:
                spending.cost = add_costs(spending.cost, costs.get(model))
            else:
                spending.shared_cost = add_costs(spending.shared_cost, cost)


class Spending:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def of(self, project: str, since: int) -> tuple[SpentTotals, SpentTotals]:
        """Of the runs created since then, and of all. Runs that asked no model are in neither, nor
        those that were made elsewhere."""
        lately, ever = SpentTotals(), SpentTotals()
        query = select(runs.c.usage, runs.c.cost, runs.c.costs, runs.c.created_at).where(
            runs.c.project == project,
            runs.c.usage != {},
            runs.c.imported.is_(None),
        )
        async with self._database.read() as connection:
            for usage, cost, costs, created_at in await connection.execute(query):
                ever.add(usage, cost, costs)
                if created_at >= since:
                    lately.add(usage, cost, costs)
        return lately, ever
