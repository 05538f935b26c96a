"""Margin bounds with every constant written out, and the sample sizes from which they are not vacuous."""

from __future__ import annotations

from math import ceil, log, sqrt


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


def proved_norm_product(pattern_dim: int) -> float:
    """51,200 d: the bound on B^2 R^2 of the trained features in the proof of Theorem 5.1 (appendix E).

    |v*|^2 <= 2 * 80^2 d / (k eta_1^2 T_1^2) and |z|^2 <= 4 k eta_1^2 T_1^2; d = ``pattern_dim``.
    """
    return 4.0 * 2 * 80**2 * pattern_dim
