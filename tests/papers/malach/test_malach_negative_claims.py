"""The claims on Malach & Shalev-Shwartz, sections 4 and 5: verdicts, controls, the numbers that decide."""

from math import comb

import numpy as np
import pytest
from every_claim import EveryClaim, check, control, controls

from whyconv.papers.malach.exact import initial_gradient


class TestEveryClaim(EveryClaim):
    paper = "Malach & Shalev-Shwartz"
    modules = tuple(
        f"malach.claims.{name}" for name in ("expressivity", "failure", "negative", "precision", "search")
    )
    twice = ("malach.thm12", "malach.level-identity", "malach.nas")
    slow = ("malach.finite-precision", "malach.stuck")

    def test_every_control_fails(self, name):
        """But where the statement itself fails: there it must not."""
        expected = {"consistent"} if name == "malach.stuck" else {"fails"}
        assert {evidence.verdict for evidence in controls(name)} == expected


def test_theorem_12_at_its_sizes():
    numbers = check("malach.thm12").numbers
    assert numbers["tanh, E|dL/dw|^2, n = 16"] == pytest.approx(6.06e-5, rel=1e-3, abs=0)
    assert numbers["tanh, E|dL/dw|^2, n = 1024"] == pytest.approx(2.51e-24, rel=1e-3, abs=0)
    assert numbers["Theorem 12's bound, n = 1024"] == pytest.approx(3.09e-21, rel=2e-3, abs=0)
    assert numbers["largest E|dL/dw|^2 / bound, usual starts"] == pytest.approx(1.077e-2, rel=2e-3, abs=0)
    assert numbers["relative gap of the Gaussian routes"] < 1e-11
    assert numbers["transcriptions that differ"] == 0
    broken = control("malach.thm12", "on-I").numbers
    assert broken["tanh, E|dL/dw|^2, n = 1024"] > 1e10 * numbers["Theorem 12's bound, n = 1024"]
    assert broken["relative gap of the Gaussian routes"] < 1e-10


def test_theorem_12_is_attained():
    numbers = check("malach.thm12").numbers
    assert numbers["the same, extremal starts, n <= 9"] == pytest.approx(8 / 9, abs=1e-9)  # k = 1 or 8, n = 9
    assert numbers["E(dL/du)^2 / bound, extremal starts, n <= 9"] == pytest.approx(1, abs=1e-9)
    assert numbers["the same, extremal start, n = 1024, k = 10"] == pytest.approx(1014 * 1015 / 1024**2)
    for word, least in (("steep", 1.2), ("favoured", 1.2), ("half", 0)):
        broken = control("malach.thm12", word).numbers
        assert broken["E(dL/du)^2 / bound, extremal starts, n <= 9"] > least


@pytest.mark.parametrize("name", ["malach.thm12", "malach.level-identity"])
def test_the_search_comes_near_the_bounds_and_not_above(name):
    from whyconv import registry

    claim = registry.find("claim", name)()
    ratios = [each.ratio for seed in range(6) for each in claim.stress(seed).values()]
    assert 0.99 < max(ratios) <= 1 + 1e-9
    assert claim.stress(3) == claim.stress(3)


@pytest.mark.parametrize(("name", "first", "last"), [("tanh", 5.17e-3, 8.11e-4), ("sigmoid", 3.4e-5, 4.0e-7)])
def test_shares_of_the_papers_bound(name, first, last):
    from whyconv.papers.malach.claims.negative import _gaussian_squares

    for n_bits, k_window, share in ((16, 4, first), (1024, 10, last)):
        value = _gaussian_squares(name, n_bits, k_window)[0]
        assert value / float(initial_gradient.paper_bound(n_bits, k_window)) == pytest.approx(
            share, rel=1e-2, abs=0
        )


