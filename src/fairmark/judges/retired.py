"""Models of OpenAI's that are gone or have a day on which they go: a table, and nothing that follows it by itself.

From OpenAI's deprecations page as of `AS_OF`. A replacement judges differently, so nobody gets one without having asked
for it: by an alias, or by another name in the grader.
"""

from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

from fairmark import jsontext

AS_OF = date(2026, 11, 1)


class Retirement(NamedTuple):
    """The day from which a model no longer answers, and what its maker names in its place."""

    gone: date
    replacement: str | None

    def words(self, model: str, today: date) -> str:
        """A sentence about it, with what to do."""
        when = f"OpenAI ended it on {self.gone}" if self.gone <= today else f"OpenAI ends it on {self.gone}"
        if self.replacement is None:
            return f'"{model}": {when}. Name another model.'
        return (
            f'"{model}": {when} and names {self.replacement} in its place. Name that one, or put an alias into '
            f'fairmark.toml: [aliases] "{model}" = "{self.replacement}". Its scores will differ.'
        )


_OCTOBER, _DECEMBER, _JANUARY = date(2026, 10, 23), date(2026, 12, 11), date(2027, 1, 14)

# Names of a group share day and replacement. The grader guide's o3-mini-2024-01-31 never existed and means o3-mini.
_GROUPS: tuple[tuple[date, str | None, str], ...] = (
    (
        _OCTOBER,
        "gpt-5.6-sol",
        "o1 o1-2024-12-17 o3-mini o3-mini-2025-01-31 o3-mini-2024-01-31 gpt-4 gpt-4-0613 gpt-4-turbo "
        "gpt-4-turbo-2024-04-09 gpt-4o-2024-05-13",
    ),
    (_OCTOBER, "gpt-5.6-terra", "o4-mini o4-mini-2025-04-16 gpt-3.5-turbo gpt-3.5-turbo-0125"),
    (_OCTOBER, "gpt-5.6-luna", "gpt-4.1-nano gpt-4.1-nano-2025-04-14"),
    (_DECEMBER, "gpt-5.6-sol", "o3 o3-2025-04-16 gpt-5 gpt-5-2025-08-07 gpt-5-pro o3-pro"),
    (_DECEMBER, "gpt-5.6-terra", "gpt-5-mini"),
    (_DECEMBER, "gpt-5.6-luna", "gpt-5-nano"),
    (
        _JANUARY,
        "gpt-6-luna",
        "gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini gpt-4o-mini-2024-07-18 gpt-4.1 gpt-4.1-2025-04-14 "
        "gpt-4.1-mini gpt-4.1-mini-2025-04-14",
    ),
    (date(2027, 4, 1), None, "gpt-5.1"),
)
RETIRED = {name: Retirement(gone, replacement) for gone, replacement, names in _GROUPS for name in names.split()}


def retirement(model: str) -> Retirement | None:
    """What is known of a model's end; a fine-tune (`ft:gpt-4o-2024-08-06:…`) ends with the model it was made of."""
    base = model.split(":")[1] if model.startswith("ft:") and model.count(":") > 1 else model
    return RETIRED.get(base)


def told_ends(models: Any) -> dict[str, date]:
    """What a provider's list of models (`GET /models`, decoded) says of their ends, without dates that are none."""
    listed = models.get("data") if isinstance(models, dict) else None
    ends: dict[str, date] = {}
    for model in listed if isinstance(listed, list) else []:
        name, day = (model.get("id"), model.get("shutdown_date")) if isinstance(model, dict) else (None, None)
        if isinstance(name, str) and isinstance(day, str):
            try:
                ends[name] = date.fromisoformat(day)
            except ValueError:
                continue
    return ends


def alias_lines(replacements: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of an `[aliases]` table for fairmark.toml, from (model, replacement). Names come from anywhere."""
    return [" = ".join(jsontext.encode(name).decode() for name in pair) for pair in replacements]
