"""The printed bounds of Malach & Shalev-Shwartz against values worked out by hand."""

from fractions import Fraction as F

import pytest

from whyconv.exact.irrational import Exponential, Logarithm
from whyconv.papers.malach.exact import printed


def test_windows_and_start():
    assert printed.windows(9, 3) == 6
    assert (printed.window_length_first(3), printed.window_length_later(3)) == (4, 3)
    assert printed.initial_weights(4) == (F(-1, 4), F(1, 4))
    assert [printed.initial_bias(k) for k in (1, 2, 4)] == [0, F(-1, 2), F(-3, 4)]
    assert (printed.INITIAL_READOUT, printed.LARGEST_SLOPE) == (0, 1)


@pytest.mark.parametrize("channels", [printed.lemma_6_channels, printed.theorem_4_channels])
def test_condition_on_channels(channels):
    assert channels(3, F(1, 2)) == Logarithm(64, 16)
    assert channels(2, F(1, 3)) == Logarithm(32, 12)


def test_lemma_6():
    assert printed.lemma_6_norm(3, 16) == 12  # 2^4 * 3 / 4
    assert printed.lemma_6_norm(2, 9) == F(16, 3)
    assert printed.lemma_6_norm_squared(3, 16) == 144
    assert printed.lemma_6_norm_squared(2, 9) == F(256, 9)
    with pytest.raises(ValueError):
        printed.lemma_6_norm(2, 10)


def test_proof_of_lemma_6():
    assert printed.lemma_6_sign_chance(3) == F(1, 8)
    assert printed.lemma_6_mean_copies(3, 40) == 5
    assert printed.lemma_6_fewest_copies(3, 40) == F(5, 2)
    assert printed.lemma_6_chernoff(3, 40) == Exponential(1, F(-5, 8))
    assert printed.lemma_6_failure(3, F(1, 2)) == F(1, 16)
    assert printed.lemma_6_feature(3) == F(1, 3)
    assert printed.lemma_6_readout(3, 5) == F(3, 5)


def test_rates_of_theorem_4():
    assert printed.theorem_4_rate_later(4, 9, 16) == F(1, 6)  # 2 / √144
    assert printed.theorem_4_rate_first_statement(4, 9, 16) == F(1, 6)
    assert printed.theorem_4_rate_first_proof(4, 9, 16) == F(1, 24)  # 2 / (3 * 16)
    assert printed.theorem_4_rate_first_proof(9, 4, 5) == F(3, 10)


def test_terms_of_theorem_4():
    # c = 2, n = 4, k = 3, q = 9, T = 16: 4*16*9*8/9, 2*24²/6, 4*8*3/16
    assert printed.theorem_4_terms(2, 4, 3, 9, 16) == (512, 192, 6)
    # c = 1, n = 9, k = 2, q = 4, T = 5: 2*81*4*4/4, 2*8²/6, 27*2/5
    assert printed.theorem_4_terms(1, 9, 2, 4, 5) == (648, F(64, 3), F(54, 5))


def test_proof_of_theorem_4():
    # c = 2, η = 1/2, n = 5, k = 3, q = 7, T = 4: 4*(1/4)*16*5*9*8, 2*24²/14, 4*(1/2)*5*7
    assert printed.theorem_4_proof_terms(2, F(1, 2), 5, 3, 7, 4) == (5760, F(576, 7), 70)
    # c = 3, η = 1/3, n = 2, k = 2, q = 5, T = 6: 6*(1/9)*36*2*4*4, 2*8²/10, 9*(1/3)*2*5
    assert printed.theorem_4_proof_terms(3, F(1, 3), 2, 2, 5, 6) == (768, F(64, 5), 30)
    assert printed.theorem_4_last_term_later(2, F(1, 2), 5, 7) == 70
    assert printed.theorem_4_last_term_later(3, F(1, 2), 4, 6) == 108
    assert printed.theorem_4_middle_term_first(3, F(1, 2), 4) == 576
    assert printed.theorem_4_middle_term_first(2, F(1, 3), 6) == 64


