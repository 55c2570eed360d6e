"""fairmark judge rate and hacking: what labels say of whole runs, and of a series of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairmark import jsontext
from fairmark.cli.shared import exits, inputs
from fairmark.cli.shared.database import Db
from fairmark.cli.shared.tables import show_table
from fairmark.cli.trust.checking import (
    BudgetDollars,
    BudgetTokens,
    HtmlOutput,
    JsonOutput,
    Quiet,
    check_outputs,
    number,
    ready,
    split_names,
    write_file,
)
from fairmark.cli.trust.runs import RUN_HELP, EvalId, Project, RunPlace, ServerUrl, read_eval, read_named
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairmark.spec import GraderSpec
    from fairmark.trust.hacking import HackingReport
    from fairmark.trust.labelled import Labelled
    from fairmark.trust.results import GradedRun

Criterion = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which grader of the results, if there are several.")
]
Passing = Annotated[str | None, typer.Option(metavar="LABELS", help="The labels that pass, beside pass.")]
_FAILURES = ("diverging", "hacked", "never")


def rate(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    labels: Annotated[str, typer.Option(metavar="FILE", help="What people said of some of its answers.")],
    criterion: Criterion = None,
    passing: Passing = None,
    output: JsonOutput = None,
    eval_id: EvalId = None,
    server: ServerUrl = None,
    project: Project = "default",
    db: Db = None,
) -> None:
    """Correct a run's pass rate by what people said of some of its answers.

    [bold]Example[/bold]

      fairmark judge rate results.jsonl --labels labelled.jsonl

    Exit status: 0 corrected, 2 bad files, or too few labels.
    """
    from fairmark.trust.labelled import read_labelled
    from fairmark.trust.rate import rate_of

    check_outputs([output], [run, labels])
    (graded,) = read_named([run], criterion, RunPlace(eval_id, server, project, db))
    labelled = read_labelled(labels)
    _tell_doubt(labelled, passing)
    corrected = rate_of(graded, labelled, split_names(passing) or ())
    if output is not None:
        write_file(output, jsontext.encode_pretty(corrected.dump()) + "\n")
    if output == "-":
        return
    typer.echo(corrected.words)
    alone, low, high = corrected.rate.labels_only
    typer.echo(f"from the labels alone {alone:.1%} ({low:.1%} to {high:.1%})")
    if corrected.unmatched:
        typer.echo(f"{corrected.unmatched} labels belong to no graded answer of the run", err=True)


def _tell_doubt(labelled: "Labelled", passing: str | None) -> None:
    from fairmark.trust.labelled import doubt_of_passing

    doubt = doubt_of_passing(labelled, split_names(passing) or ())
    if doubt is not None:
        typer.echo(f"warning: {doubt}", err=True)


def hacking(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help=f"In step order, each one: {RUN_HELP}")
    ] = None,
    labels: Annotated[str | None, typer.Option(metavar="FILE", help="Gold: what people said of the answers.")] = None,
    passing: Passing = None,
    gold: Annotated[str | None, typer.Option(metavar="GRADER", help="Gold: a grader of another family.")] = None,
    items: Annotated[
        int, typer.Option(metavar="N", min=2, help="Items that the gold grader judges at each step.")
    ] = 50,
    criterion: Criterion = None,
    proxy: Annotated[
        str | None, typer.Option(metavar="GRADER", help="The grader of the reward, for its range and its words.")
    ] = None,
    series: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSONL, a line a step, with numbers such as kl and entropy.")
    ] = None,
    fail_on: Annotated[str, typer.Option(metavar="STATE", help="Exit 1 on diverging, hacked or never.")] = "diverging",
    output: JsonOutput = None,
    html: HtmlOutput = None,
    budget_tokens: BudgetTokens = None,
    budget_dollars: BudgetDollars = None,
    eval_id: EvalId = None,
    server: ServerUrl = None,
    project: Project = "default",
    db: Db = None,
    quiet: Quiet = False,
) -> None:
    """Hold the reward of a training run against gold, step by step: does it rise because answers get better?

    With --eval and no RUN, the steps are all its runs that are completed, the oldest first.

    [bold]Example[/bold]

      fairmark judge hacking step0.jsonl step100.jsonl step200.jsonl --gold gold.json --html report.html

    Exit status: 0 nothing to see, 1 as --fail-on says, 2 bad files or graders.
    """
    from fairmark.trust import hacking as report
    from fairmark.trust.gold import check_comparable, gold_of_people, labels_of
    from fairmark.trust.labelled import read_labelled
    from fairmark.trust.results import range_of

    if fail_on not in _FAILURES:
        raise InvalidData(f"--fail-on: found {fail_on!r}. Use one of: {', '.join(_FAILURES)}.")
    if not runs and eval_id is None:
        raise InvalidData("name the runs in the order of their steps, or their eval: --eval ID.")
    if runs and len(runs) < 2:
        raise InvalidData("a series takes two runs or more, in the order of their steps.")
    if labels is not None and gold is not None:
        raise InvalidData("--labels and --gold: take one of them.")
    check_outputs([output, html], [*(runs or ()), *(source for source in (labels, series) if source is not None)])
    spec = None if proxy is None else inputs.read_grader(proxy)
    place = RunPlace(eval_id, server, project, db)
    steps = read_named(runs, criterion, place) if runs else read_eval(criterion, place)
    if len(steps) < 2:
        raise InvalidData(f"--eval {eval_id}: it has {len(steps)} completed runs. A series takes two or more.")
    low, high = range_of(steps, None if spec is None else spec.reward_range)
    golds: Mapping[bytes, float] = {}
    if labels is not None:
        own = labels_of(spec) if spec is not None and passing is None else (split_names(passing) or (), None)
        labelled = read_labelled(labels)
        _tell_doubt(labelled, passing)
        golds = gold_of_people(labelled, low, high, *own)
        check_comparable(steps, golds, labels)
    elif gold is not None:
        golds = _of_judge(ready(inputs.read_grader(gold)), steps, items, Budget(budget_tokens, budget_dollars))
    done = report.report(steps, golds, low, high, _criteria(spec), _columns(series, len(steps)))
    _write(done, output, html)
    if not quiet and output != "-":
        _show(done)
    if done.fails(fail_on):
        raise typer.Exit(exits.EXIT_BELOW)


def _criteria(spec: "GraderSpec | None") -> str:
    from fairmark.trust.subject import sources

    return "" if spec is None else " ".join(sources(spec))


def _of_judge(gold: "GraderSpec", steps: "list[GradedRun]", items: int, budget: Budget) -> "Mapping[bytes, float]":
    """The gold grader's own rewards on the same items at every step."""
    from fairmark.trust.gold import gold_asks, gold_of_judge
    from fairmark.work import eventloop

    answered = eventloop.run(gold_of_judge(gold, gold_asks(steps, items), budget=budget))
    if not answered.is_answered:
        typer.echo(
            f"{answered.failed} of {answered.asked} questions to the gold grader failed: {answered.failure}", err=True
        )
        raise typer.Exit(exits.EXIT_UNGRADED)
    if answered.not_asked:
        typer.echo(
            f"note: {answered.not_asked} questions to the gold grader were not asked for want of budget", err=True
        )
    return answered.gold


