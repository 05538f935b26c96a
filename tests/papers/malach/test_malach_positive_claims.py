"""Every claim on section 3 of Malach & Shalev-Shwartz: its verdict, its control, the numbers that decide."""

import pytest
from every_claim import EveryClaim, check, control


class TestEveryClaim(EveryClaim):
    paper = "Malach & Shalev-Shwartz"
    modules = tuple(f"malach.claims.{name}" for name in ("descent", "learning", "representation", "sizes"))
    twice = ("malach.lemma6", "malach.lemma8", "malach.thm10")


def test_both_routes_agree_wherever_there_are_two_descents():
    for name in (
        "malach.lemma8",
        "malach.lemma9",
        "malach.thm10",
        "malach.thm4",
        "malach.lcn",
        "malach.cor5",
    ):
        gaps = [value for key, value in check(name).numbers.items() if "compressed and plain differ" in key]
        assert len(gaps) == 1 and gaps[0] < 1e-13


def test_the_numbers_that_decide():
    numbers = {name: check(name).numbers for name in TestEveryClaim.names()}
    assert numbers["malach.lemma6"]["worst |h - f| over all g, k <= 10"] < 1e-14
    assert 0.5 <= numbers["malach.lemma6"]["largest |u*| / (2^(k+1) k / sqrt(q))"] < 0.55
    assert numbers["malach.lemma6"]["largest P(bad start) / delta"] == pytest.approx(0.0334, abs=1e-3)
    assert numbers["malach.lemma8"]["the same without c, counterexample"] == pytest.approx(4.56, abs=0.01)
    assert numbers["malach.lemma8"]["the same without c, plain network"] > 4
    assert 0.7 < numbers["malach.lemma8"]["largest |W - W0| / sharper bound"] < 1
    assert 0.001 < numbers["malach.lemma9"]["largest |change of L| / bound, q = 40,000"] < 0.1
    assert numbers["malach.lemma9"]["largest |change of L|, q = 40"] > 0.5
    assert -1e-5 < numbers["malach.thm10"]["with eta/2, the CNN's losses, q = 40,000"] < 0
    assert numbers["malach.thm10"]["with eta/2, equal linear f_t"] == pytest.approx(0, abs=1e-12)
    assert numbers["malach.thm4"]["its bound"] == pytest.approx(0.4928)
    worst = numbers["malach.thm4"]["worst average loss, n = 4, k = 2, q = 4e4, T = 1e4"]
    assert worst == pytest.approx(0.0801, abs=2e-4)
    assert numbers["malach.thm4"]["sizes with a bound below 1"] == 3
    assert numbers["malach.thm4"]["bound at n = 6, k = 3, q = 2e6, T = 2e3 (vacuous)"] > 1
    assert numbers["malach.thm4-eta"]["T from which it exceeds 1, n = 4, k = 2, q = 4e4"] == 79
    assert numbers["malach.lcn"]["its bound"] == pytest.approx(0.6432)
    assert numbers["malach.lcn"]["worst average loss, LCN"] == pytest.approx(0.0801, abs=2e-4)
    assert numbers["malach.cor5"]["largest error over all inputs"] == 0
    assert numbers["malach.cor5"]["q and T grow with n^3 log n to the powers"] == "4.000, 2.000"


def test_the_paper_s_wording_fails_where_it_fails():
    assert check("malach.lemma6").numbers["best |h - f| at the last window, n - k windows"] > 0.99
    assert check("malach.lemma6").numbers["best |h - f|, sigma affine where it counts"] > 0.99
    four = check("malach.thm4").numbers
    assert four["average loss with the paper's n - k windows"] == pytest.approx(1)
    assert four["average loss, sigma affine where it counts, bound 0.88"] == pytest.approx(1)
    assert check("malach.thm4-eta").numbers["the same in fractions: T times the stated term"] is True
    assert check("malach.cor5").numbers["second term / (eps/4), paper's q, n = 4, 2^10, 2^20"] == "1, 5, 10"
    assert check("malach.lcn").numbers["the same for a CNN, windows alike"] > 2


def test_the_controls_fail_for_the_reason_they_name():
    assert control("malach.lemma6").numbers["worst |h - f|, drawn filters, k <= 5"] > 1
    assert control("malach.lemma8").numbers["largest |u| / (c eta t sqrt(q)), clipped ReLU"] > 1000
    assert control("malach.lemma9").numbers["largest |change of L| / bound, q = 40,000"] > 1000
    assert control("malach.thm10").numbers["largest excess over the bound, drawn f_t"] > 1
    loss = "worst average loss, n = 4, k = 2, q = 4e4, T = 1e4"
    assert control("malach.thm4").numbers[loss] == pytest.approx(1)
    assert control("malach.thm4-eta").numbers["the same in fractions: equal"] is False
    assert control("malach.lcn").numbers["worst average loss, LCN"] > 0.7
    assert control("malach.cor5").numbers["largest error over all inputs"] >= 0.25
    for name in ("malach.lemma9", "malach.thm10", "malach.thm4", "malach.lcn", "malach.cor5"):
        gaps = [value for key, value in control(name).numbers.items() if "compressed and plain differ" in key]
        assert gaps[0] < 1e-12
