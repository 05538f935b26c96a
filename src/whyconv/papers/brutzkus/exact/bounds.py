"""The conditions and bounds of Brutzkus & Globerson as the claims use them, and those derived here.

The functions of the first part take integers and fractions and are then exact, or floats and arrays.
:mod:`.printed` has the same constants, transcribed from the text a second time; each claim compares the two.
k, d, l, m, t, T_1, eta_1, r are ``channels``, ``pattern_dim``, ``patterns``, ``samples``, ``t``, ``steps``,
``step``, ``radius``. ``size`` is d as printed, and l as corrected: the two differ when l < d.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log, sqrt
from typing import Any

CLASS_SHARE = Fraction(1, 3)
"""Eq. 14: each class has at least this share of S_1. (The text prints m_1/3, which no share can reach.)"""
LARGEST_OUTPUT = Fraction(1, 2)
"""Lemma C.2: |N(x)| on S_1."""


def least_channels(pattern_dim: int) -> int:
    """8 d^3 + 1, the smallest k > 8 d^3 (Theorem 5.1)."""
    return 8 * pattern_dim**3 + 1


def largest_step(channels: int, steps: int) -> Fraction:
    """1 / (4 k (T_1 + 1)) >= eta_1 (Theorem 5.1)."""
    return Fraction(1, 4 * channels * (steps + 1))


def largest_radius(step: Any) -> Any:
    """eta_1 / 200 >= r (Theorem 5.1)."""
    return step / 200


def second_step_limit(channels: int) -> int:
    """8 k > eta_2 (Theorem 5.1)."""
    return 8 * channels


def lucky_range(channels: int, size: int) -> tuple[Fraction, Fraction]:
    """k/(4 size) and k/size (Lemma 5.2)."""
    return Fraction(channels, 4 * size), Fraction(channels, size)


def lucky_failure(pattern_dim: int) -> float:
    """4 e^(-d), the failure probability that Lemma 5.2 allows."""
    return 4 * exp(-pattern_dim)


def share_failure(samples: int) -> float:
    """4 e^(-m/36), the probability of missing Eq. 14 that Lemma C.3 allows."""
    return 4 * exp(-Fraction(samples, 36))


def growth(t: Any, step: Any) -> Any:
    """t eta_1 / 9 <= o_1 . w of a positively lucky filter (Lemma 5.3; Corollary 5.4 for o_2)."""
    return t * step / 9


def largest_norm(t: Any, step: Any) -> Any:
    """eta_1 (t + 1) >= |w_i^(t)| (Lemma C.1)."""
    return step * (t + 1)


def largest_excitation(t: Any, step: Any) -> Any:
    """2 eta_1 t >= x[j] . w_i^(t), t >= 1 (Lemma 5.5)."""
    return 2 * step * t


def separator_entry(size: int, channels: int, step: Any, steps: int) -> Any:
    """80 size / (k eta_1 T_1): the entries of v*, up to their sign (appendix E)."""
    return 80 * size / (channels * step * steps)


def proved_norm_product(size: int) -> int:
    """51,200 size >= |v*|^2 |z|^2 (appendix E).

    |v*|^2 <= 2 * 80^2 size / (k eta_1^2 T_1^2), with at most 2k/size lucky filters, and
    |z|^2 <= 4 k eta_1^2 T_1^2.
    """
    return 4 * 2 * 80**2 * size


def least_linear_norm2(positions: int) -> int:
    """n <= |w|^2 for a linear separator of D with margin 1 (Proposition 6.1)."""
    return positions


def hard_margin_bound(norm_product: float, samples: int, delta: float) -> float:
    """Error of the hard-margin classifier: 2 B R / sqrt(m) + (1 + B R) sqrt(2 ln(2/delta) / m).

    ``norm_product`` = B^2 R^2, where *some* vector of norm B separates the whole distribution with
    margin 1 and inputs have norm at most R (Shalev-Shwartz & Ben-David, Theorem 26.13). Holds with
    probability 1 - ``delta`` over ``samples`` = m examples.
    """
    product = sqrt(norm_product)
    return (2 * product + (1 + product) * sqrt(2 * log(2 / delta))) / sqrt(samples)


def samples_needed(norm_product: float, level: float, delta: float) -> int:
    """The smallest m with :func:`hard_margin_bound` <= ``level``; below it, level 1 is vacuous."""
    return ceil((hard_margin_bound(norm_product, 1, delta) / level) ** 2)
