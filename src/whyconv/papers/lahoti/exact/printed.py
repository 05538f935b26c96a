"""Every rate, condition and constant of Lahoti et al. that is quoted in public, in exact arithmetic.

The paper's own text was not at hand. Sample complexities in k and d are from a public summary of it; those
with σ², their conditions and the algorithm's constants are as quoted by its author's and reviewers' pages.
Transcribed as a second source beside the other modules of this folder, from which nothing is imported.

Symbols: ``k`` patches of dimension ``d``, noise of standard deviation ``sigma``. All rates are orders,
without a constant; Õ is given with its logarithm. Roots that are not rational raise a ValueError.
"""

from __future__ import annotations

from fractions import Fraction

from whyconv.exact.irrational import Exponential, Logarithm, Rational, root

# Sample complexities


def fcn_lower(sigma: Rational, k: int, d: int) -> Fraction:
    """σ²k²d: Ω for fully connected networks, any O(kd)-equivariant algorithm."""
    return Fraction(sigma) ** 2 * k**2 * d


def lcn_lower(sigma: Rational, k: int, d: int) -> Fraction:
    """σ²kd: Ω for locally connected networks."""
    return Fraction(sigma) ** 2 * k * d


def lcn_upper(sigma: Rational, k: int, d: int) -> Logarithm:
    """σ²k(k+d) ln(kd): O for locally connected networks, by two steps of projected descent."""
    return Logarithm(Fraction(sigma) ** 2 * k * (k + d), k * d)


def cnn_upper(sigma: Rational, k: int, d: int) -> Logarithm:
    """σ²(k+d) ln(kd): O for convolutional networks, by two steps of projected descent."""
    return Logarithm(Fraction(sigma) ** 2 * (k + d), k * d)


def fcn_lower_in_summary(k: int, d: int) -> int:
    """k²d: Ω in the summary, which drops σ².

    Its "Design tradeoffs" has O(k^2d), as if it were an upper bound.
    """
    return k**2 * d


def lcn_lower_in_summary(k: int, d: int) -> int:
    """kd: Ω in the summary (Mechanism 2)."""
    return k * d


def lcn_upper_in_summary(k: int, d: int) -> int:
    """k(k+d): Õ in the summary. Its "Design tradeoffs" has O(kd) samples, which is the lower bound."""
    return k * (k + d)


def cnn_upper_in_summary(k: int, d: int) -> int:
    """k + d: Õ in the summary."""
    return k + d


# Conditions


def noise(k: Rational) -> Fraction:
    """1/√k: the order of σ, up to logarithms, for both upper bounds and the fully connected lower bound.

    For convolutional networks a "stricter" variant is quoted, without a formula.
    """
    return 1 / root(k)


def patches(d: int) -> Exponential:
    """e^d: the order of k, for the fully connected lower and the locally connected upper bound."""
    return Exponential(1, d)


LEAST_OUTPUT_BIAS = Fraction(1, 100)
"""b_min = 10^{-2} ≤ b, for the fully connected lower bound."""


# The algorithm of two steps


def initial_deviation(k: int, d: int) -> Fraction:
    """1/(10kd): γ of the start N(0, γ²), the square root of 1/(100k²d²)."""
    return Fraction(1, 10 * k * d)


def initial_variance_as_quoted(k: int, d: int) -> int:
    """100k²d², quoted as "variance γ^{-1} = 100k²d²".

    Garbled: as a variance it would grow with the image, and γ of N(0, γ²) would be 1/(100k²d²). Read as the
    inverse of the variance it gives :func:`initial_deviation`.
    """
    return 100 * k**2 * d**2


FIRST_RATE = 1
FIRST_BIAS = 0
"""η_1 = 1 and b = 0 in the first step."""


def second_bias_squared(k: int, d: int) -> Logarithm:
    """b_1² for b_1 = (1/32) √((k+d) ln(kd)/(kd)), the bias in the second step."""
    return Logarithm(Fraction(1, 32) ** 2 * Fraction(k + d, k * d), k * d)


def second_rate(k: int) -> int:
    """η_2 = 10³k."""
    return 10**3 * k


FINAL_BIAS = Fraction(1, 10**4)
"""b_2 = 10^{-4}, after the second step."""

FILTER_NORM = 1
"""Filters are projected to the unit ball (summary), or normalised to the unit sphere."""

FAILED_ALIGNMENT = Fraction(1, 4)
"""Alignment "below 0.25 after training": the summary's sign that the bound is not met."""


# Experiments, by the author's page

TARGET_EXCESS = Fraction(3, 100)
"""Added to the oracle's loss: the target of the search."""

MOST_EXAMPLES = 1000
REPETITIONS = 5
FIXED_SIZE = 20
"""d while k varies, and k while d varies."""

VARIED_SIZES = (10, 15, 20, 25, 30)
WEIGHT_RATES = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000))
BIAS_RATES = (Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10_000))
LOCAL_OVER_SHARED = (10, 20)
"""How many times more examples locally connected networks need than convolutional ones."""
