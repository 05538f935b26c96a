"""The exponent with which m* grows in a quantity x such as a dimension, a noise level or a rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whyconv.lazy import np, stats
from whyconv.measure.complexity import SampleComplexity, contrast, estimate
from whyconv.measure.estimate import Estimate, repetitions


@dataclass(frozen=True)
class Exponent(Estimate):
    """A slope of log m* on log x, its interval over seeds and settings, and how well the model fits.

    ``r_squared`` and ``residual`` (the largest distance in log m* from the model) are nan if a setting is
    ``censored``, and ``value`` is nan if one with weight is; ``low`` and ``high`` are valid nevertheless.
    ``spare``: the degrees of freedom of the residuals; 0 if lack of fit could not be seen.
    """

    value: float
    low: float
    high: float
    r_squared: float
    residual: float
    settings: int
    censored: int
    count: int
    spare: int = 0

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
    """The exponent of m* in one quantity x, from the settings ``(x_i, m*_i)``; see :func:`exponents`."""
    axes = [({"x": x}, result) for x, result in points]
    return exponents(axes, {"x": {"x": 1.0}})["x"]


def exponents(
    points: Iterable[tuple[Mapping[str, float], SampleComplexity]],
    directions: Mapping[str, Mapping[str, float]],
) -> dict[str, Exponent]:
    """Least squares of log m* on the logarithms of several quantities; its slopes, by name of a direction.

    The model over the settings i = 1..p, with quantities x_ij > 0 by name j, is

        log m*_i = c + sum_j a_j log x_ij,

    a direction v is the sum_j v_j a_j: an exponent itself, or that of quantities that grow together. It is
    linear in the log m*_i, hence a :func:`~whyconv.measure.complexity.contrast` sum_i w_i log m*_i. Its
    interval is the wider one of two:

    - over seeds: the contrast's own, paired by seed. It says what other seeds would give at *these* settings,
      whether the model fits or not;
    - over settings: value +- t s |w|, s^2 = sum of squared residuals / f, f = p - 1 - number of quantities,
      and Student's t with f degrees of freedom. It holds the noise of every m* and lack of fit, as far as
      that scatters around the model like noise; with three settings on one axis, t = 12.7.

    So the interval covers its level if either is all there is, and more if both are small. Without spare
    settings (f = 0) lack of fit cannot be seen, and with a censored one there are no residuals: the interval
    is then the first alone, and ``spare`` says so.

    A setting not reached by its cap leaves a lower bound (high inf) if its weight w_i is positive, an upper
    bound (low -inf) if it is negative; the finite end uses the lower limit of its m* (its cap, if the risk
    there is clearly above the target). For a setting reached at the first size it is the other way round.
    R^2 is nan if all m* are equal.
    """
    pairs = list(points)
    names = list(pairs[0][0]) if pairs else []
    if wrong := [x for axes, _ in pairs for x in axes.values() if not 0 < x < math.inf]:
        raise ValueError(f"an exponent needs x above 0 for its logarithm, but x = {wrong[0]} was given")
    results = [result for _, result in pairs]
    logs = np.log([[axes[name] for name in names] for axes, _ in pairs]).reshape(len(pairs), len(names))
    model = np.column_stack([np.ones(len(pairs)), logs - logs.mean(axis=0) if pairs else logs])
    if not names or np.linalg.matrix_rank(model) < 1 + len(names):
        raise ValueError(
            "an exponent needs at least two settings that differ in x, and more for several quantities"
        )
    inverse = np.linalg.pinv(model)[1:]
    censored = sum(result.censored for result in results)
    spare = 0 if censored else len(pairs) - 1 - len(names)
    scatter, r_squared, residual = 0.0, math.nan, math.nan
    if not censored:
        y = np.log([result.crossing for result in results])
        off = y - model @ (np.linalg.pinv(model) @ y)
        residual, rest = float(np.abs(off).max()), float(off @ off)
        if np.ptp(y) > 0:
            r_squared = 1 - rest / float(np.sum((y - y.mean()) ** 2))
        if spare:
            t = float(stats.t.ppf((1 + results[0].level) / 2, spare))
            scatter = t * math.sqrt(rest / spare)
    found = {}
    for name, direction in directions.items():
        weights = np.array([direction.get(axis, 0.0) for axis in names]) @ inverse
        weights[np.abs(weights) < 1e-9 * np.abs(weights).max()] = 0.0  # rounding, which times inf is inf
        value, low, high = contrast([float(w) for w in weights], results)
        reach = scatter * float(np.linalg.norm(weights))
        low, high = (min(low, value - reach), max(high, value + reach)) if spare else (low, high)
        fit = (r_squared, residual, len(pairs), censored, results[0].count, spare)
        found[name] = Exponent(value, low, high, *fit)
    return found