def test_the_readouts_part_of_theorem_12():
    from whyconv.papers.malach.claims.negative import _gaussian_squares

    assert _gaussian_squares("tanh", 16, 4)[1] == pytest.approx(7.97e-7, rel=1e-3, abs=0)
    assert _gaussian_squares("tanh", 1024, 10)[1] == pytest.approx(2.44e-28, rel=2e-3, abs=0)


def test_the_level_identity_and_the_step_it_replaces():
    numbers = check("malach.level-identity").numbers
    assert numbers["gap of the norms, all 720 permutations, n = 6"] < 1e-15
    assert numbers["gap of the norms, n = 9"] < 1e-15
    assert numbers["largest gap to the tight bound, k = 3, 4, 5, n = 6..10"] < 1e-12
    assert numbers["E (dL/dw_j)^2, j in I, n = 10, k = 3"] == pytest.approx(1 / 45, rel=1e-9, abs=0)
    assert numbers["what the proof's step allows"] == pytest.approx(1 / 84, rel=1e-9, abs=0)
    assert numbers["1/|S_j|"] == pytest.approx(1 / 36, rel=1e-9, abs=0)
    assert numbers["E |dL/dw|^2 of the same start"] == pytest.approx(8 / 120, rel=1e-9, abs=0)
    assert numbers["Theorem 12's bound"] == pytest.approx(10 / 84, rel=1e-9, abs=0)
    for word in ("rotations", "first", "swapped"):
        assert control("malach.level-identity", word).numbers["gap of the norms, n = 9"] > 0.001


@pytest.mark.long
def test_what_each_dtype_makes_of_the_first_step():
    numbers = check("malach.finite-precision").numbers
    words = {name: value for name, value in numbers.items() if isinstance(value, str)}
    places = ("float16, n = 1024", "float32, n = 1024", "float64, n = 1024", "float64, n = 8192")
    assert words == dict(zip(places, ("lost", "lost", "kept", "lost"), strict=True))
    mean = numbers["root mean square of dL/dw_j, j in I, n = 1024"]
    assert mean == pytest.approx(5.0e-13, rel=1e-2, abs=0)
    # half a unit of 1/32 is 2^-58 in float64; the words are no matter of a factor of two
    assert 100 * 2.0**-58 < numbers["median |dL/dw_j|, j in I, n = 1024"] < mean / 500
    assert numbers["median |dL/dw_j|, j in I, n = 8192"] < 1e-4 * 2.0**-60
    assert 0 < numbers["largest relative gap of the two routes"] < 0.05
    assert numbers["least share of neurons that a word stands for"].low > 0.5
    broken = control("malach.finite-precision").numbers
    assert {broken[place] for place in places[2:]} == {"kept"}


@pytest.mark.parametrize(
    ("steps", "word"),
    [([0, 0, 0, 0], "lost"), ([1, 1, 0, 0], "kept"), ([1, 0, 0, 0], "partly"), ([0, 0, 1, 1], "partly")],
)
def test_the_words_for_a_step(steps, word):
    """Two of four weights are in I; a step of 2^-20 is seen beside 1 in float32 and not in float16."""
    from whyconv.papers.malach.claims.precision import _word

    gradient = np.tile(np.array([steps]) * 2.0**-20, (20, 1))
    assert _word(np.ones((20, 4)), gradient, 2, "float32")[0] == word
    assert _word(np.ones((20, 4)), gradient, 2, "float16")[0] == "lost"
    gradient[:9] = 1
    found = _word(np.ones((20, 4)), gradient, 2, "float32")
    assert found[0] == ("kept" if word == "kept" else "mixed")


def test_the_permutation_is_invisible_to_one_and_visible_to_two():
    numbers = check("malach.permutation").numbers
    assert numbers["FCN predictions apart, all steps"] < 1e-13
    assert 0 < numbers["FCN parameters apart, all steps"] < 1e-13
    assert numbers["permutations with equal fractions, of 24"] == 24
    for kind in ("CNN", "LCN"):
        assert numbers[f"{kind} loss, given order"] < 0.01
        assert numbers[f"{kind} loss, permuted order"] == pytest.approx(1, abs=1e-12)
    for word in ("uncoupled", "swap"):
        assert control("malach.permutation", word).numbers["FCN predictions apart, all steps"] > 0.1
    assert control("malach.permutation", "uncoupled").numbers["permutations with equal fractions, of 24"] == 1
    assert control("malach.permutation", "swap").numbers["permutations with equal fractions, of 24"] <= 1


