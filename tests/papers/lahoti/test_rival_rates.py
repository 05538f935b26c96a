"""Rates against exponents: what a bound allows along each ray, and a whole study driven by made-up curves."""

from math import inf, log

import numpy as np
import pytest
from test_lahoti_judging import at_once

from whyconv.measure.scaling import Exponent
from whyconv.papers.lahoti.exact.rates import RATES, RIVALS, Rate, rate
from whyconv.papers.lahoti.studies.rates import NETWORK, RAISED, SETTINGS, known_signal
from whyconv.papers.lahoti.studies.rivals import all_rejected, compared, middle
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, known
from whyconv.settings import configure
from whyconv.verdict import Evidence

CENTRE = (20.0, 20.0)


def measured(k, d, sigma=2.0, reach=0.1):
    values = {"k": k, "d": d, "k and d": k + d, "sigma": sigma}
    return {ray: Exponent(v, v - reach, v + reach, 1, 0, 9, 0, 5, 5) for ray, v in values.items()}


def verdicts(formula, found):
    each = next(rate for rates in RIVALS.values() for rate in rates if rate.formula == formula)
    return tuple(compared(kind, each, found, CENTRE).verdict for kind in ("upper", "lower", "growth"))


def test_a_rate_is_its_formula():
    k, d, s = 7.0, 3.0, 0.3
    assert RATES["cnn-upper"](k, d, s) == pytest.approx(s**2 * (k + d) * log(k * d), rel=1e-14)
    assert RATES["lcn-upper"](k, d, s) == pytest.approx(s**2 * k * (k + d) * log(k * d), rel=1e-14)
    assert rate("lcn-lower", k, d, s) == pytest.approx(s**2 * k * d, rel=1e-14)
    assert rate("fcn-lower", k, d, s) == pytest.approx(s**2 * k * k * d, rel=1e-14)


@pytest.mark.parametrize("bound", RATES)
@pytest.mark.parametrize("ray", [(1, 0), (0, 1), (1, 1)])
def test_growth_is_the_derivative_where_one_term_dominates(bound, ray):
    """With d = 10^9 and with k = 10^9 the local exponent is one end or the other."""
    each, step = RATES[bound], 1e-4
    local = []
    for k, d in ((1e9, 10.0), (10.0, 1e9)):
        grown = each(k * (1 + step) ** ray[0], d * (1 + step) ** ray[1], 1.0)
        local.append((log(grown / each(k, d, 1.0)) / np.log1p(step), each.growth(*ray, k, d)))
    ends = sorted(value for value, _ in local)
    assert ends[0] == pytest.approx(local[0][1][0], abs=0.01)
    assert ends[1] == pytest.approx(local[0][1][1], abs=0.01)


def test_what_each_kind_of_bound_allows():
    linear = measured(0.35, 0.95)  # the CNN's, about
    assert verdicts("σ²(k+d) ln(kd)", linear) == ("consistent", "consistent", "consistent")
    assert verdicts("σ²kd", linear) == ("consistent", "fails", "fails")  # too large is an upper bound still
    assert verdicts("σ²k", linear) == ("fails", "fails", "fails")
    assert verdicts("σ²", linear) == ("fails", "consistent", "fails")
    assert verdicts("σ²d", linear) == ("undecided", "consistent", "undecided")
    assert verdicts("σ²d", measured(0.0, 1.0)) == ("consistent", "consistent", "consistent")
    assert verdicts("σ²d²", linear) == ("undecided", "fails", "fails")


def test_k_plus_d_may_grow_like_either_but_not_like_both():
    assert verdicts("σ²(k+d)", measured(1, 0)) == ("consistent", "consistent", "consistent")
    assert verdicts("σ²(k+d)", measured(0, 1)) == ("consistent", "consistent", "consistent")
    assert verdicts("σ²(k+d)", measured(0.5, 0.5)) == ("consistent", "consistent", "consistent")
    assert verdicts("σ²(k+d)", measured(0.8, 0.8)) == ("fails", "consistent", "fails")
    assert verdicts("σ²(k+d)", measured(0.25, 0.25)) == ("consistent", "fails", "fails")


def test_the_power_of_sigma_counts_on_both_sides():
    for sigma, verdict in (
        (1.3, "fails"),
        (1.55, "undecided"),
        (1.7, "consistent"),
        (2.3, "consistent"),
        (2.7, "fails"),
    ):
        assert verdicts("σ²kd", measured(1, 1, sigma)) == (verdict,) * 3
    assert verdicts("σ³kd", measured(1, 1, 3)) == ("consistent",) * 3
    some = {ray: each for ray, each in measured(1, 1, 9).items() if ray != "sigma"}
    assert compared("growth", RATES["lcn-lower"], some, CENTRE).verdict == "consistent"  # not measured


def test_one_more_logarithm_is_within_the_tolerance():
    upper, local = RATES["cnn-upper"], 1 / log(400)
    found = measured(1 + 2 * local - 0.1, 0.0, reach=0.05)
    assert compared("upper", upper, found, CENTRE).verdict == "consistent"
    assert upper.growth(1, 0, *CENTRE) == (pytest.approx(local), pytest.approx(1 + local))
    assert upper.growth(1, 1, *CENTRE) == (pytest.approx(1 + 2 * local), pytest.approx(1 + 2 * local))


