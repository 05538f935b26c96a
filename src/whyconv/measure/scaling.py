"""The exponent with which m* grows in a quantity x such as a dimension, a noise level or a rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from whyconv.lazy import np
from whyconv.measure.complexity import SampleComplexity, contrast, estimate
from whyconv.measure.estimate import Estimate, repetitions


@dataclass(frozen=True)
class Exponent(Estimate):
    """The slope of log m* on log x, its interval over seeds, and how well a line fits.

    ``r_squared`` and ``residual`` (the largest distance in log m* from the line) are nan if a setting is
    ``censored``, and ``value`` is nan if one with weight is; ``low`` and ``high`` are valid nevertheless.
    """

    value: float
    low: float
    high: float
    r_squared: float
    residual: float
    settings: int
    censored: int
    count: int

    @property
    def central(self) -> float:
        return self.value

    def data(self) -> dict[str, float | int | None]:
        """Also ``r_squared``, and of how many ``settings`` how many are ``censored``."""
        fit = None if math.isnan(self.r_squared) else self.r_squared
        return {**super().data(), "r_squared": fit, "settings": self.settings, "censored": self.censored}

    @property
    def cell(self) -> str:
        return estimate(self.value, self.low, self.high, -math.inf, ".2f", self.count)

    def __str__(self) -> str:
        settings = f"{self.settings} settings" + (f" ({self.censored} censored)" if self.censored else "")
        fit = "" if math.isnan(self.r_squared) else f", R² {self.r_squared:.2f}"
        return f"{self.cell}, {settings}, {repetitions(self.count)}{fit}"


def exponent(points: Iterable[tuple[float, SampleComplexity]]) -> Exponent:
    """Ordinary least squares of log m*_i on log x_i over the settings ``(x_i, m*_i)``.

    The slope is linear in the log m*_i, hence a :func:`~whyconv.measure.complexity.contrast`:

        slope = sum_i w_i log m*_i,     w_i = (log x_i - mean) / sum_j (log x_j - mean)^2.

    A setting not reached by its cap thus leaves a lower bound (high inf) if x_i is above the mean, and an
    upper bound (low -inf) if it is below; the finite end uses the lower limit of its m* (its cap, if the risk
    there is clearly above the target). For a setting reached at the first size it is the other way round.
    The interval is over seeds and assumes that a line fits; R^2 and the largest residual show whether it
    does. R^2 is nan if all m* are equal.
    """
    pairs = list(points)
    if wrong := [x for x, _ in pairs if not 0 < x < math.inf]:
        raise ValueError(f"an exponent needs x above 0 for its logarithm, but x = {wrong[0]} was given")
    if len({x for x, _ in pairs}) < 2:
        raise ValueError("an exponent needs at least two settings that differ in x")
    results = [result for _, result in pairs]
    x = np.log([x for x, _ in pairs])
    centred = x - x.mean()
    centred[np.abs(centred) < 1e-12 * np.ptp(x)] = 0.0  # rounding: a tiny weight times inf would be inf
    value, low, high = contrast([float(w) for w in centred / (centred @ centred)], results)
    censored = sum(result.censored for result in results)
    r_squared = residual = math.nan
    if not censored:
        y = np.log([result.crossing for result in results])
        off = y - y.mean() - value * centred
        residual = float(np.abs(off).max())
        if np.ptp(y) > 0:
            r_squared = 1 - float(off @ off) / float(np.sum((y - y.mean()) ** 2))
    return Exponent(value, low, high, r_squared, residual, len(pairs), censored, results[0].count)
