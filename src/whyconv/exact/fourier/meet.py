"""Fourier coefficients of piecewise linear activations by meeting in the middle: exact, any weights, n <= 44.

s' is a sum of steps, so everything comes from integers T(A) = sum_x chi_A(x) H(x), where H(x) = 1 if z =
<w, x> + b > theta, else 0. Split the bits in halves with partial sums u and v: T(A) = sum_u chi(u) C(u),
where C(u) = sum of chi(v) over v > theta - b - u comes from suffix sums of the sorted v. C serves all sets
A xor {j} with j in the half of u at once. s needs no more than s', since (z - theta)_+ = (z - theta) H:

    E[chi_A (z - theta)_+] = sum_j w_j E[chi_(A xor j) H] + (b - theta) E[chi_A H].

Weights are integers over a common denominator. If these overflow 64 bits they are rounded for sorting, and
the few pairs left open by rounding are decided in exact integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation, Pieces
from whyconv.exact.fourier.neuron import Neuron
from whyconv.exact.fourier.scaled import Scaled, of_fraction
from whyconv.lazy import Ints, NDArray, np

MOST_BITS = 44
"""Two halves of 2^22 sums take half a gigabyte and up to 20 s."""
MOST_OPEN_PAIRS = 200_000
"""Pairs decided one by one in Python: about a second."""


def coefficient(activation: Activation, neuron: Neuron, derivative: bool) -> Scaled:
    """shat(A) or s'hat(A), rounded once. Cost: two sorts of 2^(n/2) numbers (1 s at n = 40)."""
    return of_fraction(rational(activation, neuron, derivative))


def partials(activation: Activation, neuron: Neuron) -> Scaled:
    """s'hat(A xor {j}) for all j, each rounded once. Cost as :func:`coefficient`."""
    return Scaled.of_fractions(rational_partials(activation, neuron))


def rational(activation: Activation, neuron: Neuron, derivative: bool) -> Fraction:
    """shat(A) or s'hat(A) as an exact rational."""
    pieces, (weights, bias) = _pieces(activation), neuron.exact
    start, first = pieces.slopes[0], pieces.kinks[0]
    if derivative:
        found = start if neuron.size == 0 else Fraction(0)
    else:
        found = pieces.height + start * (bias - first) if neuron.size == 0 else Fraction(0)
        found += start * weights[int(np.argmax(neuron.member))] if neuron.size == 1 else 0
    for kink, jump, whole, toggled in _steps(pieces, neuron):
        if derivative:
            found += jump * whole
        else:
            pulled = sum((w * each for w, each in zip(weights, toggled, strict=True)), Fraction(0))
            found += jump * (pulled + (bias - kink) * whole)
    return found


def rational_partials(activation: Activation, neuron: Neuron) -> list[Fraction]:
    """s'hat(A xor {j}) for all j as exact rationals."""
    pieces = _pieces(activation)
    alone = neuron.size == 1
    found = [pieces.slopes[0] if alone and inside else Fraction(0) for inside in neuron.member]
    for _, jump, _, toggled in _steps(pieces, neuron):
        found = [each + jump * change for each, change in zip(found, toggled, strict=True)]
    return found


def _pieces(activation: Activation) -> Pieces:
    if activation.pieces is None:
        raise UserError(f"Meeting in the middle was given {activation.name}; it is for piecewise linear s.")
    return activation.pieces


def _steps(pieces: Pieces, neuron: Neuron):
    """For each kink theta: theta, its jump of slope, E[chi_A [z > theta]], and the same for all A xor {j}."""
    if neuron.n_bits > MOST_BITS:
        raise UserError(
            f"Meeting in the middle was given n = {neuron.n_bits}; it is for n <= {MOST_BITS}, round the "
            "weights with on_lattice(weights, 1024) (--den 1024) to go further."
        )
    weights, bias = neuron.exact
    den = lcm(bias.denominator, *(each.denominator for each in (*weights, *pieces.kinks)))
    scaled = [int(each * den) for each in weights]
    reach = sum(map(abs, scaled))
    shift = max(0, reach.bit_length() - 60)
    split = neuron.n_bits // 2
    left = _Half.of(scaled[:split], neuron.member[:split], shift)
    right = _Half.of(scaled[split:], neuron.member[split:], shift)
    slack = neuron.n_bits // 2 + 2 if shift else 0
    jumps = [after - before for before, after in zip(pieces.slopes, pieces.slopes[1:], strict=False)]
    for kink, jump, goes_left in zip(pieces.kinks, jumps, pieces.kink_goes_left, strict=True):
        limit = int((kink - bias) * den) - (0 if goes_left else 1)
        limit = max(-reach - 1, min(reach, limit))
        ways = left.signed * left.passing(right, limit, shift, slack)
        swapped = right.signed * right.passing(left, limit, shift, slack)
        toggled = [*left.toggled(ways), *right.toggled(swapped)]
        scale = 1 << neuron.n_bits
        yield kink, jump, Fraction(int(ways.sum()), scale), [Fraction(each, scale) for each in toggled]


@dataclass(frozen=True, eq=False)
class _Half:
    """All signed sums of some weights, sorted: ``keys`` (shifted), their ``codes``, and chi of A."""

    weights: list[int]
    keys: Ints
    codes: Ints
    signed: Ints

    @classmethod
    def of(cls, weights: list[int], member: NDArray[np.bool_], shift: int) -> _Half:
        keys = np.zeros(1, dtype=np.int64)
        for weight in weights:
            short = (weight + (1 << shift >> 1)) >> shift
            keys = np.concatenate([keys + short, keys - short])
        codes = np.argsort(keys)
        inside = sum(1 << int(index) for index in np.nonzero(member)[0])
        signed = 1 - 2 * (np.bitwise_count(codes & inside) % 2).astype(np.int64)
        return cls(weights, keys[codes], codes, signed)

    def passing(self, other: _Half, limit: int, shift: int, slack: int) -> Ints:
        """For each sum u here, the sum of chi(v) over the v of ``other`` with u + v > ``limit``."""
        suffix = np.append(np.cumsum(other.signed[::-1])[::-1], 0)
        needed = (limit >> shift) - self.keys
        sure = np.searchsorted(other.keys, needed + slack, side="right")
        found = suffix[sure]
        if slack:
            open_from = np.searchsorted(other.keys, needed - slack, side="right")
            if int((sure - open_from).sum()) > MOST_OPEN_PAIRS:
                raise UserError(
                    "The weights have many sums within 1e-17 of a kink of the activation; round them with "
                    "on_lattice(weights, 1024)."
                )
            for place in np.nonzero(open_from < sure)[0]:
                own = self._exact_sum(int(self.codes[place]))
                for candidate in range(open_from[place], sure[place]):
                    if own + other._exact_sum(int(other.codes[candidate])) > limit:
                        found[place] += other.signed[candidate]
        return found

    def toggled(self, ways: Ints) -> list[int]:
        """Sum of x_j ``ways`` for each bit j of this half."""
        whole = int(ways.sum())
        return [whole - 2 * int(ways[(self.codes >> j) & 1 == 1].sum()) for j in range(len(self.weights))]

    def _exact_sum(self, code: int) -> int:
        return sum(-w if code >> j & 1 else w for j, w in enumerate(self.weights))
