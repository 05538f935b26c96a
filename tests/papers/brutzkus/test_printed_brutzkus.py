"""The printed bounds of Brutzkus & Globerson against values worked out by hand."""

from fractions import Fraction as F

import pytest

from whyconv.exact.irrational import Exponential
from whyconv.papers.brutzkus.exact import printed

ONE = Exponential(1, 0)


def test_section_3():
    assert (F(1, 2), 3) == (printed.LABEL_CHANCE, printed.FEWEST_PATTERNS)
    assert [printed.first_sample(m) for m in (1, 6, 7)] == [1, 3, 4]


def test_theorem_4_2():
    assert [printed.theorem_4_2_dimension(d) for d in (4, 6, 10)] == [2, 4, 16]
    with pytest.raises(ValueError):
        printed.theorem_4_2_dimension(5)
    assert printed.theorem_4_2_applies(2, 4)
    assert not printed.theorem_4_2_applies(1, 2)
    assert not printed.theorem_4_2_applies(3, 5)
    assert [printed.theorem_4_2_points(n) for n in (2, 5)] == [2, 16]
    assert [printed.theorem_4_2_channels(n) for n in (2, 5)] == [4, 32]


def test_numbers_of_theorem_5_1():
    assert printed.theorem_5_1_first_rate(5, 2) == F(1, 60)
    assert printed.theorem_5_1_radius(F(1, 2)) == F(1, 400)
    assert printed.theorem_5_1_second_rate(5) == 40
    assert [printed.theorem_5_1_channels(d) for d in (3, 5)] == [216, 1000]
    assert printed.theorem_5_1_probability(F(1, 4), 3, 72) == (
        Exponential(F(3, 4), 0),
        Exponential(-3, -3),
        Exponential(-3, -2),
    )
    assert printed.theorem_5_1_error(3, 48) == F(1, 4)


EDGE = {"d": 3, "k": 217, "T1": 1, "eta1": F(1, 1736), "eta2": 1735, "r": F(1, 347_200)}
"""As large or small as Theorem 5.1 allows: 8 * 27 = 216, 4 * 217 * 2 = 1736, 8 * 217 = 1736, 200 * 1736."""


@pytest.mark.parametrize(
    ("change", "applies"),
    [
        ({}, True),
        ({"T1": 0}, False),
        ({"eta1": F(1, 1735)}, False),
        ({"eta2": 1736}, False),
        ({"r": F(1, 347_199)}, False),
        ({"k": 216, "eta2": 1}, False),
    ],
)
def test_conditions_of_theorem_5_1(change, applies):
    assert printed.theorem_5_1_applies(**{**EDGE, **change}) is applies


def test_lemma_5_2():
    assert printed.lemma_5_2_probability(7) == (ONE, Exponential(-4, -7))
    assert printed.lemma_5_2_range(24, 3) == (2, 8)
    assert [printed.lemma_5_2_lucky(d) for d in (3, 4)] == [F(3, 16), F(7, 48)]
    assert [printed.lemma_5_2_detecting(d) for d in (3, 4)] == [F(3, 8), F(7, 24)]
    assert [printed.lemma_5_2_dark(d) for d in (3, 4)] == [F(1, 4), F(1, 8)]
    assert printed.lemma_5_2_chance_range(3) == (F(1, 6), F(1, 3))
    assert printed.lemma_5_2_sketch_channels(3) == 27
    assert printed.lemma_5_2_sketch_count(24, 3) == 4
    assert printed.equation_13_deviation(3) == F(1, 12)
    assert printed.equation_13_tail(216, 3) == Exponential(2, -3)
    assert printed.equation_13_tail(64, 2) == Exponential(2, -2)
    assert printed.equation_13_bound(7) == Exponential(2, -7)
    assert printed.lemma_5_2_one_side(7) == (ONE, Exponential(-2, -7))


def test_growth_of_lucky_filters():
    assert printed.lemma_5_3_growth(6, F(1, 2)) == F(1, 3)
    assert printed.corollary_5_4_growth(6, F(1, 2)) == F(1, 3)
    assert printed.lemma_5_3_others(F(1, 7)) == F(1, 7)
    assert printed.corollary_5_4_others(F(1, 7)) == F(1, 7)
    assert printed.lemma_c3_probability(72) == (ONE, Exponential(-4, -2))
    assert printed.corollary_5_4_probability(5, 9) == (ONE, Exponential(-4, -5), Exponential(-4, F(-1, 4)))


