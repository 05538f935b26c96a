r"""Intervals over rounds that split one set of data again and again.

Rounds share examples, so their results are correlated, and Student's interval is too narrow
(``python -m whyconv.auditing.coverage`` measures those used here). Nadeau & Bengio (Machine Learning 52,
2003, section 5) estimate the correlation by the share of test examples, which makes the variance of a mean
over S rounds

    (1/S + n_test / n_train) s^2

instead of s^2 / S. ``ratio`` is n_test / n_train throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from whyconv.lazy import np, stats


class Spread(NamedTuple):
    """A mean over rounds with its interval; -inf and inf without one."""

    mean: float
    low: float
    high: float


def quantile(rounds: int, ratio: float, level: float = 0.95) -> float:
    """Student's quantile for a mean, times sqrt(1 + S n_test / n_train)."""
    return float(stats.t.ppf((1 + level) / 2, rounds - 1)) * math.sqrt(1 + rounds * ratio)


def interval(values: Sequence[float] | np.ndarray, ratio: float, level: float = 0.95) -> Spread:
    """The mean of one value per round with its corrected interval."""
    array = np.asarray(values, float)
    mean = float(array.mean())
    if len(array) < 2:
        return Spread(mean, -math.inf, math.inf)
    reach = quantile(len(array), ratio, level) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return Spread(mean, mean - reach, mean + reach)


def p_value(differences: Sequence[float] | np.ndarray, ratio: float) -> float:
    """The two-sided p of "the expected difference is 0", by the corrected t; 1 with fewer than two rounds."""
    array = np.asarray(differences, float)
    count, mean = len(array), float(array.mean())
    if count < 2 or mean == 0:
        return 1.0
    error = float(array.std(ddof=1)) * math.sqrt(1 / count + ratio)
    return float(2 * stats.t.sf(abs(mean) / error, count - 1)) if error > 0 else 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [1.0] * len(p_values), 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = highest
    return adjusted
