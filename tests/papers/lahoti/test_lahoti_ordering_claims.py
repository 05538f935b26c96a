"""The order of sample complexities: the rule on made-up risks, and the recorded verdict on the kept rows."""

from functools import cache

import pytest
from every_claim import EveryClaim, check, control

from whyconv.measure.intervals import Interval
from whyconv.papers.lahoti.claims import ordering
from whyconv.papers.lahoti.claims.ordering import EXCESS, SIZES, fewer
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, ROTATED, known
from whyconv.record import find
from whyconv.record.serving import Measured
from whyconv.trial import Row

STUDY = ordering.between(ordering.FIRST_SEED)
KEPT = find("lahoti.between", "check")
ordering.measured = cache(
    lambda first_seed: (STUDY, Measured(STUDY.table(STUDY.plan({}), KEPT.rows), "kept"))
)  # in place of a run


class TestEveryClaim(EveryClaim):
    paper = "Lahoti et al."
    modules = ("lahoti.claims.ordering",)
    twice = ("lahoti.ordering",)


def test_the_kept_rows_are_those_of_the_recorded_seeds_which_no_pilot_used():
    assert KEPT.serves(STUDY)
    assert {row.spec["seed"] for row in KEPT.rows.values()} == set(range(1000, 1020))


def test_both_pairs_are_told_apart_at_every_place():
    numbers = check("lahoti.ordering").numbers
    assert len(numbers) == 4 * len(SIZES) == 12
    assert all(found.count == 20 for found in numbers.values())


def test_the_control_fails_since_the_rotated_cnn_does_not_reach_what_the_lcn_does():
    numbers = control("lahoti.ordering").numbers
    where = "over its target, m = 280, k = 10, d = 5, sigma = 0.1"
    assert numbers[f"risk of {ROTATED} {where}"].low > 1 > numbers[f"risk of {LCN} {where}"].high


def made_up(shares):
    """The study's table where the risk of an arm at its smaller or larger size is a share of the target."""
    points, rows = STUDY.plan({}), {}
    for point in points:
        k, d, sigma, m = (point.labels[name] for name in ("k", "d", "sigma", "m"))
        share = shares[point.labels["arm"]][SIZES[k, d, sigma].index(m)] + point.trial.seed % 5 / 100
        goal = known(point.trial.task)[0] + EXCESS
        rows[point.trial.key] = Row(point.trial.key, "", {}, {}, "ok", {"risk": share * goal})
    return STUDY.table(points, rows)


REACHED, NOT, ON = 0.7, 1.4, 0.98  # with the spread of made_up the mean of the last is the target itself
AS_SAID = {CNN: (REACHED, REACHED), LCN: (NOT, REACHED), FCN: (NOT, NOT), ROTATED: (NOT, NOT)}
WORLDS = [
    ({}, "consistent"),
    ({CNN: (ON, REACHED)}, "undecided"),
    ({LCN: (ON, REACHED)}, "undecided"),
    ({FCN: (NOT, ON)}, "undecided"),
    ({LCN: (REACHED, REACHED)}, "undecided"),
    ({FCN: (NOT, REACHED)}, "undecided"),
    ({CNN: (NOT, NOT)}, "fails"),
    ({CNN: (NOT, REACHED), LCN: (REACHED, REACHED)}, "fails"),
    ({LCN: (NOT, NOT), FCN: (NOT, REACHED)}, "fails"),
    ({LCN: (NOT, NOT), FCN: (REACHED, REACHED)}, "fails"),
]


@pytest.mark.parametrize(("changes", "verdict"), WORLDS)
def test_the_order_of_made_up_risks(changes, verdict):
    table = made_up(AS_SAID | changes)
    assert STUDY.order(table).verdict == verdict
    assert STUDY.judge(table).evidence == STUDY.order(table)


def at(low, high):
    return Interval((low + high) / 2, low, high, 20)


@pytest.mark.parametrize(
    ("less", "more", "verdict"),
    [
        ((at(0.5, 0.99), at(0.5, 0.6)), (at(1.01, 2), at(0.5, 0.6)), "consistent"),
        ((at(0.5, 1.01), at(0.5, 0.6)), (at(1.01, 2), at(0.5, 0.6)), "undecided"),
        ((at(0.5, 0.99), at(0.5, 0.6)), (at(0.99, 2), at(0.5, 0.6)), "undecided"),
        ((at(0.5, 0.99), at(1.1, 1.2)), (at(1.01, 2), at(0.5, 0.6)), "fails"),
    ],
)
def test_an_interval_that_touches_the_target_decides_nothing(less, more, verdict):
    pair = {"A": dict(zip((32, 280), less, strict=True)), "B": dict(zip((32, 280), more, strict=True))}
    assert fewer(pair, "here").verdict == verdict


def test_the_control_is_measured_at_the_first_place_alone():
    places = {cell.labels["size"] for cell in STUDY.cells() if cell.labels["arm"] == ROTATED}
    assert places == {1} and len(list(STUDY.cells())) == 20
