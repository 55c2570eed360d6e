"""fairmark judge check: a judge against people, and against itself."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fairmark import jsontext, readiness
from fairmark.cli.shared import exits, inputs
from fairmark.cli.shared.counting import CallProgress
from fairmark.cli.shared.tables import show_table
from fairmark.data.outfile import refuse_input, write_whole
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.judges.base import Budget

if TYPE_CHECKING:
    from fairmark.spec import GraderSpec
    from fairmark.trust.check import CheckOptions, JudgeCheck
    from fairmark.trust.labelled import Labelled
    from fairmark.trust.places import Places
    from fairmark.trust.plan import CheckPlan

GraderName = Annotated[str, typer.Argument(metavar="GRADER", help="A grader: JSON file, JSON text or key:NAME.")]
LabelledFile = Annotated[
    str, typer.Argument(metavar="LABELLED", help="Rows that people have judged, JSONL; - for standard input.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No plan, no progress and no table.")]
JsonOutput = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the report as JSON; - for stdout.")
]
HtmlOutput = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page.")]
BudgetTokens = Annotated[int | None, typer.Option(metavar="N", min=0, help="Tokens that the judge may take.")]
BudgetDollars = Annotated[float | None, typer.Option(metavar="X", min=0, help="Dollars that the judge may cost.")]
PairPaths = Annotated[
    tuple[str, str] | None, typer.Option(metavar="A B", help="Where in the item the two answers of a pair stand.")
]


def command(
    grader: GraderName,
    labelled: LabelledFile,
    probes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these probes, with commas between; none for none.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=1, help="Questions that may be asked.")] = None,
    budget_tokens: BudgetTokens = None,
    budget_dollars: BudgetDollars = None,
    require: Annotated[
        str, typer.Option(metavar="GRADE", help="Exit 1 below this: trusted, or care for with care.")
    ] = "care",
    output: JsonOutput = None,
    html: HtmlOutput = None,
    reference: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the reference stands, such as item.ideal.")
    ] = None,
    question: Annotated[str | None, typer.Option(metavar="PATH", help="Where the question stands.")] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the answer stands, if it is not the sample.")
    ] = None,
    pair: PairPaths = None,
    pair_labels: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help="Which of the grader's labels mean a, b and tie, in this order."),
    ] = None,
    probe_rows: Annotated[int, typer.Option(metavar="N", min=30, help="Rows that a probe asks about at most.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", help="For which rows are drawn.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and ask nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Hold a judge against rows that people have judged, and probe what moves it that should not.

    A row is {"item": {…}, "sample": …} with one of "label", "score" or "preferred". The plan comes first: calls, tokens
    and dollars. Where that is more than allowed, whole probes are left out, the least telling first.

    [bold]Example[/bold]

      fairmark judge check examples/judge.json examples/labelled.jsonl --dry-run

    Exit status: 0 as good as --require, 1 not, or not enough evidence, 2 bad grader or rows, 3 too many questions
    failed.
    """
    from fairmark.trust.check import REQUIRED, CheckOptions, prepare
    from fairmark.trust.labelled import read_labelled
    from fairmark.trust.plan import CheckLimits

    if require not in REQUIRED:
        raise InvalidData(f"--require: found {require!r}. Use one of: {', '.join(REQUIRED)}.")
    spec = ready(inputs.read_grader(grader))
    check_outputs([output, html], [labelled, grader])
    rows = read_labelled(labelled)
    options = CheckOptions(
        split_names(probes),
        CheckLimits(max_calls, budget_tokens, budget_dollars),
        _places(reference, question, answer, pair),
        None if pair_labels is None else pair_labels.split(","),
        seed,
        probe_rows,
    )
    console = Console(stderr=True)
    if dry_run:
        _, plan = prepare(spec, rows, options, {})
        show_plan(plan)
        return
    done = checked(spec, rows, options, Budget(budget_tokens, budget_dollars), console, quiet)
    write_reports(done, output, html)
    if not quiet and output != "-":
        show_check(done)
    if not done.is_answered:
        typer.echo(done.reasons[0], err=True)
        raise typer.Exit(exits.EXIT_UNGRADED)
    if not done.meets(require):
        raise typer.Exit(exits.EXIT_BELOW)


def checked(
    spec: "GraderSpec", rows: "Labelled", options: "CheckOptions", budget: Budget, console: Console, quiet: bool
) -> "JudgeCheck":
    from fairmark.trust.check import run_check
    from fairmark.work import eventloop

    with CallProgress(console, quiet) as progress:

        def on_plan(plan: "CheckPlan") -> None:
            progress.total = plan.calls
            if not quiet:
                typer.echo(plan_line(plan), err=True)
                for note in plan.notes:
                    typer.echo(f"note: {note}", err=True)

        checking = run_check(spec, rows, options, None, budget, None, on_plan, progress.add)
        return eventloop.run(checking)


