"""Every claim on Brutzkus & Globerson: its verdict, its controls, and the numbers that decide."""

import pytest
from every_claim import EveryClaim, check, control

from whyconv import registry, stress
from whyconv.exact.transcription import DIFFER, differing
from whyconv.papers.brutzkus.claims import seeds


class TestEveryClaim(EveryClaim):
    paper = "Brutzkus & Globerson"
    modules = ("brutzkus.claims",)
    twice = ("brutzkus.lemma5.2", "brutzkus.fc-width", "brutzkus.thm4.2")
    slow = tuple(
        f"brutzkus.{name}" for name in ("appendix-a", "cor5.4", "fc-bound", "thm5.1-error", "thm5.1-loss")
    )


ALL = TestEveryClaim.cases((name,) for name in TestEveryClaim.names())


def test_the_numbers_that_decide():
    names = ("thm4.2", "vcdim", "bad-erm", "lemma5.2", "prop6.1")
    numbers = {f"brutzkus.{name}": check(f"brutzkus.{name}").numbers for name in names}
    assert numbers["brutzkus.thm4.2"]["labellings tried"] == 4 + 16 + 256 + 6 * 20
    assert numbers["brutzkus.thm4.2"]["largest shattered set"] == 512
    assert [numbers["brutzkus.vcdim"][f"closed form, d = {d}"] for d in (4, 6, 8, 10)] == [4, 20, 82, 324]
    assert numbers["brutzkus.bad-erm"]["largest training error"] == 0
    assert numbers["brutzkus.bad-erm"]["expected error at m = 8 d, d = 20"] > 0.999
    assert numbers["brutzkus.lemma5.2"]["failure as printed, d = 6, l = 3"] > 0.9999
    assert numbers["brutzkus.prop6.1"]["least |w|^2 by QP, n = 6"] == pytest.approx(12, abs=1e-7)
    assert numbers["brutzkus.prop6.1"]["largest n / proved least |w|^2, n <= 50"] == 0.5


NEAR = [
    ("brutzkus.lemma5.3", "least growth / (t eta/9), built", 1.48, 1.5),
    ("brutzkus.lemma5.3", "largest other product / r", 0.999, 1),
    ("brutzkus.lemmaC.1", "largest norm / (eta (t+1)), built", 0.48, 0.5),
    ("brutzkus.lemmaC.2", "largest |N| / (1/2), built", 0.23, 0.25),
    ("brutzkus.lemma5.5", "largest x[j].w / (2 eta t), built", 0.25, 0.26),
    ("brutzkus.separator", "least margin of v* on D, built", 3, 3.2),
    ("brutzkus.separator", "largest product / (51,200 l), built", 0.011, 0.013),
    ("brutzkus.thm5.1-loss", "largest loss / proved bound, built", 0.6, 0.7),
    ("brutzkus.appendix-a", "built: steps / proved", 0.25, 0.26),
    ("brutzkus.fc-bound", "most updates / proved number, slope 1", 0.7, 1),
]


@pytest.mark.parametrize(("name", "number", "low", "high"), TestEveryClaim.cases(NEAR))
def test_built_runs_come_near_to_the_bounds(name, number, low, high):
    assert low < check(name).numbers[number] < high


def test_what_is_corrected_is_refuted_as_printed():
    assert check("brutzkus.lemma5.3").numbers["unconditional: growth, one positive in ten"] < 0.5
    assert check("brutzkus.lemma5.3").numbers["samples that satisfy Eq. 14 as printed"] == 0
    assert check("brutzkus.separator").numbers["with 80 d, product / (51,200 d), d = 300, l = 3"] > 1.1


def test_training_makes_the_norm_product_small_whatever_the_dimension():
    assert check("brutzkus.separator").numbers["least possible |v|^2 max|z|^2, largest"] < 5
    assert check("brutzkus.separator").numbers["the same before training, largest"] > 20


@pytest.mark.long
def test_bounds_that_say_something_at_sizes_that_exist():
    assert check("brutzkus.thm5.1-error").numbers["m_2 where the bound falls below 1"] < 200
    assert check("brutzkus.appendix-a").numbers["most steps to gamma/2"] <= 3


REASONS = [
    ("brutzkus.thm4.2", "complement", "worst |N(x) - y|", 1, 3),
    ("brutzkus.vcdim", "sum", "rank of features, d = 10", 8.9, 9.1),
    ("brutzkus.lemma5.2", "square", "failure / 4e^(-d), d = l = 20", 10, 12),
    ("brutzkus.lemma5.3", "share", "least growth / (t eta/9), built", 0.99, 1),
    ("brutzkus.lemma5.3", "constant", "least growth / (t eta/9), built", 0.8, 0.85),
    ("brutzkus.cor5.4", "step", "least growth / (t eta/9), built", 0.9, 1),
    ("brutzkus.lemmaC.1", "constant", "largest norm / (eta (t+1)), built", 1, 1.05),
    ("brutzkus.lemmaC.2", "step", "largest |N| / (1/2), built", 1, 1.1),
    ("brutzkus.lemma5.5", "constant", "largest x[j].w / (2 eta t), built", 1, 1.02),
    ("brutzkus.separator", "radius", "least margin of v* on D, built", 0.4, 1),
    ("brutzkus.thm5.1-loss", "flipped", "runs with a separable S_2", -1, 1),
    ("brutzkus.thm5.1-direction", "uneven", "largest margin share / cosine", 1.01, 1.3),
    ("brutzkus.thm5.1-error", "rate", "|bound / sum of its parts - 1|", 0.5, 0.8),
    ("brutzkus.thm5.1-error", "term", "|bound / sum of its parts - 1|", 0.2, 0.5),
    ("brutzkus.appendix-a", "number", "built: steps / proved", 2, 2.2),
    ("brutzkus.fc-bound", "slope", "most updates / proved number, slope 0.03", 1.5, 4),
    ("brutzkus.prop6.1", "last", "least |w|^2 by QP, n = 6", 9.9, 10.1),
]


@pytest.mark.parametrize(("name", "word", "number", "low", "high"), TestEveryClaim.cases(REASONS))
def test_the_controls_fail_for_the_reason_they_name(name, word, number, low, high):
    assert low < control(name, word).numbers[number] < high


@pytest.mark.parametrize("name", ALL)
def test_a_round_of_search_contradicts_nothing_and_is_repeatable(name):
    claim = registry.find("claim", name)()
    found = claim.stress(1)
    assert all(0 <= each.ratio <= stress.ROUNDING for each in found.values())
    assert claim.stress(1) == found


@pytest.mark.parametrize("name", ALL)
def test_transcriptions_agree(name):
    assert check(name).numbers.get(DIFFER, 0) == 0


def test_transcriptions_are_compared():
    assert differing((1, 1), (1.0, 1 + 1e-9), (2, 3)) == 2
    assert len(seeds.seeds()) >= 20
