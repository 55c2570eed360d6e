"""python -m bench [NAME …]: runs the benchmarks, prints their tables, and writes their results."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    columnar,
    cores,
    endpoint,
    engine,
    evaluation,
    groups,
    hanging,
    judges,
    keeping,
    loading,
    metrics,
    moving,
    neighbours,
    passing,
    ray,
    registry,
    report,
    sandbox,
    scale,
    server,
    simulate,
    startup,
    store,
    trainers,
    trust,
    web,
    web_pages,
)


def measure_metrics(quick: bool) -> report.Report:
    """The metrics' own numbers as a report: pairs a second, cold and warm."""
    count = metrics.PAIRS // 20 if quick else metrics.PAIRS
    found = metrics.main(count)
    lines = [
        report.Line(
            f"{name}, {state}",
            1e6 / row[ours],
            "pairs/s",
            1e6 / row["reference_us"],
            "reference",
            report.Required("at least", row[required], "ratio"),
        )
        for name, row in found.items()
        for state, ours, required in (("cold", "ours_us", "required"), ("warm", "warm_us", "required_warm"))
    ]
    equal = sum(row["equal"] for row in found.values())
    everything = report.Required("at least", len(found))
    lines.append(report.Line("every score equal to the reference's", equal, "metrics", required=everything))
    about = f"One metric on {count:,} pairs of 20 to 300 words, against the library that defines it."
    return report.Report("metrics", about, lines, found)


BENCHMARKS: dict[str, Callable[[bool], report.Report]] = {
    "metrics": measure_metrics,
    "engine": engine.main,
    "sandbox": sandbox.main,
    "startup": startup.main,
    "evaluation": evaluation.main,
    "scale": scale.main,
    "keeping": keeping.main,
    "judges": judges.main,
    "hanging": hanging.main,
    "passing": passing.main,
    "server": server.main,
    "loading": loading.main,
    "columnar": columnar.main,
    "cores": cores.main,
    "simulate": simulate.main,
    "neighbours": neighbours.main,
    "endpoint": endpoint.main,
    "registry": registry.main,
    "store": store.main,
    "moving": moving.main,
    "ray": ray.main,
    "trainers": trainers.main,
    "trust": trust.main,
    "groups": groups.main,
    "web": web.main,
    "web_pages": web_pages.main,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Fairmark against its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(BENCHMARKS)}; default all")
    parser.add_argument("--quick", action="store_true", help="inputs 20 times smaller: does the suite still run?")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder for the results")
    given = parser.parse_args()
    names = given.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {', '.join(unknown)}. There are: {', '.join(BENCHMARKS)}.")
    short = []
    for name in names:
        facts = report.machine() | {"quick": given.quick}
        done = BENCHMARKS[name](given.quick)
        report.show(done)
        report.save(done, report.after(facts), given.out)
        short += [f"{name}: {line.work}" for line in done.lines if line.verdict == "short"]
    if short:
        print("\nShort of what is required:\n  " + "\n  ".join(short))
    return 0


if __name__ == "__main__":
    sys.exit(main())
