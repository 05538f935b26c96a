"""Fourier coefficients of piecewise linear activations for weights on a lattice: exact, any n.

With w_i = m_i / den the signed law of <w, x> is a polynomial with integer coefficients,

    P(y) = prod_{i in A} (y^|m_i| - 1) prod_{i not in A} (y^|m_i| + 1),   y^r <-> <w, x> = (2r - M) / den,

M = sum |m_i|. It is expanded inside one long integer, with a fixed number of bits per coefficient: one
shift and one addition per weight. Toggling j multiplies P by -(1 - y^m) / (1 + y^m), m = |m_j|, or its
inverse; of that product only prefix sums at the kinks are needed: sums of every m-th prefix sum of P.
Gaussian weights rounded to multiples of 1/den (:func:`on_lattice`) are still permutation invariant.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation
from whyconv.exact.fourier.neuron import Neuron
from whyconv.exact.fourier.scaled import Scaled, of_fraction

MOST_BYTES = 2**28
MOST_WORK = 2e11
"""Limits for the bytes of P, and for the bytes moved: one to two minutes."""


def on_lattice(weights: Iterable[float | Fraction], den: int) -> list[Fraction]:
    """The nearest multiples of 1/``den``; if den is too small, weights become 0 and coefficients vanish."""
    return [Fraction(round(Fraction(each) * den), den) for each in weights]


def too_large(neuron: Neuron) -> bool:
    """Whether P needs too much memory or time; it has sum |m_i| coefficients of n bits."""
    numbers, _ = neuron.lattice
    size = (sum(map(abs, numbers)) + 1) * (neuron.n_bits // 8 + 40)
    return size > MOST_BYTES or size * neuron.n_bits > MOST_WORK


def coefficient(activation: Activation, neuron: Neuron, derivative: bool) -> Scaled:
    """shat(A) or s'hat(A), rounded once. Cost n additions of numbers of n sum |m_i| bits."""
    return of_fraction(rational(activation, neuron, derivative))


def partials(activation: Activation, neuron: Neuron) -> Scaled:
    """s'hat(A xor {j}) for all j, each rounded once. Cost twice that of :func:`coefficient`."""
    return Scaled.of_fractions(rational_partials(activation, neuron))


def rational(activation: Activation, neuron: Neuron, derivative: bool) -> Fraction:
    """shat(A) or s'hat(A) as an exact rational."""
    numbers, member, first, step = _prepared(activation, neuron)
    if any(inside and not m for m, inside in zip(numbers, member, strict=True)):
        return Fraction(0)
    moving = [(abs(m), inside) for m, inside in zip(numbers, member, strict=True) if m]
    assert activation.pieces is not None
    total = activation.pieces.sum_on_lattice(_expand(moving), first, step, derivative)
    return neuron.sign * total / (1 << len(moving))


def rational_partials(activation: Activation, neuron: Neuron) -> list[Fraction]:
    """s'hat(A xor {j}) for all j as exact rationals.

    A weight 0 outside A contributes the factor 1, inside A the factor 0 until it is toggled out.
    """
    numbers, member, first, step = _prepared(activation, neuron)
    assert activation.pieces is not None
    resting = [inside and not m for m, inside in zip(numbers, member, strict=True)]
    if sum(resting) > 1:
        return [Fraction(0)] * neuron.n_bits
    moving = [(abs(m), inside) for m, inside in zip(numbers, member, strict=True) if m]
    counts = _expand(moving)
    below = [0, *accumulate(counts)]
    cuts = activation.pieces.cuts(len(counts), first, step)
    slopes, scale = activation.pieces.slopes, 1 << len(moving)

    def mean_slope(prefix: list[int]) -> Fraction:
        gaps = zip(slopes, prefix, prefix[1:], strict=False)
        return sum((slope * (high - low) for slope, low, high in gaps), Fraction(0)) / scale

    if sum(resting):
        untouched = neuron.sign * mean_slope([below[cut] for cut in cuts])
        return [untouched if rests else Fraction(0) for rests in resting]
    known = {(0, False): Fraction(0)}
    found = []
    for m, inside in zip(numbers, member, strict=True):
        key = (abs(m), bool(inside))
        if key not in known:
            known[key] = neuron.sign * mean_slope([_toggled(below, cut, *key) for cut in cuts])
        found.append(-known[key] if m < 0 else known[key])
    return found


def _prepared(activation: Activation, neuron: Neuron):
    if activation.pieces is None:
        raise UserError(f"The lattice engine was given {activation.name}; it is for piecewise linear s.")
    numbers, den = neuron.lattice
    if too_large(neuron):
        raise UserError(
            f"The lattice engine was given weights that are multiples of 1/{den:.3g} at n = {neuron.n_bits}, "
            "which takes too long; round them with on_lattice(weights, den) and a smaller den."
        )
    first = neuron.exact[1] - Fraction(sum(map(abs, numbers)), den)
    return numbers, neuron.member.tolist(), first, Fraction(2, den)


def _expand(factors: list[tuple[int, bool]]) -> list[int]:
    """Coefficients of the product of y^m - 1 (True) and y^m + 1 (False), lowest first."""
    width = len(factors) // 8 + 1
    packed = 1
    for m, inside in sorted(factors):
        moved = packed << (8 * width * m)
        packed = moved - packed if inside else moved + packed
    length = sum(m for m, _ in factors) + 1
    middle = 1 << (8 * width - 1)
    raised = packed + int.from_bytes(middle.to_bytes(width, "little") * length, "little")
    digits = memoryview(raised.to_bytes(width * length, "little"))
    return [
        int.from_bytes(digits[at : at + width], "little") - middle for at in range(0, width * length, width)
    ]


def _toggled(below: list[int], cut: int, m: int, inside: bool) -> int:
    """Prefix sum up to ``cut`` of P (y^m + 1) / (y^m - 1) if ``inside``, else of P (y^m - 1) / (y^m + 1)."""
    earlier = below[cut - m :: -m] if cut >= m else []
    if inside:
        return -(below[cut] + 2 * sum(earlier))
    return -(below[cut] - 2 * sum(earlier[::2]) + 2 * sum(earlier[1::2]))
