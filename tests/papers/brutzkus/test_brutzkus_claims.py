"""Every claim on Brutzkus & Globerson: its verdict, its control, and the numbers that decide."""

import pytest
from every_claim import EveryClaim, check, control


class TestEveryClaim(EveryClaim):
    paper = "Brutzkus & Globerson"
    modules = ("brutzkus.claims",)
    twice = ("brutzkus.lemma5.2", "brutzkus.fc-bound", "brutzkus.thm4.2")


def test_the_numbers_that_decide():
    numbers = {name: check(name).numbers for name in TestEveryClaim.names()}
    assert numbers["brutzkus.thm4.2"]["labellings tried"] == 4 + 16 + 256 + 6 * 3
    assert numbers["brutzkus.thm4.2"]["largest shattered set"] == 512
    assert [numbers["brutzkus.vcdim"][f"closed form, d = {d}"] for d in (4, 6, 8, 10)] == [4, 20, 82, 324]
    assert numbers["brutzkus.bad-erm"]["training error"] == 0
    assert numbers["brutzkus.bad-erm"]["exact test error"] > 0.7
    assert numbers["brutzkus.bad-erm"]["test error after LW_CNN's first layer"] == 0
    assert numbers["brutzkus.separator"]["least margin of v* on D"] == pytest.approx(10.57, abs=0.01)
    assert 0.002 < numbers["brutzkus.separator"]["largest |v*|^2 max|z|^2 / (51,200 d)"] < 0.005
    assert numbers["brutzkus.lemma5.2"]["failure as printed, d = 6, l = 3"] > 0.9999
    assert numbers["brutzkus.lemmaC.2"]["largest |N| / (1/2), vectors"] < 0.5
    assert numbers["brutzkus.prop6.1"]["least |w|^2 by QP, n = 6"] == pytest.approx(12, abs=1e-7)
    assert numbers["brutzkus.prop6.1"]["proved least |w|^2 / n, over n <= 50"] == 2
    assert 1.6 < numbers["brutzkus.fc-bound"]["updates grow like n to the power"] < 2.2


def test_training_makes_the_norm_product_small_whatever_the_dimension():
    assert check("brutzkus.separator").numbers["least possible |v|^2 max|z|^2, largest"] < 4
    assert check("brutzkus.separator").numbers["the same before training, largest"] > 20
    assert check("brutzkus.thm5.1-error").numbers["largest B^2 R^2, d = 3..6"] < 4
    assert check("brutzkus.thm5.1-error").numbers["m_2 where the bound falls below 1"] < 200
    assert check("brutzkus.appendix-a").numbers["most steps to gamma/2"] <= 3


def test_the_controls_fail_for_the_reason_they_name():
    assert control("brutzkus.thm4.2").numbers["worst |N(x) - y|"] > 1
    assert control("brutzkus.vcdim").numbers["rank of features, d = 10"] == 9
    assert control("brutzkus.bad-erm").numbers["training error"] > 0
    assert control("brutzkus.lemma5.3").numbers["least growth / (t eta/9)"] < 1
    assert control("brutzkus.cor5.4").numbers["least growth / (t eta/9)"] < 1
    assert control("brutzkus.lemmaC.1").numbers["largest norm / (eta (t+1)), sets"] == pytest.approx(5)
    assert control("brutzkus.lemmaC.2").numbers["largest |N| / (1/2), sets"] > 1
    assert control("brutzkus.lemma5.5").numbers["largest x[j].w / (2 eta t), vectors"] > 1
    assert control("brutzkus.thm5.1-loss").numbers["loss after 30,000 steps"] > 0.5
    assert control("brutzkus.thm5.1-direction").numbers["cosine rises at every mark"] is False
    assert control("brutzkus.thm5.1-error").numbers["runs above the bound"] > 2
    assert control("brutzkus.prop6.1").numbers["least |w|^2 by QP, n = 6"] == pytest.approx(2)
    assert control("brutzkus.fc-bound").numbers["CNN's B^2 R^2, n = 24"] > 20
