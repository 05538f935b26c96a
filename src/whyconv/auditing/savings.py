r"""How many examples a prior saves: the factor between two learning curves, with its interval.

Arm A lacks the prior, arm B has it; a_s(m), b_s(m) are their errors in round s, M all training examples. The
factor f = e^g is what B's data are worth in A's: for g >= 0, B with M / f examples errs like A with M; for
g < 0, A with f M examples errs like B with M. It is the root of

    D(g) = b(M e^-g) - a(M)   for g >= 0,      D(g) = b(M) - a(M e^g)   for g < 0,

which are paired differences within a round, grow with g where curves fall, and agree at g = 0. So both curves
are used where they were measured, the comparison is at the larger of the two full-data errors, which both
reach, and a cost is a factor below 1. Errors are linear in log m between measured sizes. The point is the
root of the isotonic mean; the interval inverts the corrected t test of D(g) = 0
(:mod:`whyconv.measure.crossing`, :mod:`whyconv.auditing.corrected`): nothing is divided by a slope. Its ends
are open where no measured size decides: nothing is extrapolated.

The *gap* is the mean of log m_A(e) - log m_B(e) over the errors e that both isotonic mean curves take, with
a jackknife over rounds, corrected: finite where curves are flat and single levels are noise.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from whyconv.auditing.corrected import Spread, floored, interval, p_value, quantile, spread
from whyconv.lazy import np
from whyconv.measure.crossing import limits

SAME = (0.67, 1.5)
"""An interval inside is *no difference*."""
LEVELS = 64
MOST_ROUNDS = 40
"""An audit has no more."""
ALPHA = 0.05

Decision = Literal["saves", "costs", "no difference", "undecided"]


class Factor(NamedTuple):
    """What a prior saves: the factor (nan beyond the measured sizes), its interval (0, inf: open), the p of
    equal errors with all examples, and the error at which the two arms are compared.
    """

    value: float
    low: float
    high: float
    p: float
    at: float


def isotonic(values: np.ndarray) -> np.ndarray:
    """The non-increasing sequence nearest in least squares: pool adjacent violators."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        blocks.append((float(value), 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (after, n), (before, k) = blocks.pop(), blocks.pop()
            blocks.append(((before * k + after * n) / (k + n), k + n))
    return np.repeat([value for value, _ in blocks], [count for _, count in blocks])


def differences(without: np.ndarray, given: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factors e^g of all pairs of measured sizes, ascending, and -D (rounds x factors) there."""
    last = len(sizes) - 1
    costs = without[:, :last] - given[:, last:]
    savings = without[:, last:] - given[:, ::-1]
    up = sizes[last] / sizes[::-1]
    return np.concatenate([sizes[:last] / sizes[last], up]), np.concatenate([costs, savings], axis=1)


def saving(
    without: np.ndarray,
    given: np.ndarray,
    sizes: np.ndarray,
    ratio: float,
    level: float = 0.95,
    *,
    grain: float = 0.0,
) -> Factor:
    """The factor of two arms, from their errors (rounds x sizes, sizes ascending)."""
    sizes = np.asarray(sizes, float)
    factors, curves = differences(without, given, sizes)
    means, rounds = curves.mean(axis=0), len(curves)
    low, high = 0.0, math.inf
    if rounds > 1:
        deviations = floored(curves - means, grain)
        low, high = limits(factors, means, deviations, 0.0, quantile(rounds, ratio, level))
    at = float(max(without[:, -1].mean(), given[:, -1].mean()))
    p = p_value(without[:, -1] - given[:, -1], ratio, grain)
    value = _root(np.log(factors), isotonic(means))
    return Factor(value, low, high, p, at)


def _root(logs: np.ndarray, falling: np.ndarray) -> float:
    """e^g where a falling curve, linear in g, is 0: the middle of where it is; nan if it is nowhere."""
    if falling[0] < 0 or falling[-1] > 0:
        return math.nan
    before = int(np.flatnonzero(falling >= 0)[-1])
    after = int(np.flatnonzero(falling <= 0)[0])
    if after <= before:  # 0 at measured places
        return float(np.exp((logs[after] + logs[before]) / 2))
    share = falling[before] / (falling[before] - falling[after])
    return float(np.exp(logs[before] + share * (logs[after] - logs[before])))


def gap(
    without: np.ndarray, given: np.ndarray, sizes: np.ndarray, ratio: float, grain: float = 0.0
) -> Spread | None:
    """The mean horizontal gap of two curves as a factor; None if they have no error in common."""
    logs = np.log(np.asarray(sizes, float))
    apart = without - given
    deviations = apart - apart.mean(axis=0)
    without = without + floored(deviations, grain) - deviations

    def mean_gap(kept: np.ndarray) -> float:
        return _mean_gap(without[kept].mean(axis=0), given[kept].mean(axis=0), logs)

    rounds = np.arange(len(without))
    whole = mean_gap(rounds)
    if not math.isfinite(whole):
        return None
    parts = [mean_gap(np.delete(rounds, s)) for s in rounds] if len(rounds) > 1 else []
    if not parts or not np.isfinite(parts).all():
        return Spread(math.exp(whole), 0.0, math.inf)
    pseudo = len(rounds) * whole - (len(rounds) - 1) * np.array(parts)
    _, low, high = interval(pseudo - pseudo.mean() + whole, ratio)
    return Spread(math.exp(whole), _exp(low), _exp(high))


def _mean_gap(a: np.ndarray, b: np.ndarray, logs: np.ndarray) -> float:
    a, b = isotonic(a), isotonic(b)
    low, high = max(a[-1], b[-1]), min(a[0], b[0])
    if not high > low:
        return math.nan
    levels = low + (high - low) * (np.arange(LEVELS) + 0.5) / LEVELS
    return float(np.mean(_sizes(levels, a, logs) - _sizes(levels, b, logs)))


def _sizes(levels: np.ndarray, falling: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """log m at which a falling curve takes each level."""
    return np.interp(levels, falling[::-1], logs[::-1])


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def decided(factor: Factor, adjusted: float) -> Decision:
    """*saves* or *costs* if the interval excludes 1 and so does the test, adjusted for all questions."""
    if factor.low > 1 and adjusted <= ALPHA:
        return "saves"
    if factor.high < 1 and adjusted <= ALPHA:
        return "costs"
    return "no difference" if SAME[0] <= factor.low and factor.high <= SAME[1] else "undecided"


def what_would_decide(
    without: np.ndarray, given: np.ndarray, ratio: float, adjusted: float, p: float, grain: float = 0.0
) -> str:
    """Why a saving is undecided, and what would decide it: rounds, as far as they help, or examples."""
    if not (without[:, -1].any() or given[:, -1].any()):
        return "both make no errors with all examples: fewer would tell them apart, more would not"
    difference = without[:, -1] - given[:, -1]
    rounds, apart = len(difference), spread(difference, grain)
    level = 1 - ALPHA * (p / adjusted if adjusted > 0 else 1.0)
    for more in range(rounds + 1, MOST_ROUNDS + 1):
        if abs(float(difference.mean())) > quantile(more, ratio, level) * apart / math.sqrt(more):
            return f"about {more} rounds in all would decide it if this goes on; give more minutes"
    return "the arms are too close for these data: more examples would decide it, more rounds would not"
