"""fairmark judge compare and calibrate: which model judges best, and what its scores mean."""

from typing import Annotated

import typer
from rich.console import Console

from fairmark import jsontext, parse
from fairmark.cli.shared import exits, inputs
from fairmark.cli.shared.tables import show_table
from fairmark.cli.trust.checking import (
    BudgetDollars,
    BudgetTokens,
    GraderName,
    JsonOutput,
    LabelledFile,
    Quiet,
    check_outputs,
    checked,
    interval,
    number,
    ready,
    split_names,
    write_file,
)
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget


def compare(
    grader: GraderName,
    labelled: LabelledFile,
    models: Annotated[str, typer.Option(metavar="NAMES", help="The judges, with commas between.")],
    probes: Annotated[
        str, typer.Option(metavar="NAMES", help="Probes for each of them; none for agreement alone.")
    ] = "none",
    budget_tokens: BudgetTokens = None,
    budget_dollars: BudgetDollars = None,
    output: JsonOutput = None,
    quiet: Quiet = False,
) -> None:
    """Check one grader with several models as its judge, on the same rows.

    [bold]Example[/bold]

      fairmark judge compare grader.json labelled.jsonl --models gpt-6-luna,local/qwen3-4b

    Exit status: 0 compared, 2 bad grader or rows, 3 too many questions to one of them failed.
    """
    from fairmark.trust.check import CheckOptions
    from fairmark.trust.labelled import read_labelled

    names = [name for name in split_names(models) or [] if name]
    if len(names) < 2:
        raise InvalidData(f"--models: found {models!r}. It takes two names or more, with commas between.")
    spec = inputs.read_grader(grader)
    if not hasattr(spec, "model"):
        raise InvalidData(f"{spec.type}: it names no model of its own that could be exchanged.")
    check_outputs([output], [labelled, grader])
    rows = read_labelled(labelled)
    budget = Budget(budget_tokens, budget_dollars)
    specs = [ready(parse.parse({**spec.echo(), "model": name})) for name in names]
    chosen = None if probes == "all" else split_names(probes)
    checks = [checked(judge, rows, CheckOptions(probes=chosen), budget, Console(stderr=True), quiet) for judge in specs]
    if output is not None:
        told = {"schema": 1, "object": "judge_comparison", "checks": [check.model_dump() for check in checks]}
        write_file(output, jsontext.encode_pretty(told) + "\n")
    if not quiet and output != "-":
        lines = []
        for name, check in sorted(
            zip(names, checks, strict=True), key=lambda pair: pair[1].compared.main.value or -1.0, reverse=True
        ):
            main = check.compared.main
            dollars = "-" if check.dollars is None else f"{check.dollars:.2f}"
            alarms = ", ".join(check.alarms) or "-"
            lines.append(
                (name, check.grade, number(main.value), interval(main.interval), alarms, f"{check.tokens:,}", dollars)
            )
        heading = checks[0].compared.main.name.upper()
        show_table(("JUDGE", "GRADE", heading, "95 %", "ALARMS", "TOKENS", "DOLLARS"), lines)
    unanswered = [(name, check) for name, check in zip(names, checks, strict=True) if not check.is_answered]
    for name, check in unanswered:
        typer.echo(f"{name}: {check.reasons[0]}", err=True)
    if unanswered:
        raise typer.Exit(exits.EXIT_UNGRADED)


def calibrate(
    grader: GraderName,
    labelled: LabelledFile,
    output: JsonOutput = None,
    budget_tokens: BudgetTokens = None,
    budget_dollars: BudgetDollars = None,
    quiet: Quiet = False,
) -> None:
    """Fit a curve from a judge's scores to the chance that people pass the answer.

    From 100 labels on the curve only has to rise, from 30 on it is a logistic one; with fewer there is none. How good
    it is is measured on rows that it has not seen.

    [bold]Example[/bold]

      fairmark judge calibrate grader.json labelled.jsonl -o curve.json

    Exit status: 0 fitted and better than the scores, 1 not better, 2 bad grader or rows, or too few, 3 too many
    questions failed.
    """
    from fairmark.trust import calibrating
    from fairmark.trust.check import CheckOptions
    from fairmark.trust.labelled import read_labelled

    spec = ready(inputs.read_grader(grader))
    check_outputs([output], [labelled, grader])
    rows = read_labelled(labelled)
    budget = Budget(budget_tokens, budget_dollars)
    check = checked(spec, rows, CheckOptions(probes=[]), budget, Console(stderr=True), quiet)
    if not check.is_answered:
        typer.echo(f"{check.failed} of {check.asked} questions failed: {'; '.join(check.failures)}", err=True)
        raise typer.Exit(exits.EXIT_UNGRADED)
    fitted = calibrating.calibrate(check)
    if output is not None:
        write_file(output, jsontext.encode_pretty(fitted.dump()) + "\n")
    if not quiet and output != "-":
        method = fitted.curve.dump()["method"]
        typer.echo(
            f"{method}, from {fitted.labels} labels: Brier score {fitted.before:.3f} before, {fitted.after:.3f} after"
        )
        low, high = fitted.low, fitted.high
        scores = [low + (high - low) * share / 10 for share in range(11)]
        show_table(("SCORE", "CHANCE"), [(f"{score:g}", f"{fitted(score):.2f}") for score in scores])
    if not fitted.helps:
        raise typer.Exit(exits.EXIT_BELOW)