def test_juntas_and_orders():
    numbers = check("malach.junta").numbers
    assert numbers["rank of all 2-juntas of 6 bits"] == numbers["sum of C(6, i), i <= 2"] == 22
    assert numbers["C(n, log2 n) = n to the power, n = 1024"] > 7
    # rotations reach n of the C(n, k) sets: all but 2 for n = 4, 10 for n = 5, 32 for n = 6
    assert (
        control("malach.junta", "rotations").numbers["k-sets that are no window of any order"] == 2 + 10 + 32
    )
    assert control("malach.junta", "rotations").numbers["juntas that no pattern gives"] > 200
    near = control("malach.junta", "first").numbers
    assert near["k-sets that are no window of any order"] == 0 < near["juntas that no pattern gives"]


def test_flatness_of_the_search():
    numbers = check("malach.nas").numbers
    assert numbers["window sets tried"] == 15 + 56 + 70 + 120 + 210
    assert numbers["the same in integers"] == 0
    assert numbers["least signal of an aligned window"] > 1e-3
    assert numbers["orders of 8 bits with a signal, k = 3"] == 6 * 6 * 120
    assert numbers["windows that see a majority, n = 10, k = 3"] == pytest.approx(1 - 35 / 120)
    assert control("malach.nas", "majority").numbers["orders of 8 bits with a signal, k = 3"] == 40_320
    assert control("malach.nas", "majority").numbers["largest signal of an unaligned window"] > 0.1
    assert control("malach.nas", "nearly").numbers["the same in integers"] > 0


def test_cnns_are_strictly_inside_fcns():
    numbers = check("malach.expressivity").numbers
    assert numbers["dimension of CNNs, n = 6, k = 3"] == 8 + 3 * 4 < numbers["dimension of FCNs, n = 6"]
    assert control("malach.expressivity", "whole").numbers["dimension of CNNs, n = 6, k = 3"] == 64
    assert control("malach.expressivity", "one-less").numbers["CNNs whose FCN differs, fractions"] > 15
    assert control("malach.expressivity", "shifted").numbers["CNN and FCN apart, tanh"] > 0.1


@pytest.mark.long
def test_descent_is_not_stuck_but_its_first_step_is_small():
    numbers = check("malach.stuck").numbers
    assert numbers["starts that learn, n = 8, k = 3"].low > 0.5
    assert numbers["largest |first gradient|^2, n = 8, q = 64"] < numbers["Theorem 12's bounds on its mean"]
    assert control("malach.stuck", "first").numbers["starts that learn, n = 8, k = 3"].high < 0.5


def test_the_first_gradient_is_small_with_overwhelming_probability():
    numbers = check("malach.overwhelming").numbers
    # 4,096 neurons at n = 64, k = 6: 1 - (1 - 6/C(64, 5))^4096 over sqrt(B), largest there
    share = -np.expm1(4096 * np.log1p(-6 / comb(64, 5)))
    root = (4096 * (64 / comb(63, 6) + 1 / comb(64, 6))) ** 0.5
    assert numbers["P(gradient >= 1) / promised, extremal start"] == pytest.approx(share / root, rel=1e-9)
    assert numbers["P(gradient >= 1), q = C(n,k-1)/k, n = 1024"] == pytest.approx(1 - np.exp(-1), rel=1e-6)
    assert control("malach.overwhelming", "constant").numbers["sqrt(B) = 1/n to the power, n = 2^20"] < 1
    assert control("malach.overwhelming", "square").numbers["P(gradient >= 1) / promised, extremal start"] > 1
