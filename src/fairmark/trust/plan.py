"""What a check will ask, before it does: calls, tokens, dollars, and what is left out when that is too much."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fairmark.errors import FairmarkError, InvalidData
from fairmark.judgement import Usage
from fairmark.row import chars
from fairmark.spec import GraderSpec
from fairmark.trust.asking import Ask
from fairmark.trust.outcome import Probed
from fairmark.trust.probes import PROBES, NotApplicable
from fairmark.trust.sheet import FEW_ROWS, Sheet

CHARS_A_TOKEN = 3.8
TOKENS_AN_ANSWER = 150
"""What judges write, about: reasons and a verdict."""


@dataclass(frozen=True)
class CheckLimits:
    """What a check may take; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True)
class Planned:
    """One probe of the plan. `calls` are those that no probe before it makes already."""

    name: str
    asks: Sequence[Ask] = ()
    calls: int = 0
    tokens: int = 0
    dollars: float | None = None
    left_out: Probed | None = None
    """Where it asks nothing: why."""


@dataclass(frozen=True)
class CheckPlan:
    probes: Sequence[Planned]
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def calls(self) -> int:
        return sum(probe.calls for probe in self.probes)

    @property
    def tokens(self) -> int:
        return sum(probe.tokens for probe in self.probes)

    @property
    def dollars(self) -> float | None:
        """None where a model has no price."""
        known = [probe.dollars for probe in self.probes if probe.calls]
        return None if any(dollars is None for dollars in known) else sum(dollars or 0.0 for dollars in known)

    @property
    def asks(self) -> list[Ask]:
        return [ask for probe in self.probes for ask in probe.asks]


def make_plan(sheet: Sheet, chosen: Collection[str] | None, limits: CheckLimits) -> CheckPlan:
    """All probes that were chosen and fit the grader and the rows, within the limits. Raises InvalidData for a probe
    that nobody knows, and where not even the rows as they are may be asked about."""
    for name in chosen or ():
        if name not in PROBES:
            raise InvalidData(f"there is no probe {name!r}. Use: {', '.join(PROBES)}.")
    price = _Price(sheet)
    seen: set[str] = set()
    planned: list[Planned] = []
    for name in PROBES:
        if chosen is not None and name != "base" and name not in chosen:
            planned.append(Planned(name, left_out=Probed(name, "not chosen", why="not chosen")))
            continue
        planned.append(_planned(sheet, name, price, seen))
    return _within(CheckPlan(planned), limits)


def _planned(sheet: Sheet, name: str, price: "_Price", seen: set[str]) -> Planned:
    probe = PROBES[name]
    if probe.is_free:
        return Planned(name)
    try:
        asks = list(probe.asks(sheet))
    except NotApplicable as reason:
        return Planned(name, left_out=Probed(name, "not applicable", why=str(reason)))
    rows = len({ask.row for ask in asks})
    if name == "injection" and not rows and not any(row.ratings for row in sheet.rows):
        # Which rows are bad ones is known once the grader has judged them.
        asks, rows = [], min(FEW_ROWS, len(sheet.probed))
        questions = 14 if sheet.subject.has_guard is False else 8
        calls = questions * rows * price.questions
        tokens = calls * price.typical
        if rows >= probe.least_rows:
            return Planned(name, asks, calls, tokens, price.dollars(tokens, calls))
    if rows < probe.least_rows:
        words = "rows that were judged badly" if name == "injection" else "rows for it"
        why = f"there are {rows} {words}; it takes {probe.least_rows}"
        return Planned(name, left_out=Probed(name, "not enough rows", why=why))
    unique = {ask.key: ask for ask in asks if ask.key not in seen}
    seen.update(unique)
    calls = len(unique) * price.questions
    tokens = sum(price.tokens(ask) for ask in unique.values())
    return Planned(name, asks, calls, tokens, price.dollars(tokens, calls))


def _within(plan: CheckPlan, limits: CheckLimits) -> CheckPlan:
    """Whole probes are dropped from the end until the rest fits."""
    probes = list(plan.probes)
    notes: list[str] = []
    while (short := _beyond(CheckPlan(probes), limits)) is not None:
        costly = [place for place, probe in enumerate(probes) if probe.calls and probe.name != "base"]
        if not costly:
            raise InvalidData(f"the labelled rows alone take {short}. Allow more, or give fewer rows.")
        last = probes[costly[-1]]
        probes[costly[-1]] = Planned(last.name, left_out=Probed(last.name, "dropped", why=f"the whole takes {short}"))
        notes.append(f"{last.name} is left out: the whole takes {short}")
    return CheckPlan(probes, notes)


def _beyond(plan: CheckPlan, limits: CheckLimits) -> str | None:
    if limits.calls is not None and plan.calls > limits.calls:
        return f"{plan.calls:,} calls, and {limits.calls:,} are allowed"
    if limits.tokens is not None and plan.tokens > limits.tokens:
        return f"about {plan.tokens:,} tokens, and {limits.tokens:,} are allowed"
    if limits.dollars is not None and plan.dollars is not None and plan.dollars > limits.dollars:
        return f"about ${plan.dollars:.2f}, and ${limits.dollars:.2f} are allowed"
    return None


class _Price:
    """What questions take, about: by the length of what is sent, and the prices of the models."""

    def __init__(self, sheet: Sheet) -> None:
        self.questions = questions_a_row(sheet.subject.spec)
        self._own = len(sheet.subject.criteria)
        self._models = sheet.subject.models
        sizes = [chars(row.item) + len(sheet.texts[index] or "") for index, row in enumerate(sheet.rows)]
        self.typical = self._of(sum(sizes) / len(sizes))

    def tokens(self, ask: Ask) -> int:
        size = chars(ask.item) + (chars(ask.sample) if ask.sample is not None else 0)
        return self.questions * self._of(size)

    def _of(self, size: float) -> int:
        return tokens_of(self._own + size)

    def dollars(self, tokens: int, calls: int) -> float | None:
        return dollars_of(self._models, tokens, calls)


def tokens_of(size: float) -> int:
    """Of a question of so many characters and its answer, about."""
    return round(size / CHARS_A_TOKEN) + TOKENS_AN_ANSWER


def dollars_of(models: Sequence[str], tokens: int, calls: int) -> float | None:
    """What so many calls of so many tokens in all cost, about; None where a model has no price."""
    from fairmark.judges.models import read_registry

    costs = []
    for name in models:
        try:
            model = read_registry().resolve(name)
        except FairmarkError:
            return None
        written = calls * TOKENS_AN_ANSWER
        cost = model.cost(Usage(max(0, tokens - written), written, tokens))
        costs.append(0.0 if cost is None and model.provider.kind == "local" else cost)
    if any(cost is None for cost in costs):
        return None
    return sum(cost or 0.0 for cost in costs) / max(1, len(costs))


def questions_a_row(spec: GraderSpec) -> int:
    """How many questions to models a row is, about: those that ask in several steps ask more."""
    inside = sum(questions_a_row(child) for child in spec.children.values())
    own = len(spec.models) * getattr(spec, "n", 1) if spec.models else 0
    return max(1, own + inside) if not spec.children else own + inside
