"""Intervals against limits: the whole of one decides, one that straddles does not."""

from math import inf, nan

import pytest

from whyconv.measure.complexity import Ratio
from whyconv.measure.intervals import Interval
from whyconv.text import undecided
from whyconv.verdict import Evidence, above, all_above, below, between, kept, within, worst


def interval(low, high):
    return Interval((low + high) / 2, low, high, 5)


@pytest.mark.parametrize(
    ("low", "high", "lies_above", "lies_below"),
    [(2, 3, "consistent", "fails"), (0, 0.5, "fails", "consistent"), (0.5, 2, "undecided", "undecided")],
)
def test_one_side(low, high, lies_above, lies_below):
    found = interval(low, high)
    assert above(1, found, "x") == Evidence(lies_above, {"x": found})
    assert below(1, found, "x") == Evidence(lies_below, {"x": found})
    assert all_above({"x": found, "y": interval(5, 6)}, 1) == lies_above
    assert all_above({}, 1) == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (4.6, 5.4, "consistent"), (4.4, 5.4, "undecided"), (4.6, 5.6, "undecided"),
        (5.6, 5.8, "fails"), (4.1, 4.4, "fails"),
    ],
)  # fmt: skip
def test_both_sides(low, high, verdict):
    assert within(0.5, 5, interval(low, high), "x").verdict == verdict
    assert between(4.5, 5.5, interval(low, high), "x") == within(0.5, 5, interval(low, high), "x")


def test_what_more_seeds_cannot_decide_says_so():
    open_end = Ratio(nan, 0.8, inf, 5)
    assert (
        above(1, open_end, "x").why
        == "x is at least 0.8, since what was sought lies outside the sizes allowed"
    )
    assert below(0.5, open_end, "x").verdict == "fails" and below(0.5, open_end, "x").why == ""
    assert above(1, Ratio(nan, 0, inf, 1), "x").why == above(1, Ratio(2, 0.5, 9, 5), "x").why == ""
    assert above(1, Interval(nan, -inf, inf, 5), "x").why == "", "a value that is not finite"
    assert "more seeds do not help" in undecided(above(1, open_end, "x"), 5)


def test_equivalence_is_not_granted_for_want_of_seeds():
    assert between(0.5, 2, interval(0.1, 10), "ratio").verdict == "undecided"
    assert within(1, 0, Interval(0.0, float("-inf"), float("inf"), 1), "x").verdict == "undecided"


def test_the_worst_of_several_counts_and_all_numbers_stay():
    parts = [
        Evidence(verdict, {verdict: 1})
        for verdict in ("holds", "consistent", "vacuous", "undecided", "fails", "error")
    ]
    for end in range(1, 7):
        assert worst(*parts[:end]) == Evidence(
            parts[end - 1].verdict, {part.verdict: 1 for part in parts[:end]}
        )
    assert worst().verdict == "undecided"


def test_a_promised_rate_is_kept_unless_the_whole_interval_lies_below_it():
    assert kept(18, 20, 0.95, "rate").verdict == "consistent"  # 0.68 to 0.99 contains it
    assert kept(20, 20, 0.5, "rate").verdict == "consistent"
    assert kept(10, 20, 0.95, "rate").verdict == "fails"
    assert kept(10, 20, 0.95, "rate").numbers["rate"].count == 20
