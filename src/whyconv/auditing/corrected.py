r"""Intervals over rounds that split one set of data again and again.

Rounds share examples, so their results are correlated, and Student's interval is too narrow
(``python -m whyconv.auditing.coverage`` measures those used here). Nadeau & Bengio (Machine Learning 52,
2003, section 5) estimate the correlation by the share of test examples, which makes the variance of a mean
over S rounds

    (1/S + n_test / n_train) s^2

instead of s^2 / S. ``ratio`` is n_test / n_train throughout.

Errors of n test examples are multiples of 1/n, so a few rounds may agree exactly, and s would be 0. It is
therefore taken as at least ``grain`` = 1/n: as if one round had one example more wrong. Of a balanced error
that example is one of the smallest class, and ``grain`` = 1/(classes * examples of that class in the test).
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


def spread(array: np.ndarray, grain: float) -> float:
    """The standard deviation over rounds, at least ``grain``."""
    return max(float(array.std(ddof=1)), grain)


def floored(deviations: np.ndarray, grain: float) -> np.ndarray:
    """Deviations from means (rounds x places) with a spread of at least ``grain`` at every place.

    Where rounds agree more closely they are moved up and down by turns; means stay 0.
    """
    if len(deviations) < 2 or grain <= 0:
        return deviations
    turns = np.resize([1.0, -1.0], len(deviations))
    turns -= turns.mean()
    turns *= grain / turns.std(ddof=1)
    return np.where(deviations.std(axis=0, ddof=1) < grain, turns[:, None], deviations)


def interval(
    values: Sequence[float] | np.ndarray, ratio: float, level: float = 0.95, grain: float = 0.0
) -> Spread:
    """The mean of one value per round with its corrected interval."""
    array = np.asarray(values, float)
    mean = float(array.mean())
    if len(array) < 2:
        return Spread(mean, -math.inf, math.inf)
    reach = quantile(len(array), ratio, level) * spread(array, grain) / math.sqrt(len(array))
    return Spread(mean, mean - reach, mean + reach)


def p_value(differences: Sequence[float] | np.ndarray, ratio: float, grain: float = 0.0) -> float:
    """The two-sided p of "the expected difference is 0", by the corrected t; 1 with fewer than two rounds.

    Without a ``grain``, rounds that agree exactly are judged by their signs: 2^(1 - S).
    """
    array = np.asarray(differences, float)
    count, mean = len(array), float(array.mean())
    if count < 2 or mean == 0:
        return 1.0
    error = spread(array, grain) * math.sqrt(1 / count + ratio)
    return float(2 * stats.t.sf(abs(mean) / error, count - 1)) if error > 0 else 2.0 ** (1 - count)


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
