"""Least-norm separators: min |v|^2 subject to rows @ v >= 1, with a proof for each answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whyconv.exact.margins import margin_routes
from whyconv.lazy import Floats, np

GAP = 1e-9
"""Upper over lower bound of the least squared norm, minus one, at which it counts as solved; the claims need
this much. Let c be the largest cosine that one vector can have with every row: float64 holds the separator
to about 1e-16 / c, so this is possible down to about c = 1e-6."""
VANISHES = 1e-12
"""Rows count as not separable if c is proved to be at most this. Zero itself cannot be proved: changing the
last bits of the rows changes c by 1e-16, and the solvers are slightly less accurate."""
SHORT, LONG = 1e-70, 1e70
"""Lengths whose squares, and ratios of squares, float64 can represent."""


class NotSeparable(ValueError):
    """No vector has a cosine above ``VANISHES`` with every row, which a combination of the rows proves."""


class Undecidable(ArithmeticError):
    """Neither the least-norm separator nor a vanishing combination of the rows was found.

    ``separable``: a separating vector was found, but not proved to have the least norm.
    """

    def __init__(self, message: str, separable: bool) -> None:
        super().__init__(message)
        self.separable = separable


@dataclass(frozen=True)
class Separator:
    """A least-norm separator v, its multipliers >= 0 with v = rows.T @ multipliers, and |v|^2."""

    vector: Floats
    multipliers: Floats
    norm2: float


def least_norm(rows: Floats) -> Separator:
    """min |v|^2 s.t. rows @ v >= 1, where ``rows`` holds y_i z_i.

    Solvers propose (:mod:`.margin_routes`), and :class:`Proof` accepts: a separator of least norm up to
    ``GAP``; or, if there is none, a convex combination of the normalised rows that is shorter than
    ``VANISHES`` (by Gordan's theorem there is one of length 0; c is at most its length).

    Raises NotSeparable with the latter proof, Undecidable without either, and ValueError for rows that are
    not a finite matrix or whose squares float64 cannot represent. Cost: count x width^2 operations for each
    of about ten iterations of the first solver.
    """
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise ValueError(f"rows must be a matrix of finite numbers, and these (shape {rows.shape}) are not")
    lengths = _lengths(rows)
    shortest = float(lengths.min())
    if shortest == 0:
        raise NotSeparable("no vector separates these rows: one of them is zero")
    if not SHORT <= shortest <= lengths.max() <= LONG:
        raise ValueError(f"rows must have lengths between {SHORT:g} and {LONG:g}; scale them")
    unit = 2.0 ** math.floor(math.log2(shortest))  # a power of two: dividing by it is exact
    rows, lengths, shortest = rows / unit, lengths / unit, shortest / unit
    proof = Proof(rows, lengths)
    for pairs in margin_routes.proposals(rows / lengths[:, None], shortest / lengths):
        for vector, multipliers in pairs:
            proof.consider(vector / shortest, multipliers / (shortest * lengths))
        if proof.upper < np.inf and abs(proof.upper / proof.lower - 1) <= GAP:
            return proof.separator(unit)
        if proof.length <= VANISHES:  # even if a vector separates them, which is then due to rounding
            raise NotSeparable(
                f"no vector separates these rows by a cosine above {VANISHES:g}: a convex combination of "
                f"them at length one has length {proof.length:.1e}"
            )
    raise proof.failure(unit)


class Proof:
    """What the best vectors and multipliers proposed so far prove about a set of rows.

    ``lower`` <= least |v|^2 <= ``upper`` by weak duality (:func:`certified_range`), and c <= ``length``, that
    of a convex combination of the normalised rows. Products are summed in extended precision with a bound on
    the largest error of a sum of so many terms, so that no decision depends on the order in which a library
    sums. Where long double is no longer than double, the bound grows and more is left undecided.
    """

    def __init__(self, rows: Floats, lengths: Floats) -> None:
        self._rows, self._lengths = rows.astype(np.longdouble), lengths
        self._error = tuple((terms + 2) * float(np.finfo(np.longdouble).eps) for terms in rows.shape)
        self._vector, self._multipliers = np.zeros(0), np.zeros(0)
        self.lower, self.upper, self.length = 0.0, np.inf, np.inf

    def consider(self, vector: Floats, multipliers: Floats) -> None:
        """Use a vector and multipliers of any scale and quality, each judged by itself."""
        if np.isfinite(vector).all():
            self._from_above(vector)
        if np.isfinite(multipliers).all():
            self._from_below(np.maximum(multipliers, 0.0))

    def _from_above(self, vector: Floats) -> None:
        size = float(np.linalg.norm(vector))
        least = float((self._rows @ vector - self._error[1] * self._lengths * size).min())
        if least > 0 and (size / least) ** 2 < self.upper:
            self.upper, self._vector = (size / least) ** 2, vector / least

    def _from_below(self, multipliers: Floats) -> None:
        total = float(multipliers @ self._lengths)
        if total <= 0:
            return
        size = float(np.linalg.norm(multipliers @ self._rows)) + self._error[0] * total
        self.length = min(self.length, size / total)
        scale = float(multipliers.sum()) / size
        if scale**2 > self.lower:
            self.lower, self._multipliers = scale**2, multipliers * (scale / size)

    def separator(self, unit: float) -> Separator:
        """Of ``unit`` times the rows: the best vector, scaled to a least product of 1, and multipliers."""
        return Separator(self._vector / unit, self._multipliers / unit**2, self.upper / unit**2)

    def failure(self, unit: float) -> Undecidable:
        """What is known about ``unit`` times the rows if it is not enough."""
        rows = f"{len(self._rows)} rows"
        if self.upper < np.inf:
            part = f"larger by a part of {self.upper / self.lower - 1:.1e} at most"
            known = f"it is at least {self.lower / unit**2:.9g}, and {part}"
            return Undecidable(f"{rows} can be separated, but the least |v|^2 is not found: {known}", True)
        known = f"the shortest convex combination found of them at length one has length {self.length:.1e}"
        return Undecidable(f"whether {rows} can be separated is not decided: {known}", False)


def certified_range(rows: Floats, separator: Separator) -> tuple[float, float]:
    """Lower and upper bound on the least squared norm by weak duality, valid for any vector and multipliers.

    Upper: |v|^2 / (min_i rows_i . v)^2, the norm of v scaled to be feasible. Lower: for any lambda >= 0
    and scale c >= 0 the dual 2 c sum(lambda) - c^2 |rows.T lambda|^2 is below the optimum; the best c
    gives sum(lambda)^2 / |rows.T lambda|^2. Negative multipliers are set to zero first.
    """
    margin = float((rows @ separator.vector).min())
    upper = float(separator.vector @ separator.vector) / margin**2 if margin > 0 else np.inf
    multipliers = np.maximum(separator.multipliers, 0.0)
    return float(multipliers.sum() / np.linalg.norm(rows.T @ multipliers)) ** 2, upper


def doubt(rows: Floats, separator: Separator) -> float:
    """How far the vector v may be from the separator v* of least norm: an upper bound on |v - v*| / |v|.

    v* is the shortest of a convex set that contains v, so v* . (v - v*) >= 0 and
    |v - v*|^2 <= |v|^2 - |v*|^2 <= upper - lower of :func:`certified_range`, whose sums in double precision
    are off by a part of (count + width) 2^-52 at most, each.
    """
    lower, upper = certified_range(rows, separator)
    rounding = 4 * sum(rows.shape) * float(np.finfo(np.float64).eps)
    return math.sqrt(max(1 - lower / upper, 0.0) + rounding)


def margin(rows: Floats, vector: Floats) -> float:
    """min_i rows_i . v / |v|, the margin of the direction v (negative if a row is on the wrong side)."""
    return float((rows @ vector).min() / np.linalg.norm(vector))


def _lengths(rows: Floats) -> Floats:
    """The rows' lengths, without overflow."""
    largest = np.abs(rows).max(axis=1)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1.0)[:, None], axis=1)
