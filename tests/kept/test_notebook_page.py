"""Kept runs in a notebook: everything of a run escaped, with the plot of each criterion."""

from fairmark.data.comparing import Outcomes
from fairmark.data.pairing import Column
from fairmark.kept.found import KeptRun, KeptRuns
from fairmark.outcomes import ERROR, FAIL, PASS


def run(columns: dict[str, Column]) -> KeptRun:
    criteria = [{"id": f"{name}-1", "name": name} for name in columns]
    counts = {f"{name}-1": column.counts() for name, column in columns.items()}
    return KeptRun(
        *("evalrun_0123456789", "eval_1", "<b>eval</b>", "<script>", "completed", 0, 3),
        outcomes=Outcomes(1, 1, 1, 0),
        criteria=criteria,
        counts=counts,
        cost=0.25,
        seconds=2.0,
        error=None,
        reasons={"<i>no answer</i>": 1},
        columns=columns,
        not_passed=[{"row": 2, "status": "fail", "results": "<u>exact</u> 0.0 failed", "item": "{}"}],
    )


def exact() -> Column:
    column = Column()
    for number, (outcome, reward) in enumerate([(PASS, 1.0), (FAIL, 0.25), (ERROR, 0.0)]):
        column.add(number, number, outcome, reward)
    return column


def test_a_run_shows_its_criteria_with_the_plot_of_their_rewards() -> None:
    page = run({"exact": exact(), "never graded": Column()})._repr_html_()
    assert page.count("<svg") == 1
    assert "Mean reward 0.625." in page
    assert "<title>0.25 to 0.3: 1</title>" in page
    assert "50.0%" in page
    assert "took 2.0 s, cost $0.2500" in page
    assert "1 × &lt;i&gt;no answer&lt;/i&gt;" in page


def test_nothing_of_a_run_becomes_markup() -> None:
    for page in (run({"<p>": exact()})._repr_html_(), KeptRuns([run({})])._repr_html_()):
        assert not any(tag in page for tag in ("<script>", "<b>", "<i>", "<u>", '<p>"', "<td><p>"))
        assert "&lt;script&gt; (01234567)" in page or "&lt;script&gt;" in page


def test_a_list_shows_a_line_a_run_up_to_twenty() -> None:
    page = KeptRuns([run({})] * 25)._repr_html_()
    assert page.count("<tr>") == 21
    assert "… 5 more." in page