def test_only_the_first_proofs_rate_turns_the_proof_into_the_theorem():
    c, n, k, q, T = 2, 4, 3, 9, 16
    theorem = printed.theorem_4_terms(c, n, k, q, T)
    assert printed.theorem_4_proof_terms(c, F(1, 24), n, k, q, T) == theorem
    assert printed.theorem_4_proof_terms(c, F(1, 6), n, k, q, T) == (8192, 48, 24)


def test_corollary_5():
    assert printed.corollary_5_channels(F(1, 2), 3) == Logarithm(108, 3, 2)
    assert printed.corollary_5_steps(F(1, 2), 3) == Logarithm(108, 3, 1)
    assert printed.corollary_5_examples(F(1, 2), 3, 2, 5, F(1, 7)) == Logarithm(120, 210)
    assert printed.corollary_5_share(F(1, 3)) == F(1, 6)
    assert printed.corollary_5_vc_dimension(50) == Logarithm(50, 50)


def test_lemma_8():
    assert printed.lemma_8_readout(F(1, 6), 12, 25) == 10
    assert printed.lemma_8_readout_appendix(3, F(1, 6), 12, 25) == 30
    assert printed.lemma_8_drift(3, F(1, 6), 12, 7, 2, 8) == 336  # 3 * 4 * 7 * 4
    assert printed.lemma_8_drift(1, F(1, 6), 18, 2, 9, 4) == 108  # 9 * 2 * 6
    assert printed.lemma_8_readout_gradient(3, 25) == 15
    assert printed.lemma_8_kernel_gradient(3, 7, 4, F(1, 6), 12, 25) == 180  # 3 * 3 * 2 * 5 * 2


def test_lemma_9():
    # 3 * (12/6)² * 7 * 2 * 5 * (1/2 + 0 + 3/2)
    assert printed.lemma_9_difference(3, F(1, 6), 12, 7, 2, 25, [F(1, 2), 0, F(3, 2)]) == 1680
    assert printed.lemma_9_difference(1, F(1, 2), 6, 5, 3, 4, [1]) == 270


def test_theorem_10():
    assert printed.theorem_10_terms(F(1, 2), 6, 5, [1, 2, 6]) == (12, 15, F(41, 6))
    assert printed.theorem_10_terms(F(1, 4), 3, 2, [3, 5]) == (9, 8, F(17, 4))


def test_theorem_12():
    assert printed.theorem_12_first_layer(3, 6, 2) == F(9, 5)  # 18 / C(5, 2)
    assert printed.theorem_12_first_layer(7, 6, 4) == F(21, 5)  # 42 / C(5, 3)
    assert printed.theorem_12_first_layer(2, 5, 1) == F(5, 2)  # 10 / C(4, 1)
    assert printed.theorem_12_second_layer(3, 4, 6, 2) == F(12, 5)  # 36 / C(6, 2)
    assert printed.theorem_12_second_layer(1, 7, 5, 4) == F(7, 5)


def test_proof_of_theorem_12():
    assert printed.theorem_12_permutations(6, 2, inside=False) == 10
    assert printed.theorem_12_permutations(6, 2, inside=True) == 5
    assert printed.theorem_12_permutations(7, 5, inside=False) == 6
    assert printed.theorem_12_permutations(7, 5, inside=True) == 15
    assert [printed.theorem_12_coordinate(6, k) for k in (1, 2, 4)] == [F(1, 5), F(1, 10), F(1, 10)]
    assert printed.theorem_12_all_permutations(6, 2) == 15
    assert printed.theorem_12_output_square(F(3, 2)) == F(9, 4)
    assert (printed.LARGEST_SECOND_WEIGHT, printed.THEOREM_12_SLOPE_SQUARE) == (1, 1)


def test_experiments():
    assert (printed.FIGURE_1_DEPTHS, printed.FIGURE_1_EPOCHS) == ((2, 4, 6), 125)
    assert (printed.DIGIT_SHAPE, printed.KERNEL_SHAPE, printed.LABEL_DIGITS) == ((24, 8), (24, 24), 3)
    assert (printed.HIDDEN_NEURONS, printed.SECTION_6_EPOCHS, printed.CHANCE_LENGTH) == (1024, 30, 19)