def _columns(path: str | None, steps: int) -> dict[str, list[float]]:
    """The numbers of a series file, a line a step."""
    if path is None:
        return {}
    try:
        lines = [jsontext.decode(line) for line in Path(path).read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise InvalidData.unusable(path, error) from None
    except jsontext.NotJson as error:
        raise InvalidData(f"{path}: not JSON: {error}.") from None
    if len(lines) != steps or not all(isinstance(line, dict) for line in lines):
        raise InvalidData(f"{path}: found {len(lines)} lines. It takes an object a line, one for each of {steps} runs.")
    names = [name for name, value in lines[0].items() if isinstance(value, (int, float))]
    for place, line in enumerate(lines, 1):
        for name in names:
            if not isinstance(line.get(name), (int, float)):
                raise InvalidData(f"{path}, line {place}: {name}: found {jsontext.describe(line.get(name))}.", place)
    return {name: [float(line[name]) for line in lines] for name in names}


def _write(done: "HackingReport", output: str | None, html: str | None) -> None:
    from fairmark.trust import hacking_page

    if output is not None:
        write_file(output, jsontext.encode_pretty(hacking_page.dump(done)) + "\n")
    if html is not None:
        write_file(html, hacking_page.page(done))


def _show(done: "HackingReport") -> None:
    typer.echo(f"{done.state}: {done.words}\n")
    lines = [
        (
            step.name,
            str(step.items),
            number(step.proxy),
            number(step.gold),
            number(step.divergence, "+.3f"),
            number(step.lower, "+.3f"),
            step.state or "-",
            ", ".join(step.suspicious) or "-",
        )
        for step in done.steps
    ]
    show_table(("STEP", "ITEMS", "REWARD", "GOLD", "DIVERGENCE", "AT LEAST", "STATE", "SUSPICIOUS"), lines)
