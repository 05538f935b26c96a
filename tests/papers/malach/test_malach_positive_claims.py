"""Every claim on section 3 of Malach & Shalev-Shwartz: its verdict, its controls, the numbers that decide."""

import numpy as np
import pytest
from every_claim import EveryClaim, check, control

from whyconv import registry
from whyconv.papers.malach.claims import descent
from whyconv.papers.malach.exact import bounds, k_patterns, routes, window_descent


class TestEveryClaim(EveryClaim):
    paper = "Malach & Shalev-Shwartz"
    modules = tuple(
        f"malach.claims.{name}" for name in ("descent", "learning", "regret", "representation", "sizes")
    )
    twice = ("malach.lemma6", "malach.lemma8", "malach.thm10")
    slow = ("malach.thm4",)


ALL = TestEveryClaim.cases((name,) for name in TestEveryClaim.names())


FIVE = ("malach.lemma8", "malach.lemma9", "malach.thm10", "malach.thm4", "malach.lcn")


@pytest.mark.parametrize("name", TestEveryClaim.cases((name,) for name in (*FIVE, "malach.cor5")))
def test_both_routes_agree_wherever_there_are_two_descents(name):
    gaps = [value for key, value in check(name).numbers.items() if "compressed and plain differ" in key]
    assert len(gaps) == 1 and gaps[0] < 1e-13


@pytest.mark.parametrize("name", ALL)
def test_no_transcription_differs(name):
    assert check(name).numbers["transcriptions that differ"] == 0


@pytest.fixture
def fresh():
    """Claims keep descents that several of them use; here they are computed anew, before and after."""
    kept = (descent.large_runs, descent.small_walks, descent.cases)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


def _shifted(n_bits, table, position):
    k_window = len(table).bit_length() - 1
    windows = k_patterns.window_count(n_bits, k_window)
    return table[k_patterns.window_codes(n_bits, k_window)[:, position % windows]]


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (k_patterns, "labels", _shifted),
        (k_patterns, "distribution", lambda law, n: np.full(2**n, 0.5**n)),
        (window_descent, "separator", lambda *args: 1.1 * SEPARATOR(*args)),
    ],
    ids=["labels off by a window", "another law", "another u*"],
)
def test_the_two_routes_set_up_their_problems_by_themselves(fresh, monkeypatch, place, name, wrong):
    """Each of the five claims asks for this gap."""
    monkeypatch.setattr(place, name, wrong)
    assert max(each.gap for each in descent.small_walks((0, 1, 2, 3), 1.0)) > 1e-3
    assert routes.walk("parity", 1, "biased", shared=False, width=12, steps=8).gap > 1e-3


SEPARATOR = window_descent.separator


def test_the_kink_of_the_hinge_is_met_exactly():
    both = routes.kink()
    assert both.path.loss[:2, 0].tolist() == [1.0, 0.0] and both.gap == 0
    assert np.array_equal(both.path.readout_norms[1], both.path.readout_norms[-1])


def test_instances_near_the_extreme():
    eight, nine = check("malach.lemma8").numbers, check("malach.lemma9").numbers
    assert eight["largest |u| / (c eta t sqrt(q)), crowds"] == pytest.approx(1, abs=1e-9)
    assert 0.45 < eight["largest |W - W0| / bound, crowds"] < 0.5
    assert 0.98 < eight["largest |W - W0| / sharper bound"] < 1
    assert 0.45 < nine["the same, crowds"] < 0.5
    assert 0.98 < nine["largest |change of L| / sharper bound"] < 1
    assert check("malach.thm10").numbers["with eta/2, equal linear f_t"] == pytest.approx(0, abs=1e-12)
    assert 0.999 < check("malach.thm10").numbers["left / right side with eta/2, q = 40,000"] < 1
    assert 0.7 < check("malach.lemma6").numbers["the same, fewest copies allowed"] < 2**-0.5
    assert 0.98 < check("malach.lcn").numbers["the same, crowds and plain networks"] < 1


def test_an_activation_that_outgrows_c_violates_lemma_8_later_than_at_the_start():
    each = routes.crowd(2, 1, 4, 0.5, 0.0, bounded=False)
    ratios = [
        each.path.readout_norms[t].max() / bounds.readout_bound(each.step, t, 4, 0.5) for t in range(1, 201)
    ]
    assert ratios[0] == pytest.approx(1, abs=1e-12) and ratios[1] == pytest.approx(1, abs=1e-12)
    assert ratios[-1] > 1.005 and sorted(ratios[2:]) == ratios[2:]


