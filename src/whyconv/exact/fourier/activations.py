"""Activations, with what the exact engines need to know about them.

An *analytic* activation has the Fourier transform of its derivative, Dhat(t) = integral of s'(z) exp(-itz)
dz; a *piecewise linear* one has kinks and slopes as rationals. At a kink s' is the flatter of the two
slopes: 0 at 0 for ReLU, 0 at both kinks of a clip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor, log, pi, sqrt
from operator import mul

from whyconv import registry
from whyconv.errors import UserError
from whyconv.lazy import Flags, Floats, Ints, np, special

Real = float | Fraction


@dataclass(frozen=True)
class Pieces:
    """A continuous piecewise linear function with ``slopes[i]`` before ``kinks[i]`` and ``slopes[-1]`` last.

    ``height`` is its value at the first kink.
    """

    kinks: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]
    height: Fraction

    @property
    def kink_goes_left(self) -> tuple[bool, ...]:
        """Whether s' at each kink is the slope before it, which it is if that is the flatter one."""
        return tuple(
            abs(left) <= abs(right) for left, right in zip(self.slopes, self.slopes[1:], strict=False)
        )

    @property
    def intercepts(self) -> tuple[Fraction, ...]:
        """c_i with s(z) = slopes[i] z + c_i on piece i."""
        found = [self.height - self.slopes[0] * self.kinks[0]]
        for kink, left, right in zip(self.kinks, self.slopes, self.slopes[1:], strict=False):
            found.append(found[-1] + (left - right) * kink)
        return tuple(found)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats, Floats, Flags]:
        """Kinks, slopes and intercepts in floating point, and which kinks go left."""
        kinks, slopes, intercepts = (
            np.array(part, dtype=np.float64) for part in (self.kinks, self.slopes, self.intercepts)
        )
        return kinks, slopes, intercepts, np.array(self.kink_goes_left)

    def _piece(self, z: Floats) -> Ints:
        kinks, _, _, goes_left = self._floats
        z = np.asarray(z, dtype=np.float64)[..., None]
        return np.where(goes_left, z > kinks, z >= kinks).sum(axis=-1)

    def value(self, z: Floats) -> Floats:
        """s(z)."""
        _, slopes, intercepts, _ = self._floats
        index = self._piece(z)
        return slopes[index] * z + intercepts[index]

    def slope(self, z: Floats) -> Floats:
        """s'(z); at a kink, the flatter side's."""
        return self._floats[1][self._piece(z)]

    def cuts(self, length: int, first: Fraction, step: Fraction) -> list[int]:
        """Where the pieces begin and end in z = first + r ``step``, r < ``length``; ``step`` > 0."""
        found = [0]
        for kink, goes_left in zip(self.kinks, self.kink_goes_left, strict=True):
            place = (kink - first) / step
            cut = floor(place) + 1 if goes_left else ceil(place)
            found.append(min(max(cut, found[-1]), length))
        return [*found, length]

    def sum_on_lattice(
        self, counts: Sequence[int], first: Fraction, step: Fraction, derivative: bool
    ) -> Fraction:
        """Sum over r of counts[r] s(first + r step), or of s' there, exactly.

        Each piece needs the sums of counts[r] and r counts[r] over its range; kinks are exact.
        """
        cuts = self.cuts(len(counts), first, step)
        total = Fraction(0)
        for low, high, slope, intercept in zip(cuts, cuts[1:], self.slopes, self.intercepts, strict=False):
            if derivative:
                total += slope * sum(counts[low:high])
            elif slope or intercept:
                total += (slope * first + intercept) * sum(counts[low:high])
                total += slope * step * sum(map(mul, counts[low:high], range(low, high)))
        return total


