"""Every bound, condition and constant that Brutzkus & Globerson print, in exact arithmetic.

Transcribed from the text of the paper alone, as a second source beside the other modules of this folder,
from which nothing is imported.

Symbols: ``n`` patterns per input, ``d`` their dimension, ``k`` channels, ``m`` examples, ``m1`` and ``m2``
those of the first and second layer, ``r`` the norm of a filter at the start, ``eta1``, ``T1`` and ``eta2``
the rates and steps, ``delta`` the margin bound's probability of failure. Roots that are not rational raise a
ValueError. A probability is a sum of :class:`Exponential`, one with exponent 0. What is printed without a
constant, O(...), is the expression inside.

Where the text contradicts itself: W is in R^{k×n} in section 3 while its rows are in R^d, and 1 ≤ j ≤ d in
Lemma 5.5 counts the n patterns of an input. Other places are noted below.
"""

from __future__ import annotations

from fractions import Fraction

from whyconv.exact.irrational import Exponential, Rational, root

Sum = tuple[Exponential, ...]

# Section 3

LABEL_CHANCE = Fraction(1, 2)
"""P(y = 1) = P(y = -1) = 1/2."""

FEWEST_PATTERNS = 3
"""3 ≤ l ≤ d for the number l of orthogonal patterns."""


