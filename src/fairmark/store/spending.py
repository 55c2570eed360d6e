"""What a project's runs have spent on models: calls, tokens and dollars, of each model."""

import msgspec
from sqlalchemy import select

from fairmark.store.counts import add_costs
from fairmark.store.database import Database, uninterrupted
from fairmark.store.tables import runs


class ModelSpending(msgspec.Struct):
    """One model's. A run keeps its tokens by model, but its dollars as one sum."""

    model: str
    runs: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    """Of the runs that asked no other model; None where it has no price."""
    shared_cost: float | None = None
    """Of the runs that asked others too: some of this is theirs."""


class SpentTotals(msgspec.Struct):
    """By all runs since a time."""

    models: dict[str, ModelSpending] = msgspec.field(default_factory=dict)
    runs: int = 0
    cost: float | None = None

    def add(self, usage: dict[str, list[int]], cost: float | None) -> None:
        self.runs += 1
        self.cost = add_costs(self.cost, cost)
        for model, (calls, prompt, completion, total, cached) in usage.items():
            found = self.models.setdefault(model, ModelSpending(model))
            found.runs += 1
            found.calls += calls
            found.prompt_tokens += prompt
            found.completion_tokens += completion
            found.total_tokens += total
            found.cached_tokens += cached
            if len(usage) == 1:
                found.cost = add_costs(found.cost, cost)
            else:
                found.shared_cost = add_costs(found.shared_cost, cost)


class Spending:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def of(self, project: str, since: int) -> tuple[SpentTotals, SpentTotals]:
        """Of the runs created since then, and of all. Runs that asked no model are in neither."""
        lately, ever = SpentTotals(), SpentTotals()
        query = select(runs.c.usage, runs.c.cost, runs.c.created_at).where(
            runs.c.project == project,
            runs.c.usage != {},
        )
        async with self._database.read() as connection:
            for usage, cost, created_at in await connection.execute(query):
                ever.add(usage, cost)
                if created_at >= since:
                    lately.add(usage, cost)
        return lately, ever