@dataclass(frozen=True)
class Activation:
    """s and s' on float64 arrays, and either ``log_transform`` or ``pieces``.

    ``log_transform`` is t -> log Dhat(t) for t > 0 (concave; s' even, positive, and below exp(-|z|) for
    large |z|), ``centre`` is s(0).
    """

    name: str
    value: Callable[[Floats], Floats]
    derivative: Callable[[Floats], Floats]
    log_transform: Callable[[Floats], Floats] | None = None
    centre: float = 0.0
    pieces: Pieces | None = None

    def evaluate(self, z: Floats, derivative: bool) -> Floats:
        return self.derivative(z) if derivative else self.value(z)


def piecewise_linear(
    points: Sequence[tuple[Real, Real]], left: Real = 0, right: Real = 0, name: str = "piecewise-linear"
) -> Activation:
    """The function through ``points`` (z, s(z)), with slope ``left`` before the first and ``right`` after.

    Numbers are used exactly: write Fraction(1, 3) for a third; a float is the dyadic fraction it stores.
    """
    if not points or any(a[0] >= b[0] for a, b in pairwise(points)):
        raise UserError(f"Activation points {list(points)} were given; z must rise from point to point.")
    kinks = tuple(Fraction(z) for z, _ in points)
    heights = [Fraction(height) for _, height in points]
    between = [(heights[i + 1] - heights[i]) / (kinks[i + 1] - kinks[i]) for i in range(len(kinks) - 1)]
    pieces = Pieces(kinks, (Fraction(left), *between, Fraction(right)), heights[0])
    return Activation(name, pieces.value, pieces.slope, pieces=pieces)


def clip(low: Real = 0, high: Real = 1, offset: Real = 0) -> Activation:
    """clip(``offset`` + z, ``low``, ``high``); clip() is the paper's clipped ReLU."""
    if not low < high:
        raise UserError(f"A clip from {low} to {high} was given; the first must be below the second.")
    low, high, offset = Fraction(low), Fraction(high), Fraction(offset)
    return piecewise_linear(
        [(low - offset, low), (high - offset, high)], name=f"clip({offset}+z,{low},{high})"
    )


def _tanh_slope(z: Floats) -> Floats:
    tail = np.exp(-2 * np.abs(z))
    return 4 * tail / (1 + tail) ** 2


def _sigmoid_slope(z: Floats) -> Floats:
    tail = np.exp(-np.abs(z))
    return tail / (1 + tail) ** 2


def _tanh(z: Floats) -> Floats:
    return np.tanh(z)


def _sigmoid(z: Floats) -> Floats:
    return special.expit(z)


def _erf(z: Floats) -> Floats:
    return special.erf(z)


NAMED = {
    "tanh": Activation(  # Dhat = pi t / sinh(pi t / 2)
        "tanh",
        _tanh,
        _tanh_slope,
        lambda t: np.log(2 * pi * t) - pi * t / 2 - np.log(-np.expm1(-pi * t)),
    ),
    "sigmoid": Activation(  # Dhat = pi t / sinh(pi t)
        "sigmoid",
        _sigmoid,
        _sigmoid_slope,
        lambda t: np.log(2 * pi * t) - pi * t - np.log(-np.expm1(-2 * pi * t)),
        centre=0.5,
    ),
    "erf": Activation(  # Dhat = 2 exp(-t^2 / 4)
        "erf", _erf, lambda z: 2 / sqrt(pi) * np.exp(-(z * z)), lambda t: log(2) - t * t / 4
    ),
    "relu": piecewise_linear([(0, 0)], right=1, name="relu"),
    "clipped-relu": piecewise_linear([(0, 0), (1, 1)], name="clipped-relu"),
}


def resolve(activation: str | Activation) -> Activation:
    """The activation of that name, or the one given; a user's own is known by its companion ``exact``."""
    if isinstance(activation, Activation):
        return activation
    if activation in NAMED:
        return NAMED[activation]
    if (own := registry.known("activation", activation)) is not None:
        return own.companion("exact")
    raise UserError(f"Activation {activation!r} was given; choose one of {', '.join(NAMED)}.")