def first_sample(m: int) -> int:
    """m_1 = ⌈m/2⌉: the examples of S_1."""
    return -(-m // 2)


# Theorem 4.2


def theorem_4_2_applies(n: int, d: int) -> bool:
    """d = 2n and n ≥ 2 (Theorem 4.2)."""
    return d == 2 * n and n >= 2


def theorem_4_2_dimension(d: int) -> Fraction:
    """2^{d/2-1} ≤ VCdim (Theorem 4.2)."""
    return root(Fraction(2) ** (d - 2))


def theorem_4_2_points(n: int) -> int:
    """2^{n-1}: the size of the shattered set B, and of the linear system, Eq. 5 (proof of Theorem 4.2)."""
    return 2 ** (n - 1)


def theorem_4_2_channels(n: int) -> int:
    """2^n: the dimension of a, 2^{n-1} times 1 and 2^{n-1} times -1 (proof of Theorem 4.2)."""
    return 2**n


# Theorem 5.1


def theorem_5_1_first_rate(k: int, T1: int) -> Fraction:
    """1/(4k(T_1+1)) ≥ η_1 (Theorem 5.1)."""
    return Fraction(1, 4 * k * (T1 + 1))


def theorem_5_1_radius(eta1: Rational) -> Fraction:
    """η_1/200 ≥ r (Theorem 5.1)."""
    return Fraction(eta1) / 200


def theorem_5_1_second_rate(k: int) -> int:
    """8k > η_2, strictly (Theorem 5.1)."""
    return 8 * k


def theorem_5_1_channels(d: int) -> int:
    """8d³ < k, strictly (Theorem 5.1)."""
    return 8 * d**3


def theorem_5_1_applies(d: int, k: int, T1: int, eta1: Rational, eta2: Rational, r: Rational) -> bool:
    """T_1 > 0, η_1 ≤ 1/(4k(T_1+1)), η_2 < 8k, r ≤ η_1/200 and k > 8d³ (Theorem 5.1)."""
    return (
        T1 > 0
        and eta1 <= theorem_5_1_first_rate(k, T1)
        and eta2 < theorem_5_1_second_rate(k)
        and r <= theorem_5_1_radius(eta1)
        and k > theorem_5_1_channels(d)
    )


def theorem_5_1_probability(delta: Rational, d: int, m: int) -> Sum:
    """(1-δ)(1 - 4e^{-d} - 4e^{-m/36}): how often Theorem 5.1 holds; a footnote has e^{-Θ(k)} for e^{-d}."""
    sure = 1 - Fraction(delta)
    return Exponential(sure, 0), Exponential(-4 * sure, -d), Exponential(-4 * sure, -Fraction(m, 36))


def theorem_5_1_error(d: Rational, m: Rational) -> Fraction:
    """√(d/m): the order of the test error (Theorem 5.1, part 2).

    O hides a dependence on δ (footnote 5); "an additive term which depends on δ" (end of appendix E).
    """
    return root(Fraction(d) / m)


# Lemma 5.2


def lemma_5_2_probability(d: int) -> Sum:
    """1 - 4e^{-d} (Lemma 5.2)."""
    return Exponential(1, 0), Exponential(-4, -d)


def lemma_5_2_range(k: int, d: int) -> tuple[Fraction, Fraction]:
    """k/(4d) ≤ |W_0^+ ∩ A^+|, |W_0^- ∩ A^-| ≤ k/d (Lemma 5.2, Eq. 7).

    The lemma prints no condition on k; its proof uses "the assumption on k", k > 8d³ of Theorem 5.1.
    """
    return Fraction(k, 4 * d), Fraction(k, d)


def lemma_5_2_lucky(d: int) -> Fraction:
    """P(i ∈ W_0^+ ∩ A^+) = (1 - 2^{-d+1})/(2(d-1)) (below Lemma 5.2, and appendix B).

    Printed for any l; the d - 1 counts the patterns other than o_2, so l = d is meant.
    """
    return (1 - Fraction(1, 2 ** (d - 1))) / (2 * (d - 1))


def lemma_5_2_detecting(d: int) -> Fraction:
    """P(i ∈ W_0^+) = (1 - 2^{-d+1})/(d-1) (appendix B); l = d again."""
    return (1 - Fraction(1, 2 ** (d - 1))) / (d - 1)


def lemma_5_2_dark(d: int) -> Fraction:
    """2^{-d+1}: the chance that w_i^(0)·o ≤ 0 for every pattern but o_2 (appendix B)."""
    return Fraction(1, 2 ** (d - 1))


def lemma_5_2_chance_range(d: int) -> tuple[Fraction, Fraction]:
    """1/(2d) ≤ P(i ∈ W_0^+ ∩ A^+) ≤ 1/d, for d ≥ 3 (appendix B)."""
    return Fraction(1, 2 * d), Fraction(1, d)


def lemma_5_2_sketch_channels(d: int) -> int:
    """d³ ≤ k: the main text's sketch of the proof, against 8d³ < k in Theorem 5.1."""
    return d**3


def lemma_5_2_sketch_count(k: int, d: int) -> Fraction:
    """k/(2d): "roughly" the number of lucky filters in the main text's sketch."""
    return Fraction(k, 2 * d)


def equation_13_deviation(d: int) -> Fraction:
    """1/(4d): what the share of lucky filters differs by (Eq. 13)."""
    return Fraction(1, 4 * d)


def equation_13_tail(k: int, d: int) -> Exponential:
    """2e^{-2k(1/(4d))²}: Hoeffding's bound on a larger deviation (Eq. 13)."""
    return Exponential(2, -2 * k * Fraction(1, 4 * d) ** 2)


def equation_13_bound(d: int) -> Exponential:
    """2e^{-d}: what the tail is at most (Eq. 13)."""
    return Exponential(2, -d)


def lemma_5_2_one_side(d: int) -> Sum:
    """1 - 2e^{-d}: for one of the two sets of lucky filters (appendix B)."""
    return Exponential(1, 0), Exponential(-2, -d)


# The first layer: Lemma 5.3 (proved as Lemma C.3), Corollary 5.4, Lemma 5.5, Lemmas C.1 and C.2


def lemma_5_3_growth(t: int, eta1: Rational) -> Fraction:
    """tη_1/9 ≤ o_1·w_i^(t) (Lemma 5.3, Lemma C.3).

    Garbled in the main text: the text at hand prints ``\\frac{t\\eta_1}{0}``. Lemma C.3 and Corollary 5.4
    print 9.
    """
    return t * Fraction(eta1) / 9


def lemma_5_3_others(r: Rational) -> Fraction:
    """r ≥ o_j·w_i^(t) for all j ≠ 1 (Lemma 5.3, Lemma C.3)."""
    return Fraction(r)


def lemma_c3_probability(m: int) -> Sum:
    """1 - 4e^{-m/36} (Lemma C.3, and below Eq. 14). Lemma 5.3 itself prints no probability."""
    return Exponential(1, 0), Exponential(-4, -Fraction(m, 36))


def corollary_5_4_growth(t: int, eta1: Rational) -> Fraction:
    """tη_1/9 ≤ o_2·w_i^(t) (Corollary 5.4)."""
    return t * Fraction(eta1) / 9


def corollary_5_4_others(r: Rational) -> Fraction:
    """r ≥ o_j·w_i^(t) for all j ≠ 2 (Corollary 5.4)."""
    return Fraction(r)


def corollary_5_4_probability(d: int, m: int) -> Sum:
    """1 - 4e^{-d} - 4e^{-m/36} (Corollary 5.4, and the events of appendix E)."""
    return Exponential(1, 0), Exponential(-4, -d), Exponential(-4, -Fraction(m, 36))


def lemma_5_5_output(eta1: Rational, t: int) -> Fraction:
    """2η_1 t ≥ x[j]·w_i^(t) for 1 ≤ t ≤ T_1 (Lemma 5.5)."""
    return 2 * Fraction(eta1) * t


def lemma_c1_norm(eta1: Rational, t: int) -> Fraction:
    """η_1(t+1) ≥ ‖w_i^(t)‖ for 0 ≤ t ≤ T_1 (Lemma C.1)."""
    return Fraction(eta1) * (t + 1)


def lemma_c1_norm_in_proof(r: Rational, eta1: Rational, t: int) -> Fraction:
    """r + η_1 t ≥ ‖w_i^(t)‖ (proof of Lemma C.1)."""
    return Fraction(r) + eta1 * t


LEMMA_C1_GRADIENT = 1
"""1 ≥ ‖∂L_1/∂w_i‖ (proof of Lemma C.1)."""

LEMMA_C2_OUTPUT = Fraction(1, 2)
"""1/2 ≥ |N(x)| on S_1 (Lemma C.2). With η_1 ≤ 1/(4k(T_1+1)) its proof gives 1/4."""


def lemma_c2_output_in_proof(k: int, eta1: Rational, t: int) -> Fraction:
    """kη_1(t+1) ≥ |N(x)| on S_1 (proof of Lemma C.2)."""
    return k * Fraction(eta1) * (t + 1)


def equation_14_as_printed(m1: int) -> Fraction:
    """m_1/3 ≤ |S_1^+|/m_1, |S_1^-|/m_1 (Eq. 14), which no sample satisfies: :data:`EQUATION_14_MEANT`."""
    return Fraction(m1, 3)


EQUATION_14_MEANT = Fraction(1, 3)
"""1/3 ≤ |S_1^+|/m_1, |S_1^-|/m_1: what Eq. 14 must mean, for η_1/(3m_1) |S_1^+| ≥ η_1/9 in Eq. 20."""

LARGEST_LOSS_SLOPE = 1
"""1 ≥ |ℓ'(z)|, ℓ'(z) = -1/(1+e^z) (Eq. 16)."""

EQUATION_17_DENOMINATOR: Sum = (Exponential(1, 0), Exponential(1, Fraction(1, 2)))
"""1 + √e: |ℓ'(N(x_+))| is at least its inverse (Eq. 17)."""

EQUATION_17_SLOPE = Fraction(1, 3)
"""1/3 ≤ 1/(1+√e) ≤ |ℓ'(N(x_+))| (Eq. 17)."""


def equation_20_weight(eta1: Rational, m1: int) -> Fraction:
    """η_1/(3m_1): what an example of S_1^+ adds to w_i·o_1 at least (Eq. 20)."""
    return Fraction(eta1) / (3 * m1)


def equation_20_step(eta1: Rational) -> Fraction:
    """η_1/9: what a step adds to w_i·o_1 at least (Eq. 20)."""
    return Fraction(eta1) / 9


def claim_3_radius(eta1: Rational, T: int) -> Fraction:
    """η_1(T+1)/9 > r: why o_1 stays the maximum after step ``T`` + 1 (proof of Lemma C.3, claim 3)."""
    return Fraction(eta1) * (T + 1) / 9


# The second layer: appendix E


def separator_entry(d: int, k: int, eta1: Rational, T1: int) -> Fraction:
    """80d/(kη_1T_1): v*_i of lucky filters for o_1; minus this for o_2, garbled as kn_1T_1 (appendix E)."""
    return Fraction(80 * d) / (k * eta1 * T1)


def separation_terms(d: int, k: int, eta1: Rational, T1: int) -> tuple[Fraction, Fraction]:
    """(80d/(kη_1T_1)) (k/(4d)) (η_1T_1/10) and (80d/(kη_1T_1)) (k/d) (η_1T_1/80) (appendix E).

    z(x_+)·v* is above the first minus the second, :data:`MARGIN`. Lemma 5.3 would give η_1T_1/9 in place of
    the η_1T_1/10; the η_1T_1/80 is for r.
    """
    entry = Fraction(80 * d) / (k * eta1 * T1)
    return (
        entry * Fraction(k, 4 * d) * (eta1 * Fraction(T1, 10)),
        entry * Fraction(k, d) * (eta1 * Fraction(T1, 80)),
    )


MARGIN = 1
"""z(x_+)·v* > 1 and -z(x_-)·v* > 1 (appendix E)."""

SMOOTHNESS = 1
"""β = 1 for the logistic loss (appendix E)."""


def soudry_rate(beta: Rational, largest_square: Rational, m2: int) -> Fraction:
    """2β^{-1}σ_max^{-2}(Z)m_2 > η_2: what Theorem 3 of Soudry et al. requires (appendix E).

    ``largest_square`` is σ_max²(Z). Footnote 7: the factor m_2 is added, since their loss is not a mean.
    """
    return Fraction(2 * m2) / (beta * largest_square)


def features_square(m2: int, k: int, eta1: Rational, T1: int) -> Fraction:
    """4m_2kη_1²T_1² ≥ ‖Z‖_F² ≥ σ_max²(Z) (appendix E)."""
    return Fraction(4 * m2 * k * eta1**2 * T1**2)


def features_square_by_rate(m2: int, k: int) -> Fraction:
    """m_2/(4k) ≥ σ_max²(Z), by the condition on η_1 (appendix E)."""
    return Fraction(m2, 4 * k)


def separator_square(d: int, k: int, eta1: Rational, T1: int) -> Fraction:
    """2·80²d/(kη_1²T_1²) ≥ ‖v*‖² ≥ ‖â‖² (appendix E, after Eq. 25).

    â, of least norm with margin 1, is where a^(t)/‖a^(t)‖ → â/‖â‖ (Eq. 24) goes. The line has the middle
    form (80²d²/(k²η_1²T_1²)) (2k/d). In the main text, ‖v‖ is of the order of :func:`separator_norm_main`.
    """
    return Fraction(2 * 80**2 * d) / (k * eta1**2 * T1**2)


def feature_square(k: int, eta1: Rational, T1: int) -> Fraction:
    """4kη_1²T_1² ≥ ‖z(x)‖² (appendix E). In the main text, ‖z‖ is of the order √k."""
    return Fraction(4 * k * eta1**2 * T1**2)


def squares_product(d: int) -> int:
    """51,200 d = (2·80²d/(kη_1²T_1²)) (4kη_1²T_1²) ≥ ‖â‖²‖z(x)‖²; printed as O(d) (appendix E)."""
    return 51_200 * d


def separator_norm_main(d: Rational, k: Rational) -> Fraction:
    """√(d/k): the order of ‖v‖ in the main text, part 3; appendix E has another factor 1/(η_1T_1) ≥ 4k."""
    return root(Fraction(d) / k)


def feature_norm_main(k: Rational) -> Fraction:
    """√k: the order of ‖z(x)‖ in the main text, part 3; appendix E has another factor η_1T_1 ≤ 1/(4k)."""
    return root(k)


def margin_bound(d: Rational, m: Rational) -> Fraction:
    """√(d/m): the order of the error with probability 1 - δ, "by a standard margin generalization bound".

    Appendix E, which cites Theorem 26.13 of Shalev-Shwartz & Ben-David and prints no constant of it.
    """
    return root(Fraction(d) / m)


# Appendix A: orders


def normalised_margin(d: Rational) -> Fraction:
    """1/√d: the largest margin of the features, scaled to norm 1; by appendix E at least 1/√(51,200 d)."""
    return 1 / root(d)


def reached_margin(gamma: Rational) -> Fraction:
    """γ/2: reached after the steps below, ``gamma`` the largest margin (Ji & Telgarsky, as quoted)."""
    return Fraction(gamma) / 2


def steps_to_margin(gamma: Rational) -> Fraction:
    """1/γ²: the order of the steps to γ/2.

    Footnote 6 says "O hides a dependency on log m"; the text at hand has lost the mark that refers to it.
    """
    return 1 / Fraction(gamma) ** 2


def steps_to_margin_in_d(d: int) -> int:
    """d: the order of the steps to half of the largest margin 1/√d."""
    return d


# Section 6


def proposition_6_1_square(n: int) -> int:
    """n ≤ ‖ŵ‖² (Proposition 6.1)."""
    return n


def proposition_6_1_norm(n: Rational) -> Fraction:
    """√n ≤ ‖ŵ‖: the sentence before Proposition 6.1."""
    return root(n)


def proposition_6_1_norm_in_section_7(n: int) -> int:
    """n ≤ ‖ŵ‖, as section 7 has it; in Proposition 6.1 n bounds the square of the norm."""
    return n


EQUATION_12 = 2
"""2 ≤ ŵ[i]·(o_1 - o_2) (Eq. 12)."""

PATTERN_DIFFERENCE = 2
"""|ŵ[i]·(o_1 - o_2)| ≤ 2‖ŵ[i]‖ (below Eq. 12), so ‖ŵ[i]‖ ≥ 1."""


def data_square(n: int) -> int:
    """R² = n: the largest squared norm of an input."""
    return n


def fully_connected_examples(separator: Rational, data: Rational) -> Fraction:
    """‖w*‖²R²: the order of the sample complexity, for SGD on a leaky-ReLU network and for a hard-margin SVM.

    ``separator`` is ‖w*‖², ``data`` is R². No constant is printed, neither α's nor another.
    """
    return Fraction(separator) * data


def fully_connected_best(n: int) -> int:
    """n²: the order of the best such bound (below Proposition 6.1)."""
    return n**2


def fully_connected_best_in_d(d: int, power: int) -> int:
    """d^{2r}: the same for n = Θ(d^r), r ≥ 1; ``power`` is r (section 6)."""
    return d ** (2 * power)


def convolutional_examples(d: int) -> int:
    """d: the order of the sample complexity by Theorem 5.1, for any n (section 6)."""
    return d


# Section 7

TEST_EXAMPLES = 1000
REPETITIONS = 5
TOY_DIMENSION = 20
TOY_PATTERNS = 10
CHANNELS = 500
LARGEST_NOISE = 1
"""‖v‖ ≤ 1 for the noise added to each pattern."""
DIGITS_PER_IMAGE = 4
DISCRIMINATIVE_DIGITS = (3, 5)
