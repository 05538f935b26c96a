"""Numbers too small for a double: a mantissa, the logarithm of a scale, and the rounding error."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, log
from typing import Any

from whyconv.lazy import Floats, NDArray, np


@dataclass(frozen=True)
class Choice:
    """An engine's name, and why it was chosen."""

    engine: str
    reason: str


@dataclass(frozen=True, eq=False)
class Scaled:
    """value = ``mantissa`` * exp(``log_scale``), a number or an array of numbers.

    ``error`` estimates the rounding error of the mantissa, in its units (0: correctly rounded), and so shows
    cancellation. Coefficients of Theorem 12 reach 1e-45 and their squares 1e-90; no double under- or
    overflows before ``value``. ``choice`` is the engine that computed it; entries and absolute values keep
    it, sums, products and roots do not.
    """

    mantissa: float | Floats
    log_scale: float | Floats = 0.0
    error: float | Floats = 0.0
    choice: Choice | None = field(default=None, kw_only=True)

    @classmethod
    def of_fractions(cls, exact: list[Fraction]) -> Scaled:
        """An array from exact rationals; each is rounded once."""
        pairs = [_split(each) for each in exact]
        return cls(np.array([m for m, _ in pairs]), np.array([e * log(2) for _, e in pairs]))

    @property
    def value(self) -> float | Floats:
        """As float64; 0 below 1e-308."""
        with np.errstate(under="ignore"):
            return _plain(np.asarray(self.mantissa) * np.exp(self.log_scale))

    @property
    def log10(self) -> float | Floats:
        """log10 |value|; -inf for zero."""
        with np.errstate(divide="ignore"):
            return _plain(np.log10(np.abs(self.mantissa)) + np.asarray(self.log_scale) / log(10))

    @property
    def relative_error(self) -> float | Floats:
        """error / |mantissa|; 0 for an exact zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.asarray(self.error) / np.abs(self.mantissa)
        return _plain(np.where(np.asarray(self.error) == 0, 0.0, ratio))

    def __len__(self) -> int:
        return len(np.atleast_1d(self.mantissa))

    def __getitem__(self, which: int | slice | NDArray[np.int64] | NDArray[np.bool_]) -> Scaled:
        parts = np.broadcast_arrays(self.mantissa, self.log_scale, self.error)
        return Scaled(*(_plain(part[which]) for part in parts), choice=self.choice)

    def __abs__(self) -> Scaled:
        return Scaled(_plain(np.abs(self.mantissa)), self.log_scale, self.error, choice=self.choice)

    def __mul__(self, factor: float | Floats) -> Scaled:
        return Scaled(self.mantissa * factor, self.log_scale, self.error * np.abs(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Scaled:
        return self * -1.0

    def __add__(self, other: Scaled | float) -> Scaled:
        other = other if isinstance(other, Scaled) else Scaled(float(other))
        pair = ([each.mantissa, each.log_scale, each.error] for each in (self, other))
        return Scaled(*np.array(list(pair), dtype=float).T).sum()

    def __sub__(self, other: Scaled | float) -> Scaled:
        return self + other * -1.0

    def squared(self) -> Scaled:
        size = np.abs(self.mantissa)
        error = (2 * size + self.error) * self.error
        return Scaled(self.mantissa * self.mantissa, 2 * np.asarray(self.log_scale), _plain(error))

    def root(self) -> Scaled:
        """The square root, elementwise, of numbers >= 0."""
        root = np.sqrt(self.mantissa)
        error = np.where(root > 0, self.error / np.where(root > 0, 2 * root, 1.0), np.sqrt(self.error))
        return Scaled(_plain(root), np.asarray(self.log_scale) / 2, _plain(error))

    def sum(self) -> Scaled:
        """Sum over the array, at the scale of its largest entry."""
        mantissa, log_scale, error = np.broadcast_arrays(self.mantissa, self.log_scale, self.error)
        present = (mantissa != 0) | (error != 0)
        if not present.any():
            return Scaled(0.0)
        with np.errstate(divide="ignore"):
            sizes = np.log(np.maximum(np.abs(mantissa), error)) + log_scale
        scale = sizes[present].max()
        with np.errstate(under="ignore"):
            factor = np.where(present, np.exp(np.where(present, log_scale - scale, 0.0)), 0.0)
            return Scaled(float((mantissa * factor).sum()), float(scale), float((error * factor).sum()))

    def norm_squared(self) -> Scaled:
        return self.squared().sum()

    def norm(self) -> Scaled:
        """Euclidean norm of the array."""
        return self.norm_squared().root()

    def smallest(self) -> Scaled:
        """The smallest |entry|."""
        return abs(self[int(np.argmin(self.log10))])

    def largest(self) -> Scaled:
        """The largest |entry|."""
        return abs(self[int(np.argmax(self.log10))])

    def __str__(self) -> str:
        if np.ndim(self.mantissa):
            shown = [str(self[index]) for index in range(min(len(self), 4))]
            return f"[{', '.join(shown)}{', ...' if len(self) > 4 else ''}]"
        if self.mantissa == 0:
            return "0"
        size = float(self.log10)
        exponent = floor(size)
        digits = f"{10 ** (size - exponent):.2f}"
        if digits == "10.00":
            digits, exponent = "1.00", exponent + 1
        return f"{'-' if self.mantissa < 0 else ''}{digits}e{exponent:+03d}"


def of_fraction(exact: Fraction) -> Scaled:
    """One exact rational, rounded once."""
    mantissa, exponent = _split(exact)
    return Scaled(mantissa, exponent * log(2))


def _split(exact: Fraction) -> tuple[float, int]:
    """(m, e) with m 2^e = ``exact``; e = 0 if a double holds the value with all its digits."""
    size = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent = 0 if abs(size) < 1000 or exact == 0 else size
    top = exact.numerator << max(0, -exponent)
    return top / (exact.denominator << max(0, exponent)), exponent


def _plain(number: Any) -> Any:
    """A Python float for a zero-dimensional array."""
    return number if np.ndim(number) else float(number)