def test_the_study_judges_by_its_own_thresholds(monkeypatch):
    """Those that are frozen: in k 0.1 above what the rate allows, in sigma 0.3 off."""
    rates = study()
    monkeypatch.setattr(type(rates), "found", lambda self, table, name: measured(1.35, 0.5, 2.3, 0.02))

    def verdict(**changes):
        monkeypatch.setattr(type(rates), "thresholds", {"in k and d": 0.25, "in sigma": 0.5, **changes})
        return rates.compared(None, CNN, "upper", Rate("k", ((1, 0),))).verdict

    assert verdict() == "fails" and verdict(**{"in k and d": 2.0}) == "consistent"
    assert verdict(**{"in k and d": 2.0, "in sigma": 0.2}) == "fails"


def test_controls_must_all_be_rejected():
    made = {verdict: Evidence(verdict, {verdict: 1}) for verdict in ("fails", "undecided", "consistent")}
    assert all_rejected(made["fails"], made["fails"]).verdict == "fails"
    assert all_rejected(made["fails"], made["undecided"]).verdict == "undecided"
    assert all_rejected(*made.values()).verdict == "consistent"


def test_the_middle_of_a_design():
    assert middle([(10, 5, 0.1), (40, 20, 0.2)]) == (pytest.approx(20), pytest.approx(10))


# the study

TRUE = {"CNN": ("cnn-upper", 25.0), "LCN": ("lcn-lower", 60.0), "FCN": ("fcn-lower", 400.0)}


def truth(**changes):
    """m* in proportion to a rate; for the LCN the lower one, which its upper bound allows, too."""
    ways = {name: (RATES[bound], least) for name, (bound, least) in TRUE.items()}
    ways |= {name: (each, TRUE[name][1]) for name, each in changes.items()}

    def needs(labels):
        each, least = ways[NETWORK[labels["arm"]]]
        return least * each(labels["k"], labels["d"], labels["sigma"]) / each(10, 10, 0.1)

    return needs


def study(**settings):
    arms = {
        name: {"network": network, "learner": dict(learner), "seeds": 5, "largest_m": 200_000}
        for name, (network, learner, _, _) in SETTINGS.items()
        if "sigma" not in name
    }
    return configure("lahoti.rates", "quick", {"arms": arms, "sizes.resolution": 0.1, **settings})


def judged(needs):
    made = study()
    return made, made.table(*at_once(made, needs))


def test_true_rates_are_consistent_and_their_neighbours_are_not():
    made, table = judged(truth())
    found = made.judge(table)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    exponents = made.found(table, FCN)
    assert [exponents[ray].value for ray in ("k", "d", "k and d", "sigma")] == pytest.approx(
        [2, 1, 3, 2], abs=0.1
    )
    assert exponents["k"].spare == 5 and made.found(table, CNN)["k"].spare == 7
    rates = made.tables(table)["Rates"].set_index(["arm", "rate"])
    assert tuple(rates.loc[LCN, "σ²kd"]) == ("consistent",) * 3
    assert tuple(rates.loc[LCN, "σ²k²d"]) == ("consistent", "fails", "fails")
    assert tuple(rates.loc[FCN, "σ²k³d"]) == ("consistent", "fails", "fails")
    assert len(made.tables(table)["Exponents of m*"]) == 5
    assert len(made.figures(table)) == 6


@pytest.mark.parametrize(
    "network, each",
    [
        ("CNN", Rate("σ²kd", ((1, 1),))),
        ("CNN", Rate("σ(k+d)", ((1, 0), (0, 1)), 1.0)),
        ("LCN", Rate("σ²k²d²", ((2, 2),))),
        ("LCN", Rate("σ²d", ((0, 1),))),
        ("FCN", Rate("σ²kd", ((1, 1),))),
        ("FCN", Rate("σ³k²d", ((2, 1),), 3.0)),
    ],
    ids=lambda each: getattr(each, "formula", each),
)
def test_a_truth_that_contradicts_a_bound(network, each):
    made, table = judged(truth(**{network: each}))
    assert made.judge(table).evidence.verdict == "fails"


def test_two_steps_are_measured_against_the_true_signal_under_their_own_threshold():
    made = study()
    cells = {cell.labels["arm"]: cell for cell in made.cells()}
    cell = cells["LCN, two steps"]
    k, sigma = cell.labels["k"], cell.labels["sigma"]
    assert known_signal(cell.task, 0.0) == pytest.approx(k * sigma**2, rel=1e-9)  # w* passes all noise
    assert made.goal(cell) == pytest.approx(k * sigma**2 + 0.03, rel=0.01)
    assert made.goal(cells[LCN]) == known(cells[LCN].task)[0] + 0.03
    assert made.comparable(cell)
    quick = configure("lahoti.rates", "quick")
    raised = [cell for cell in quick.cells() if "sigma" in cell.labels["arm"]]
    assert raised and all(cell.learner.bias_1 == 3 * cell.labels["sigma"] for cell in raised)
    assert {cell.learner.normalise for cell in raised} == {RAISED["normalise"]}


def test_nothing_is_said_without_rows_and_little_with_few():
    made = study()
    empty = made.table([], {})
    assert made.judge(empty).evidence.verdict == "undecided" and made.tables(empty) == {}
    assert all(made.figures(empty).values())
    _, table = judged(truth())
    some = table[(table["arm"] != FCN) | (table["size"] == table["size"].max())]
    assert made.judge(some).evidence.verdict == "undecided"


def test_what_is_never_reached_contradicts_nothing_by_itself():
    def needs(labels):
        return inf if labels["arm"] == FCN and labels["k"] == 20 else truth()(labels)

    made, table = judged(needs)
    found = made.found(table, FCN)
    assert found["k"].high == inf and found["k"].spare == 0
    assert compared("lower", RATES["fcn-lower"], found, CENTRE).verdict in ("undecided", "consistent")
