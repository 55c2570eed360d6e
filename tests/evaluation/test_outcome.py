"""What evaluate returns, as notebooks show it."""

import json
import xml.etree.ElementTree as ET

import fairmark

HOSTILE = "<img src=x onerror=alert(1)>"


def test_it_is_a_dict_that_a_notebook_shows_with_metrics_and_the_first_rows() -> None:
    rows = [{"n": number, "text": HOSTILE, **{f"c{column}": column for column in range(20)}} for number in range(100)]
    result = fairmark.evaluate(data=rows, evaluators={"twice": lambda n: {"value": 2 * n, "said": HOSTILE}})
    assert isinstance(result, dict)
    assert json.loads(json.dumps(result)) == result
    page = ET.fromstring(result._repr_html_())  # noqa: S314  # our own
    texts = [cell.text for cell in page.iter("td")]
    assert texts[:2] == ["twice.value", "99"]
    assert HOSTILE in texts
    _, table = page.iter("table")
    assert len(list(table.iter("tr"))) == 21
    headings = [heading.text for heading in table.iter("th")]
    assert headings[:2] == ["twice.value", "twice.said"]
    assert len(headings) == 12
    assert [line.text for line in page.iter("p")][-1] == (
        "… 80 more rows and 12 more columns; .to_pandas() and .to_polars() have all."
    )
