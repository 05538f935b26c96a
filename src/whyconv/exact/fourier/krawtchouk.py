"""Fourier coefficients for weights +-c: a sum over the n + 1 values that <w, x> can take.

For w = c s with signs s, the coefficient is chi_A(s) times one number that depends on |A| alone:

    shat(A) = chi_A(s) 2^-n sum_r K_r(|A|) s(c (n - 2r) + b),   sum_r K_r(a) z^r = (1 - z)^a (1 + z)^(n-a)

(Krawtchouk polynomials; K_r are integers of up to n bits). With a piecewise linear activation and rational
c, b this is an exact rational. With an analytic one the sum loses as many digits as the coefficient is
smaller than its terms, so the engine refuses results with fewer than ten digits.
"""

from __future__ import annotations

from fractions import Fraction
from math import fsum

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation
from whyconv.exact.fourier.neuron import Neuron
from whyconv.exact.fourier.scaled import Scaled, of_fraction
from whyconv.lazy import np

PROMISED = 1e-10
"""Relative error beyond which a float sum is refused."""
MOST_BITS = 90_000
"""Largest n: n integers of n bits take a gigabyte."""


def coefficient(activation: Activation, neuron: Neuron, derivative: bool) -> Scaled:
    """shat(A) or s'hat(A) for w in {+-c}^n. Cost n integers of n bits."""
    return _of_size(activation, neuron, neuron.size, derivative) * float(neuron.sign)


def partials(activation: Activation, neuron: Neuron) -> Scaled:
    """s'hat(A xor {j}) for all j: two numbers, of sizes |A| - 1 and |A| + 1, and signs."""
    zero = Scaled(0.0)
    inside = _of_size(activation, neuron, neuron.size - 1, True) if neuron.size else zero
    outside = _of_size(activation, neuron, neuron.size + 1, True) if neuron.size < neuron.n_bits else zero
    parts = [
        np.where(neuron.member, getattr(inside, name), getattr(outside, name))
        for name in ("mantissa", "log_scale", "error")
    ]
    return Scaled(*parts) * (neuron.sign * np.where(neuron.weights < 0, -1.0, 1.0))


def of_size(
    activation: Activation, n_bits: int, size: int, magnitude: Fraction, bias: Fraction, derivative: bool
) -> Scaled:
    """The coefficient of a set of ``size`` bits for w = (c, ..., c), c = ``magnitude``."""
    if n_bits > MOST_BITS:
        raise UserError(f"The Krawtchouk engine was given n = {n_bits:,}; give at most {MOST_BITS:,}.")
    if activation.pieces is not None:
        return of_fraction(rational(activation, n_bits, size, magnitude, bias, derivative))
    scores = float(magnitude) * (2.0 * np.arange(n_bits + 1, dtype=np.float64) - n_bits) + float(bias)
    shares = np.array([value / (1 << n_bits) for value in signed_counts(n_bits, size)])
    terms = shares * activation.evaluate(scores, derivative)
    total = fsum(terms)
    error = float(np.finfo(np.float64).eps * (np.abs(terms) * (4 + 2 * np.abs(scores))).sum())
    if total and error > PROMISED * abs(total):
        raise UserError(
            f"The Krawtchouk sum of {activation.name} at n = {n_bits}, |A| = {size} cancels to a relative "
            f"error of {error / abs(total):.0e}; take the trapezoid engine, which does not cancel."
        )
    return Scaled(total, 0.0, error if total else 0.0)


def rational(
    activation: Activation, n_bits: int, size: int, magnitude: Fraction, bias: Fraction, derivative: bool
) -> Fraction:
    """The same as an exact rational, for a piecewise linear activation."""
    if activation.pieces is None:
        raise UserError(f"{activation.name} is not piecewise linear; its coefficients are not rational.")
    if magnitude == 0:
        at_bias = activation.pieces.sum_on_lattice([1], bias, Fraction(1), derivative)
        return at_bias if size == 0 else Fraction(0)
    counts = signed_counts(n_bits, size)
    total = activation.pieces.sum_on_lattice(counts, bias - n_bits * magnitude, 2 * magnitude, derivative)
    return total / (1 << n_bits)


def signed_counts(n_bits: int, size: int) -> list[int]:
    """Sum of chi_A(x) over the x with r entries +1, r = 0..n: (-1)^a K_r(a), a = ``size``.

    By the three-term recurrence (r+1) K_{r+1} = (n - 2a) K_r - (n - r + 1) K_{r-1} in exact integers.
    """
    before, now, counts = 0, (-1) ** size, []
    for r in range(n_bits + 1):
        counts.append(now)
        before, now = now, ((n_bits - 2 * size) * now - (n_bits - r + 1) * before) // (r + 1)
    return counts


def _of_size(activation: Activation, neuron: Neuron, size: int, derivative: bool) -> Scaled:
    if neuron.magnitude is None:
        raise UserError(
            "The Krawtchouk engine was given weights of different sizes; it is for weights +-c, omit the "
            "engine to get one that fits."
        )
    return of_size(activation, neuron.n_bits, size, neuron.magnitude, neuron.exact[1], derivative)