def ready(spec: "GraderSpec") -> "GraderSpec":
    """Raises InvalidGrader where this machine lacks what the grader needs: nothing is paid for in vain."""
    problems = readiness.lacks(spec)
    if problems:
        raise InvalidGrader(problems)
    return spec


def check_outputs(outputs: list[str | None], sources: list[str]) -> None:
    for output in outputs:
        if output not in (None, "-"):
            refuse_input(output, [source for source in sources if source != "-" and "{" not in source])


def write_reports(done: "JudgeCheck", output: str | None, html: str | None) -> None:
    if output == "-":
        typer.echo(jsontext.encode_pretty(done.model_dump()))
    elif output is not None:
        write_file(output, jsontext.encode_pretty(done.model_dump()) + "\n")
    if html is not None:
        write_file(html, done.html())


def write_file(path: str, text: str) -> None:
    """`-` is standard output."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise InvalidData.unusable(path, error) from None


def split_names(text: str | None) -> list[str] | None:
    """Names with commas between; `none` is an empty list."""
    if text is None:
        return None
    return [] if text.strip() == "none" else [name.strip() for name in text.split(",") if name.strip()]


def _places(reference: str | None, question: str | None, answer: str | None, pair: tuple[str, str] | None) -> "Places":
    from fairmark.trust.places import Places, read_path

    return Places(
        None if answer is None else read_path("--answer", answer),
        None if question is None else read_path("--question", question),
        None if reference is None else read_path("--reference", reference),
        None if pair is None else (read_path("--pair", pair[0]), read_path("--pair", pair[1])),
    )


def plan_line(plan: "CheckPlan") -> str:
    dollars = "" if plan.dollars is None else f", about ${plan.dollars:.2f}"
    return f"{plan.calls:,} calls, about {plan.tokens:,} tokens{dollars}"


def show_plan(plan: "CheckPlan") -> None:
    lines = []
    for probe in plan.probes:
        why = "" if probe.left_out is None else f"{probe.left_out.status}: {probe.left_out.why}"
        dollars = "-" if probe.dollars is None or not probe.calls else f"{probe.dollars:.2f}"
        lines.append((probe.name, f"{probe.calls:,}", f"{probe.tokens:,}", dollars, why))
    show_table(("PROBE", "CALLS", "TOKENS", "DOLLARS", ""), lines)
    typer.echo(f"\n{plan_line(plan)}")


def show_check(done: "JudgeCheck") -> None:
    models = ", ".join(done.subject.models) or done.subject.spec.type
    typer.echo(f"{done.subject.spec.name} ({models}): {done.grade}\n")
    for reason in done.reasons:
        typer.echo(f"  {reason}")
    typer.echo("")
    lines = [
        (statistic.name, number(statistic.value), interval(statistic.interval), str(statistic.rows), statistic.why)
        for statistic in done.compared.statistics
    ]
    if done.compared.ceiling is not None:
        ceiling = done.compared.ceiling
        lines.append((f"people among themselves, {ceiling.name}", number(ceiling.value), interval(ceiling.interval),
                      str(ceiling.rows), ceiling.why))  # fmt: skip
    else:
        lines.append(("people among themselves", "-", "", "", "ceiling unknown: one rater"))
    show_table(("AGREEMENT", "VALUE", "95 %", "ROWS", ""), lines)
    typer.echo("")
    probes = []
    for probe in done.probes:
        if probe.status == "not chosen":
            continue
        measured = probe.measured
        said = probe.status if measured is None else probe.says
        words = probe.why if measured is None else measured.words
        effect = None if measured is None else measured.effect
        bounds = None if measured is None else measured.interval
        probes.append((probe.name, said, number(effect, "+.3f"), interval(bounds, "+.2f"), words))
    if probes:
        show_table(("PROBE", "SAYS", "EFFECT", "95 %", ""), probes)
    for probe in done.probes:
        if probe.is_bad:
            typer.echo(f"\n{probe.name}: {probe.remedy}", nl=False)
    typer.echo("")
    compared = done.compared
    told = [f"{done.asked:,} questions, {done.tokens:,} tokens"]
    told += [f"${done.dollars:.2f}"] if done.dollars is not None else []
    told += [f"{done.failed} failed"] if done.failed else []
    told += [f"{done.unpaid} not asked for want of budget"] if done.unpaid else []
    told += [f"{compared.ungraded} labelled rows the judge could not grade"] if compared.ungraded else []
    told += [f"{compared.tied} rows on which people are tied"] if compared.tied else []
    if compared.smoothness is not None and compared.smoothness.warning:
        told.append(compared.smoothness.warning)
    typer.echo("; ".join(told))


def number(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def interval(bounds: "tuple[float, float] | None", form: str = ".2f") -> str:
    if bounds is None or not all(abs(bound) < 1e9 for bound in bounds):
        return ""
    return f"{bounds[0]:{form}} to {bounds[1]:{form}}"