def test_the_numbers_that_decide():
    names = [name for name in TestEveryClaim.names() if name not in TestEveryClaim.slow]
    numbers = {name: check(name).numbers for name in names}
    assert numbers["malach.lemma6"]["worst |h - f| over all g, k <= 10"] < 1e-14
    assert 0.5 <= numbers["malach.lemma6"]["largest |u*| / (2^(k+1) k / sqrt(q)), drawn"] < 0.55
    assert numbers["malach.lemma6"]["largest P(bad start) / delta"] == pytest.approx(0.0334, abs=1e-3)
    assert numbers["malach.lemma8"]["the same without c, counterexample"] == pytest.approx(4.56, abs=0.01)
    assert numbers["malach.lemma9"]["largest |change of L|, small"] > 0.5
    assert -1e-5 < numbers["malach.thm10"]["with eta/2, the CNN's losses, q = 40,000"] < 0
    assert numbers["malach.thm4-eta"]["T from which it exceeds 1, n = 4, k = 2, q = 4e4"] == 79
    assert numbers["malach.lcn"]["its bound"] == pytest.approx(0.6432)
    assert numbers["malach.cor5"]["learned to accuracy eps"].mean == 1
    powers = [f"{which} grows with log n to the power, a = 2" for which in ("q / n^(4a-1)", "T / n^(2a+1)")]
    assert [numbers["malach.cor5"][power] for power in powers] == pytest.approx([4, 2], abs=1e-6)


def test_the_paper_s_wording_fails_where_it_fails():
    assert check("malach.lemma6").numbers["best |h - f| at the last window, n - k windows"] > 0.99
    assert check("malach.lemma6").numbers["best |h - f|, sigma affine where it counts"] > 0.99
    assert check("malach.thm4-eta").numbers["the same in fractions: T times the stated term"] is True
    five = check("malach.cor5").numbers
    assert five["terms / (eps/2), printed q and T, n = 4"] <= 1
    assert five["terms / (eps/2), printed q and T, n = 2^20"] > 5
    assert five["the same, k = 2 log2 n, n = 2^10"] > 1e6


def test_the_step_size_is_called_a_misprint():
    claim = registry.find("claim", "malach.thm4-eta")
    assert claim.provenance == "misprint" and "misprint" in claim.summary()


def test_the_controls_fail_for_the_reason_they_name():
    assert control("malach.lemma6", "bias-0").numbers["worst |h - f|, drawn filters, k <= 4"] > 0.5
    assert control("malach.lemma6", "bias-step").numbers["worst |h - f|, drawn filters, k <= 4"] > 0.5
    assert control("malach.lemma6", "width").numbers["largest P(bad start) / delta"] > 1
    assert control("malach.lemma8", "unbounded").numbers["largest |u| / (c eta t sqrt(q)), crowds"] > 1.005
    for name in ("malach.lemma8", "malach.lemma9"):
        sharp = next(key for key in control(name, "half").numbers if "sharper" in key)
        assert control(name, "half").numbers[sharp] == pytest.approx(2 * check(name).numbers[sharp])
        assert control(name, "windows").numbers[sharp] > 1.2
        assert control(name, "no-k").numbers[sharp] == pytest.approx(3**0.5, rel=0.02)
    assert control("malach.thm10", "concave").numbers["largest excess over the bound, drawn f_t"] > 1
    for word in ("quarter", "start", "distance"):
        assert control("malach.thm10", word).numbers["with eta/2, equal linear f_t"] > 0.1
    assert control("malach.thm4-eta", "no-root").numbers["the same in fractions: equal"] is False
    assert control("malach.thm4-eta", "twice").numbers["the same in fractions: equal"] is False
    assert control("malach.lcn", "equal").numbers["largest average loss / bound"] > 1
    assert control("malach.lcn", "shared").numbers["the same, crowds and plain networks"] > 3
    assert control("malach.cor5", "sample").numbers["learned to accuracy eps"].high < 0.9
    for word in ("log-q", "log-T", "quantifier"):
        assert control("malach.cor5", word).numbers["terms / (eps/2), corrected q and T, largest"] > 2


SEARCHED = TestEveryClaim.cases((name,) for name in ("malach.lemma6", *FIVE))


@pytest.mark.parametrize("name", SEARCHED)
def test_the_search_finds_no_counterexample_and_repeats_itself(name):
    claim = registry.find("claim", name)()
    for seed in (0, 1, 2):
        found = claim.stress(seed)
        assert found and all(0.1 < each.ratio <= 1 + 1e-9 for each in found.values())
    assert claim.stress(2) == found


@pytest.mark.long
def test_the_numbers_of_theorem_4():
    numbers = check("malach.thm4").numbers
    assert 0.25 < numbers["largest average loss / bound, scarcest starts"] < 0.35
    assert numbers["its bound"] == pytest.approx(0.4928) and numbers["largest bound"] < 1
    assert numbers["average loss with the paper's n - k windows"] == pytest.approx(1)
    assert numbers["average loss, sigma affine where it counts"] == pytest.approx(1)
    assert numbers["its bound, c = 2"] < 1
    loss = "worst average loss, n = 4, k = 2, q = 4e4, T = 1e4"
    assert control("malach.thm4", "far").numbers[loss] == pytest.approx(1)
    assert control("malach.thm4", "longer").numbers[loss] == pytest.approx(1)
    assert control("malach.thm4", "step").numbers["largest average loss / bound, drawn starts"] > 1
