"""Our statistics against scikit-learn, scipy and krippendorff, in an environment of their own.

The tables are random, with ties, gaps and sides that never vary."""

import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fairmark.data import agreement as stats
from fairmark.data.calibration import fit_isotonic
from fairmark.data.intervals import correlation_p, mean_shift, more_than, welch

PYTHON = Path(__file__).parents[2] / ".venv-clients" / "statistics" / "bin" / "python"
TABLES = 300
SCRIPT = """
import json, math, sys, warnings
import krippendorff, numpy
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import cohen_kappa_score
warnings.simplefilter("ignore")

def known(value):
    value = float(value)
    return None if math.isnan(value) else value

def alpha(table, scale):
    try:
        return known(krippendorff.alpha(numpy.array(table, dtype=float), level_of_measurement=scale))
    except ValueError:
        return None

told = []
for table in json.load(sys.stdin):
    h, j, levels = table["human"], table["judge"], table["levels"]
    iso = IsotonicRegression(out_of_bounds="clip").fit(j, [value > levels / 2 for value in h])
    told.append({
        "kappa": known(cohen_kappa_score(h, j)),
        "quadratic": known(cohen_kappa_score(h, j, weights="quadratic", labels=list(range(levels + 1)))),
        "linear": known(cohen_kappa_score(h, j, weights="linear", labels=list(range(levels + 1)))),
        "rho": known(stats.spearmanr(h, j).statistic),
        "tau": known(stats.kendalltau(h, j).statistic),
        "pearson": known(stats.pearsonr(h, j).statistic),
        "pearson_p": known(stats.pearsonr(h, j).pvalue),
        "welch_p": known(stats.ttest_ind(j, h, equal_var=False).pvalue),
        "paired_p": known(stats.ttest_rel(j, h).pvalue),
        "more": known(stats.binomtest(h[0], 2 * levels, 0.05, alternative="greater").pvalue),
        **{scale: alpha(table["raters"], scale) for scale in ("nominal", "ordinal", "interval")},
        "isotonic": [float(value) for value in iso.predict(table["asked"])],
    })
print(json.dumps(told))
"""


def random_tables() -> list[dict[str, Any]]:
    source = random.Random(18)
    tables = []
    for index in range(TABLES):
        levels, n = source.choice((1, 2, 4, 9)), source.randint(4, 60)
        human = [source.randint(0, levels) for _ in range(n)]
        skill = source.random()
        judge = [value if source.random() < skill else source.randint(0, levels) for value in human]
        if index % 20 == 0:
            judge = [1] * n
        raters = [[value if source.random() > 0.2 else None for value in side] for side in (human, judge, judge[::-1])]
        asked = [source.uniform(-1, levels + 1) for _ in range(5)]
        tables.append({"human": human, "judge": judge, "levels": levels, "raters": raters, "asked": asked})
    return tables


def ours(table: dict[str, Any]) -> dict[str, Any]:
    human, judge, levels = table["human"], table["judge"], table["levels"]
    counts = Counter(zip(human, judge, strict=True))
    units = [[value for value in ratings if value is not None] for ratings in zip(*table["raters"], strict=True)]
    curve = fit_isotonic([float(value) for value in judge], [float(value > levels / 2) for value in human])
    correlation = stats.pearson(counts)
    return {
        "kappa": stats.cohen_kappa(counts),
        "quadratic": stats.weighted_kappa(counts),
        "linear": stats.weighted_kappa(counts, 1),
        "rho": stats.spearman(counts),
        "tau": stats.kendall_tau(counts),
        "pearson": correlation,
        "pearson_p": None if correlation is None else correlation_p(correlation, len(human) - 2),
        "welch_p": welch(judge, human).p,
        "paired_p": mean_shift([float(after - before) for before, after in zip(human, judge, strict=True)]).p,
        "more": more_than(human[0], 2 * levels, 0.05),
        "nominal": stats.krippendorff_alpha(units, "nominal"),
        "ordinal": stats.krippendorff_alpha(units, "ordinal"),
        "interval": stats.krippendorff_alpha(units, "interval"),
        "isotonic": [curve(score) for score in table["asked"]],
    }


@pytest.mark.thorough
def test_every_statistic_is_the_reference_librarys_to_nine_places() -> None:
    tables = random_tables()
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT], input=json.dumps(tables), capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    for table, reference in zip(tables, theirs, strict=True):
        for name, value in ours(table).items():
            # Of what never varies the libraries give no number, and we give none or what an exact zero means.
            if reference[name] is None:
                assert value is None or name in ("welch_p", "paired_p"), (name, value, table)
            else:
                assert value == pytest.approx(reference[name], abs=1e-9), (name, table)
    values = [reference["kappa"] for reference in theirs]
    assert len(theirs) == TABLES
    assert sum(value is None for value in values) < 30 < sum(value is not None and value < 0.9 for value in values)
