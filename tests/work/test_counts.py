"""What a process counts, and how several are told apart."""

from fairmark.work import counts
from fairmark.work.counts import OTHER, VALUES_AT_MOST, Counter, Durations, gauge, render


def test_a_counter_adds_by_labels_and_bounds_names_that_users_choose() -> None:
    counter = Counter("c_total", "Help.", "model", "way")
    for number in range(VALUES_AT_MOST + 5):
        counter.add(str(number), "in")
        counter.add(str(number), "out", by=2)
    assert counter.values["0", "out"] == 2
    assert counter.values[OTHER, "in"] == 5
    assert counter.values[OTHER, "out"] == 10
    assert len(counter.values) == 2 * VALUES_AT_MOST + 2


def test_a_histogram_is_told_with_every_bucket_above() -> None:
    histogram = Durations("h_seconds", "Help.", "way")
    for seconds in (0.002, 0.002, 100.0):
        histogram.add(seconds, "in")
    lines = render([(None, [histogram.family()])]).splitlines()
    assert lines[:2] == ["# HELP h_seconds Help.", "# TYPE h_seconds histogram"]
    assert 'h_seconds_bucket{way="in",le="0.001"} 0' in lines
    assert 'h_seconds_bucket{way="in",le="0.005"} 2' in lines
    assert 'h_seconds_bucket{way="in",le="+Inf"} 3' in lines
    assert lines[-2:] == ['h_seconds_sum{way="in"} 100.004000', 'h_seconds_count{way="in"} 3']


def test_processes_are_told_apart_and_each_name_is_headed_once() -> None:
    one, other = Counter("c_total", "Help."), Counter("c_total", "Help.")
    other.add(by=3)
    shared = gauge("g", "Of all.", {(): 1.5})
    # What comes from another process has been through JSON.
    text = render([(None, [shared]), (0, [one.family()]), (1, [[*other.family()]])])
    assert text == (
        "# HELP g Of all.\n# TYPE g gauge\ng 1.5\n"
        '# HELP c_total Help.\n# TYPE c_total counter\nc_total{process="0"} 0\nc_total{process="1"} 3\n'
    )


def test_what_is_counted_anywhere_in_the_process_is_told() -> None:
    made = counts.counter("test_counts_total", "Help.", "label")
    made.add("x")
    (family,) = [family for family in counts.families() if family.name == "test_counts_total"]
    assert family.samples == [("", [("label", "x")], "1")]
    counts._told.pop()
