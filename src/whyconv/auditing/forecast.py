r"""The error with more data: a + b m^-c through the learning curve, up to twice the examples and no further.

Power laws do not give data requirements (Mahmood et al. 2022); in a pilot of ours on thirteen sets the
examples needed for an error were within a factor of 2 for 77 % of curves at twice the data, for 52 % at four
times. So the forecast ends at twice the data, and is tried on the curve itself: fitted without the largest
size, what does it say there?
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from whyconv.auditing.corrected import interval
from whyconv.auditing.result import Forecast
from whyconv.lazy import np

EXPONENTS = tuple(0.05 * k for k in range(1, 41))
CAP = 2
"""No forecast beyond this multiple of the examples."""


class Law(NamedTuple):
    """a + b m^-c with a, b >= 0."""

    a: float
    b: float
    c: float

    def at(self, m: float) -> float:
        return self.a + self.b * m**-self.c

    def needed(self, error: float) -> float:
        """The size with this error; inf if there is none."""
        if error <= self.a or self.b == 0:
            return math.inf if error < self.a or self.b > 0 else 1.0
        return (self.b / (error - self.a)) ** (1 / self.c)


def fit(sizes: np.ndarray, errors: np.ndarray) -> Law:
    """The least-squares law, larger sizes weighted by sqrt(m): they matter most beyond the end."""
    sizes, errors = np.asarray(sizes, float), np.asarray(errors, float)
    weights = np.sqrt(sizes / sizes[-1])
    best = (math.inf, Law(float(errors[-1]), 0.0, 1.0))
    for c in EXPONENTS:
        power = sizes**-c
        design = np.column_stack([np.ones_like(power), power]) * weights[:, None]
        a, b = np.linalg.lstsq(design, errors * weights, rcond=None)[0]
        if a < 0:
            a, b = 0.0, float((power * errors * weights**2).sum() / (power**2 * weights**2).sum())
        if b < 0:
            a, b = float((errors * weights**2).sum() / (weights**2).sum()), 0.0
        miss = float((((a + b * power - errors) * weights) ** 2).sum())
        if miss < best[0] - 1e-15:
            best = (miss, Law(float(a), float(b), c))
    return best[1]


class Model(NamedTuple):
    """The best arm: its network and learner as specs, and its errors (rounds x sizes)."""

    network: Mapping[str, Any]
    learner: Mapping[str, Any]
    sizes: np.ndarray
    errors: np.ndarray
    ratio: float

    def forecast(self, target: float | None) -> Forecast:
        """The error with more data, and the examples that an error of ``target`` needs."""
        return forecast(self.sizes, self.errors, self.ratio, target)


def forecast(sizes: np.ndarray, errors: np.ndarray, ratio: float, target: float | None = None) -> Forecast:
    """The error at twice the largest size, from errors (rounds x sizes).

    Its interval joins the spread over rounds (jackknife, corrected) and the miss of the back-test.
    """
    sizes, rounds = np.asarray(sizes, float), len(errors)
    means, m = errors.mean(axis=0), int(CAP * sizes[-1])
    if len(sizes) < 3:
        return Forecast(m, None, None, None, target, None, "a forecast needs three sizes or more")
    law = fit(sizes, means)
    error, low, high, says = law.at(m), None, None, "not tried: four sizes are needed"
    miss = math.nan
    if len(sizes) > 3:
        said, seen = fit(sizes[:-1], means[:-1]).at(sizes[-1]), float(means[-1])
        miss = abs(said - seen)
        says = f"from half of the examples it said {said:.3g} for all of them; measured: {seen:.3g}"
    if rounds > 1:
        parts = [fit(sizes, np.delete(errors, s, axis=0).mean(axis=0)).at(m) for s in range(rounds)]
        pseudo = rounds * error - (rounds - 1) * np.array(parts)
        around = interval(pseudo - pseudo.mean() + error, ratio)
        reach = math.hypot(around.high - error, 0.0 if math.isnan(miss) else miss)
        low, high = max(0.0, error - reach), error + reach
    needed = law.needed(target) if target is not None else math.inf
    return Forecast(m, error, low, high, target, math.ceil(needed) if needed <= m else None, says)
