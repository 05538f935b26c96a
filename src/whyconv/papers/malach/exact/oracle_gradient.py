"""The initial gradient of an FCN with the paper's initialisation, w = +-1/k and b = 1/k - 1, as fractions.

Malach & Shalev-Shwartz start a CNN there (Theorem 4). Independent signs are permutation invariant, so Theorem
12 also applies to an FCN of n inputs that starts there. sigma(z) = clip(z, 0, 1). The square of a coefficient
is the same for all signs, so it is its own expectation. Krawtchouk polynomials, summed by parts.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb


def krawtchouk(degree: int, point: int, n_bits: int) -> int:
    """K_r(a; n) = sum_i (-1)^i C(a, i) C(n-a, r-i), r = ``degree``, a = ``point``.

    The sum of chi_A over the inputs that differ from a given one in r bits, up to sign, |A| = a.
    """
    return sum(
        (-1) ** i * comb(point, i) * comb(n_bits - point, degree - i) for i in range(min(point, degree) + 1)
    )


def ramp_coefficient(n_bits: int, k_window: int, size: int) -> Fraction:
    """|E[sigma(<w, x> + b) chi_A(x)]| for |A| = ``size`` >= 1, up to sign.

    The pre-activation is z_r = (n - 2r + 1 - k) / k where r bits of x differ from w's signs. With
    K_0(a; n) + ... + K_r(a; n) = K_r(a-1; n-1), summation by parts gives
    2^-n sum_r (sigma(z_r) - sigma(z_{r+1})) K_r(a-1; n-1).
    """
    ramp = [
        min(max(Fraction(n_bits - 2 * r + 1 - k_window, k_window), Fraction(0)), Fraction(1))
        for r in range(n_bits + 1)
    ]
    falls = [(r, ramp[r] - ramp[r + 1]) for r in range(n_bits) if ramp[r] != ramp[r + 1]]
    return sum((fall * krawtchouk(r, size - 1, n_bits - 1) for r, fall in falls), Fraction(0)) / 2**n_bits


def slope_coefficient(n_bits: int, k_window: int, size: int) -> Fraction:
    """|E[sigma'(<w, x> + b) chi_A(x)]| for |A| = ``size`` >= 1, up to sign; sigma' = 0 at both kinks.

    sigma' is 1 on the r with 0 < z_r < 1, an interval, so two partial sums of K_r(a; n) remain. When n - k is
    odd a point of the lattice lies on the kink z = 0 itself.
    """
    active = [r for r in range(n_bits + 1) if 0 < n_bits - 2 * r + 1 - k_window < k_window]
    if not active:
        return Fraction(0)
    upper = krawtchouk(active[-1], size - 1, n_bits - 1)
    lower = krawtchouk(active[0] - 1, size - 1, n_bits - 1) if active[0] else 0
    return Fraction(upper - lower, 2**n_bits)


def gradient_squares(n_bits: int, k_window: int) -> tuple[Fraction, Fraction]:
    """(|dL/dw|^2, (dL/du)^2) of one neuron with |u| = 1 for a parity of k bits, 2 <= k <= n; exact."""
    filters = k_window * slope_coefficient(n_bits, k_window, k_window - 1) ** 2
    if n_bits > k_window:
        filters += (n_bits - k_window) * slope_coefficient(n_bits, k_window, k_window + 1) ** 2
    return filters, ramp_coefficient(n_bits, k_window, k_window) ** 2
