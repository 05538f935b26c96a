"""Corollary 5's sizes a second time: rational arithmetic for q and T, base-2 logarithms for m.

Nothing is imported from :mod:`.sizes` or :mod:`.bounds`; the three terms of Theorem 4 come from the paper's
text (:mod:`.printed`), the sample from Anthony & Bartlett (1999), Theorems 4.3 and 8.3.
"""

from __future__ import annotations

from fractions import Fraction
from math import e, log, log2


def is_least_width(n_bits: int, k_window: int, width: int, eps: float) -> bool:
    """Whether q = ``width`` is the least with Theorem 4's first two terms <= eps/4 together; c = 1, exactly.

    second <= eps/4 - first, squared: (2 (2^k k)^2)^2 / (q n) <= (eps/4 - 2 n^2 k^2 2^k / q)^2 with the
    bracket positive. eps is the double nearest to it, and q may be off by the rounding of a square root.
    """
    quarter, word = Fraction(eps) / 4, 2**k_window * k_window

    def suffices(q: int) -> bool:
        rest = quarter - Fraction(2 * n_bits**2 * k_window * word, q)
        return rest > 0 and Fraction((2 * word**2) ** 2, q * n_bits) <= rest**2

    rounding = 1 + width // 10**14
    return suffices(width + rounding - 1) and not suffices(width - rounding)


def is_least_steps(n_bits: int, width: int, steps: int, eps: float) -> bool:
    """Whether T = ``steps`` is the least with n^1.5 sqrt(q) / T <= eps/4; squared, up to rounding of a
    root."""

    def suffices(T: int) -> bool:
        return n_bits**3 * width <= (Fraction(eps) / 4 * T) ** 2

    rounding = 1 + steps // 10**14
    return suffices(steps + rounding - 1) and not suffices(steps - rounding)


def doubt(samples: int, n_bits: int, k_window: int, width: int, gap: float) -> float:
    """log2 of 4 Pi(2m) e^(-gap^2 m / 8), m = ``samples``: the chance that some network misjudges by ``gap``.

    Pi(N), the number of ways to label N inputs. In the q k weights of the filters, 2 q N windows' worth of
    linear functions (two kinks each) have at most 2 (2 e F / p)^p sign patterns, F = 2 q N (n-k+1), p = q k;
    in each region N polynomials of degree 2 in P = q (k + n-k+1) parameters have at most 2 (4 e N / P)^P.
    """
    inputs, windows = 2 * samples, n_bits - k_window + 1
    kinks, first, every = 2 * width * inputs * windows, width * k_window, width * (n_bits + 1)
    regions = 1 + first * log2(2 * e * kinks / first)
    signs = 1 + every * log2(4 * e * inputs / every)
    return 2 + regions + signs - gap**2 * samples / (8 * log(2))