def test_all_filters():
    assert printed.lemma_5_5_output(F(1, 8), 5) == F(5, 4)
    assert printed.lemma_c1_norm(F(1, 8), 5) == F(3, 4)
    assert printed.lemma_c1_norm_in_proof(F(1, 16), F(1, 8), 5) == F(11, 16)
    assert printed.lemma_c2_output_in_proof(3, F(1, 8), 5) == F(9, 4)
    assert (1, F(1, 2)) == (printed.LEMMA_C1_GRADIENT, printed.LEMMA_C2_OUTPUT)


def test_proof_of_lemma_c3():
    assert printed.equation_14_as_printed(12) == 4
    assert F(1, 3) == printed.EQUATION_14_MEANT
    assert printed.LARGEST_LOSS_SLOPE == 1
    assert (ONE, Exponential(1, F(1, 2))) == printed.EQUATION_17_DENOMINATOR
    assert F(1, 3) == printed.EQUATION_17_SLOPE
    assert printed.equation_20_weight(F(1, 2), 5) == F(1, 30)
    assert printed.equation_20_step(F(1, 2)) == F(1, 18)
    assert printed.claim_3_radius(F(1, 2), 5) == F(1, 3)


def test_separator():
    assert printed.separator_entry(3, 8, F(1, 10), 6) == 50
    assert printed.separation_terms(3, 8, F(1, 10), 6) == (2, 1)
    assert printed.separation_terms(5, 7, F(1, 9), 2) == (2, 1)
    assert printed.MARGIN == 1


def test_second_rate():
    assert printed.SMOOTHNESS == 1
    assert printed.soudry_rate(1, 5, 10) == 4
    assert printed.soudry_rate(F(1, 4), 5, 10) == 16
    assert printed.features_square(10, 3, F(1, 6), 4) == F(160, 3)  # 120 * 16/36
    assert printed.features_square_by_rate(10, 5) == F(1, 2)
    assert printed.soudry_rate(1, printed.features_square_by_rate(10, 5), 10) == 40  # 8k


def test_norms():
    assert printed.separator_square(3, 2, F(1, 10), 4) == 120_000  # 38400 / (2 * 16/100)
    assert printed.feature_square(2, F(1, 10), 4) == F(32, 25)  # 8 * 16/100
    assert printed.squares_product(3) == 153_600  # the product of the two lines above
    assert printed.separator_norm_main(2, 8) == F(1, 2)
    assert printed.feature_norm_main(9) == 3
    assert printed.margin_bound(2, 18) == F(1, 3)


def test_appendix_a():
    assert printed.normalised_margin(16) == F(1, 4)
    assert printed.reached_margin(F(1, 4)) == F(1, 8)
    assert printed.steps_to_margin(F(1, 4)) == 16
    assert printed.steps_to_margin_in_d(16) == 16


def test_section_6():
    assert printed.proposition_6_1_square(9) == 9
    assert printed.proposition_6_1_norm(9) == 3
    assert printed.proposition_6_1_norm_in_section_7(9) == 9
    assert (printed.EQUATION_12, printed.PATTERN_DIFFERENCE) == (2, 2)
    assert printed.data_square(9) == 9
    assert printed.fully_connected_examples(F(5, 2), 4) == 10
    assert printed.fully_connected_best(9) == 81
    assert printed.fully_connected_best_in_d(2, 3) == 64
    assert printed.convolutional_examples(3) == 3


def test_section_7():
    assert (printed.TEST_EXAMPLES, printed.REPETITIONS, printed.CHANNELS) == (1000, 5, 500)
    assert (printed.TOY_DIMENSION, printed.TOY_PATTERNS, printed.LARGEST_NOISE) == (20, 10, 1)
    assert (printed.DIGITS_PER_IMAGE, printed.DISCRIMINATIVE_DIGITS) == (4, (3, 5))
