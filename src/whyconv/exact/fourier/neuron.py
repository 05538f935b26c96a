"""One neuron and one set of bits, validated, in the forms that the engines need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite, lcm
from numbers import Integral

from whyconv.errors import UserError
from whyconv.lazy import Floats, NDArray, np

Weights = Sequence[float | Fraction] | Floats


@dataclass(frozen=True, eq=False)
class Neuron:
    """z = <w, x> + b and A: ``member``[i] says whether bit i is in A; ``given`` are the exact numbers."""

    weights: Floats
    bias: float
    member: NDArray[np.bool_]
    given: tuple[Sequence[float | Fraction], float | Fraction]

    @classmethod
    def checked(cls, weights: Weights, bias: float | Fraction, subset: Iterable[int]) -> Neuron:
        given = weights.tolist() if isinstance(weights, np.ndarray) else list(weights)
        if not given:
            raise UserError("No weights were given; a neuron needs at least one.")
        try:
            values = np.array([float(each) for each in given])
            offset = float(bias)
        except (TypeError, ValueError):
            raise UserError("Weights and bias must be numbers: a vector of n weights and one bias.") from None
        except OverflowError:
            raise UserError("A weight or the bias is above 1e308; scale the neuron down.") from None
        bad = np.nonzero(~np.isfinite(values))[0]
        if len(bad):
            raise UserError(f"Weight {bad[0]} is {values[bad[0]]}; all weights must be finite.")
        tiny = np.nonzero((values != 0) & (np.abs(values) < 1e-290))[0]
        if len(tiny):
            raise UserError(f"Weight {tiny[0]} is {values[tiny[0]]}; give 0 or at least 1e-290 in size.")
        if not isfinite(offset):
            raise UserError(f"The bias is {offset}; it must be finite.")
        return cls(values, offset, _mask(subset, len(given)), (given, bias))

    @property
    def n_bits(self) -> int:
        """n."""
        return len(self.weights)

    @property
    def size(self) -> int:
        """|A|."""
        return int(self.member.sum())

    @property
    def sign(self) -> int:
        """Product over A of the signs of the weights (0 counts as positive)."""
        return -1 if np.count_nonzero(self.weights[self.member] < 0) % 2 else 1

    @cached_property
    def exact(self) -> tuple[list[Fraction], Fraction]:
        """Weights and bias as the rationals that were given."""
        return [Fraction(each) for each in self.given[0]], Fraction(self.given[1])

    @cached_property
    def magnitude(self) -> Fraction | None:
        """c if w is in {+-c}^n, else None."""
        first = abs(self.weights[0])
        if not np.all(np.abs(self.weights) == first):
            return None
        weights = self.exact[0]
        return abs(weights[0]) if all(abs(each) == abs(weights[0]) for each in weights) else None

    @cached_property
    def lattice(self) -> tuple[list[int], int]:
        """(m, den): w_i = m_i / den with the smallest common denominator."""
        weights = self.exact[0]
        den = lcm(*(each.denominator for each in weights))
        return [each.numerator * (den // each.denominator) for each in weights], den


def _mask(subset: Iterable[int], n_bits: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_bits, dtype=np.bool_)
    for index in subset:
        if not isinstance(index, Integral) or not 0 <= index < n_bits:
            raise UserError(
                f"Bit {index!r} is in the set; bits are whole numbers from 0 to {n_bits - 1}, one per weight."
            )
        if mask[int(index)]:
            raise UserError(f"Bit {index} is in the set twice; give every bit once.")
        mask[int(index)] = True
    return mask
