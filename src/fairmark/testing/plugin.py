"""The pytest plugin: options, the fixture `fairmark`, the marker `fairmark`, and what reports say.

pytest imports this wherever Fairmark is installed, for every test run of whatever project. So nothing of Fairmark is
imported before a test asks for a grade.
"""

import math
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from fairmark.testing.outcomes import Below, Failed, Ungraded

if TYPE_CHECKING:
    from fairmark.judges.base import Judge
    from fairmark.testing.checks import PytestChecks, Session

NAME = "fairmark"
JUDGE = "fairmark_judge"
GRADING = "grading"
"""The phase of a test in which it could not be graded, beside pytest's setup, call and teardown: an error there."""
CACHES = ("on", "off", "read_only", "refresh")
CACHE_VARIABLE = "FAIRMARK_JUDGE_CACHE"
_SESSION = pytest.StashKey["Session"]()
_CACHE_BEFORE = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(NAME, "grades of language models")
    options = (
        ("budget-tokens", "N", "Tokens that judges may take in this test run; tests beyond it are errors."),
        ("budget-dollars", "X", "Dollars that judges may cost in this test run; tests beyond it are errors."),
        ("cache", "MODE", f"The cache of judges' answers: {', '.join(CACHES)}."),
    )
    for name, metavar, words in options:
        group.addoption(f"--fairmark-{name}", metavar=metavar, help=words)
        parser.addini(f"fairmark_{name.replace('-', '_')}", words)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fairmark(data, graders, pass_rate=1.0, …): grade every row of a file first; the share that passes has to be "
        "at least pass_rate.",
    )
    cache = _option(config, "cache")
    if cache:
        if cache not in CACHES:
            raise pytest.UsageError(f"--fairmark-cache: found {cache!r}. Use one of: {', '.join(CACHES)}.")
        config.stash[_CACHE_BEFORE] = os.environ.get(CACHE_VARIABLE)
        os.environ[CACHE_VARIABLE] = cache
    _budget(config)  # what is wrong with it is told before any test runs


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE_BEFORE in config.stash:
        before = config.stash[_CACHE_BEFORE]
        if before is None:
            os.environ.pop(CACHE_VARIABLE, None)
        else:
            os.environ[CACHE_VARIABLE] = before


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test is graded with the judge that its own folder or class may have chosen."""
    names = getattr(item, "fixturenames", None)
    if names is not None and JUDGE not in names and item.get_closest_marker(NAME) is not None:
        names.append(JUDGE)


@pytest.fixture(name=JUDGE)
def _fairmark_judge() -> "Judge | None":
    """Who is asked in place of the configured models. A class or a conftest.py may have its own: a FakeJudge."""
    return None


@pytest.fixture(name=NAME)
def _fairmark(request: pytest.FixtureRequest, fairmark_judge: "Judge | None") -> "PytestChecks":
    """Grades, and fails the test where they are not good enough."""
    from fairmark.testing.checks import PytestChecks

    return PytestChecks(request.node, _session(request.config), fairmark_judge)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    marks = list(item.iter_markers(NAME))
    if marks:
        from fairmark.testing.checks import PytestChecks

        checks = PytestChecks(item, _session(item.config), getattr(item, "funcargs", {}).get(JUDGE))
        try:
            for mark in marks:
                checks.check_file(mark.args, mark.kwargs)
        except (Below, Ungraded) as outcome:
            # It is about rows and no line of the test: what would follow the message is our own code.
            kind = Ungraded if isinstance(outcome, Ungraded) else Failed
            raise kind(str(outcome), pytrace=False) from None
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and call.excinfo is not None and isinstance(call.excinfo.value, Ungraded):
        report.outcome = "failed"
        report.when = GRADING  # type: ignore[assignment]  # of pytest's own, none is an error after the setup
        if hasattr(report, "wasxfail"):  # a test that is expected to fail has not failed
            del report.wasxfail
    return report


def pytest_report_teststatus(report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if report.when == GRADING and report.failed:
        return "error", "E", ("ERROR", {"red": True})
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What judges took, in all processes of the run."""
    properties = [
        (name.rpartition(".")[2], value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) in ("call", GRADING)
        for name, value in report.user_properties
        if isinstance(name, str) and name.startswith(f"{NAME}.")
    ]
    asked, tokens = (sum(value for name, value in properties if name == wanted) for wanted in ("asked", "tokens"))
    if asked:
        cost = sum(value for name, value in properties if name == "cost")
        text = f"fairmark: judges were asked {asked:,} times, {tokens:,} tokens, ${cost:.4f}"
        terminalreporter.write_line(text)


def _session(config: pytest.Config) -> "Session":
    if _SESSION not in config.stash:
        from fairmark.judges.base import Budget
        from fairmark.testing.checks import Session

        limits = _budget(config)
        config.stash[_SESSION] = Session(Budget(*limits) if any(limit is not None for limit in limits) else None)
    return config.stash[_SESSION]


def _budget(config: pytest.Config) -> tuple[int | None, float | None]:
    """Tokens and dollars of this process: each worker of pytest-xdist has its share."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT") or 1)
    tokens, dollars = (_number(config, name) for name in ("budget-tokens", "budget-dollars"))
    return None if tokens is None else math.ceil(tokens / workers), None if dollars is None else dollars / workers


def _number(config: pytest.Config, name: str) -> float | None:
    text = _option(config, name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise pytest.UsageError(f"--fairmark-{name}: found {text!r}. It takes a number, 0 or more.")
    return number


def _option(config: pytest.Config, name: str) -> str:
    plain = f"fairmark_{name.replace('-', '_')}"
    return str(config.getoption(plain) or config.getini(plain) or "")
