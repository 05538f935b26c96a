"""Intervals for the mean of a few repetitions, and for paired differences between two arms.

With ``count`` repetitions, mean ``x`` and sample standard deviation ``s`` (divisor ``count - 1``),
the interval is

    x ± t * s / sqrt(count),    t = the (1 + level) / 2 quantile of Student's t, count - 1 degrees of freedom.

Five repetitions are usual here. With five, Student's t covers its nominal level (a test measures it), while
the bootstrap (BCa covers 81-84 %) and the normal quantile fall short. From 30 repetitions on t and normal
differ by less than 5 %, so t is used throughout.

Errors and accuracies are *shares* and lie in [0, 1]. Near 0 and 1 they are skewed: with an error of 2 % that
varies by as much, Student t covers 87 % with five repetitions, and its lower end is negative. So the interval
of a mean share (:func:`share_interval`) is taken on the scale of logit x = log(x / (1 - x)), with the slope
of the logit at the mean:

    logit(x) ± t * s / (sqrt(count) * x * (1 - x)),    taken back by 1 / (1 + exp(-z)).

It lies within [0, 1] and covers 93-96 % there (a test measures both); around one half it is Student's t. No
method helps where single repetitions are rare and far from the others (one in five fails: 48-67 %): a share
of *repetitions* is for :func:`rate_interval`, which is exact. Differences of shares stay on their own scale.

Edge cases:

- one repetition says nothing about spread, so its interval is the whole line, ``(-inf, inf)``; a verdict
  that compares interval ends with a threshold is then undecided;
- a value that is not finite makes the mean ``nan`` and the interval the whole line; it is never dropped;
- equal values give an interval of width zero. For errors counted on a finite test set this means
  "always the same count", not "certainly no error". So the mean of a share is 0 or 1 only if all are;
- numbers outside [0, 1] are no shares and get the plain interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whyconv.lazy import np, pd, stats
from whyconv.measure.estimate import Estimate

COLUMNS = ("mean", "low", "high", "count", "std")
"""What :func:`summarise` appends to the grouping columns."""


@dataclass(frozen=True)
class Interval(Estimate):
    """A mean over ``count`` repetitions with its interval."""

    mean: float
    low: float
    high: float
    count: int

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def within(self, low: float, high: float) -> bool:
        """Whether the interval lies within ``low`` and ``high``: equivalence, if these are a margin."""
        return low <= self.low and self.high <= high

    @property
    def central(self) -> float:
        return self.mean

    @property
    def cell(self) -> str:
        ends = f" [{self.low:.4g}, {self.high:.4g}]" if self.count > 1 else ""
        rounding = abs(self.mean) < 1e-12 * (self.high - self.low) < math.inf
        return f"{0.0 if rounding else self.mean:.4g}{ends}"

    __str__ = Estimate.__str__


def mean_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """The mean of ``values`` with its Student t interval; see the module for edge cases.

    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2 [-0.4841, 4.484], 3 repetitions
    """
    array = np.asarray(list(values), dtype=float)
    if array.size == 0:
        raise ValueError("an interval needs at least one value, but none was given")
    mean, low, high, _ = _student(array, level)
    return Interval(mean, low, high, int(array.size))


def median_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """The median of ``values`` with an interval that holds for every law and that few outliers cannot move.

    From the r-th smallest to the r-th largest, r the largest with P(Binomial(count, 1/2) < r) <=
    (1 - level) / 2; the whole line for fewer than six values.

    >>> print(median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 700.0]))
    4 [1, 700], 7 repetitions
    """
    array = np.sort(np.asarray(list(values), dtype=float))
    if array.size == 0:
        raise ValueError("an interval needs at least one value, but none was given")
    rank = int(stats.binom.ppf((1 - level) / 2, array.size, 0.5))
    if rank < 1 or not np.isfinite(array).all():
        return Interval(float(np.median(array)), -math.inf, math.inf, int(array.size))
    return Interval(float(np.median(array)), float(array[rank - 1]), float(array[-rank]), int(array.size))


def share_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """The mean of errors or accuracies with its interval within [0, 1]; see the module.

    >>> print(share_interval([0.0, 0.02, 0.07]))
    0.03 [0.001422, 0.4017], 3 repetitions
    """
    array = np.asarray(list(values), dtype=float)
    if array.size == 0:
        raise ValueError("an interval needs at least one value, but none was given")
    mean, low, high, _ = _share(array, level)
    return Interval(mean, low, high, int(array.size))


def is_share(column: str) -> bool:
    """Whether a measured column is a share of examples: an error or an accuracy, but not a risk."""
    return column == "accuracy" or "error" in column.split("_")


def flag_rate(flags: Iterable[bool], level: float = 0.95) -> Interval:
    """The share of repetitions that are true, with :func:`rate_interval`."""
    found = [bool(flag) for flag in flags]
    return rate_interval(sum(found), len(found), level)


def rate_interval(successes: int, trials: int, level: float = 0.95) -> Interval:
    """The share of successes with the interval of Clopper & Pearson, which covers ``level`` or more.

    Its ends are quantiles of Beta(s, n - s + 1) and Beta(s + 1, n - s); 0 or 1 where these do not exist.

    >>> print(rate_interval(20, 20))
    1 [0.8316, 1], 20 repetitions
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(
            f"{successes} successes of {trials} were given; 0 <= successes <= trials, trials > 0"
        )
    tail, misses = (1 - level) / 2, trials - successes
    low = float(stats.beta.ppf(tail, successes, misses + 1)) if successes else 0.0
    high = float(stats.beta.ppf(1 - tail, successes + 1, misses)) if misses else 1.0
    return Interval(successes / trials, low, high, trials)


def paired_difference(a: pd.Series, b: pd.Series, level: float = 0.95) -> Interval:
    """The interval of the mean of ``a - b`` over the seeds that both have.

    Both series are indexed by seed. Arms that share a seed share their data, so the difficulty of a sample
    cancels in the difference; a seed that only one arm has is left out.
    """
    for name, series in (("first", a), ("second", b)):
        if not series.index.is_unique:
            twice = series.index[series.index.duplicated()][0]
            raise ValueError(f"the {name} series has the seed {twice} twice; a pair needs it once")
    common = a.index.intersection(b.index)
    if len(common) == 0:
        raise ValueError("the two series have no seed in common; paired differences need the same seeds")
    return mean_interval(a.loc[common].to_numpy(float) - b.loc[common].to_numpy(float), level)


def summarise(table: pd.DataFrame, by: Sequence[str], value: str, level: float = 0.95) -> pd.DataFrame:
    """One line per group of ``by``: the columns ``by``, then mean, low, high, count and std of ``value``.

    Groups keep the order in which they first appear in ``table``. An empty table gives an empty one. Errors
    and accuracies have intervals within [0, 1].
    """
    by, interval = list(by), _share if is_share(value) else _student
    if taken := sorted(set(by) & set(COLUMNS)):
        raise ValueError(f"cannot group by {taken[0]!r}: the summary has a column of that name; rename it")
    lines = []
    if not table.empty:
        for key, group in table.groupby(by, sort=False, observed=True, dropna=False):
            mean, low, high, std = interval(group[value].to_numpy(float), level)
            lines.append((*(key if isinstance(key, tuple) else (key,)), mean, low, high, len(group), std))
    return pd.DataFrame(lines, columns=[*by, *COLUMNS])


def intervals_shown(summary: pd.DataFrame) -> pd.DataFrame:
    """A table of means where an interval that does not exist is missing, not infinite."""
    ends = summary[["low", "high"]]
    return summary.assign(**ends.where(ends.abs() < math.inf))


def _student(array: np.ndarray, level: float) -> tuple[float, float, float, float]:
    """Mean, low, high and standard deviation of a nonempty sample."""
    if not np.isfinite(array).all():
        return math.nan, -math.inf, math.inf, math.nan
    if array.size == 1:
        return float(array[0]), -math.inf, math.inf, math.nan
    if np.ptp(array) == 0.0:  # the arithmetic mean would add a rounding error
        return float(array[0]), float(array[0]), float(array[0]), 0.0
    mean, std = float(array.mean()), float(array.std(ddof=1))
    reach = float(stats.t.ppf((1 + level) / 2, array.size - 1)) * std / math.sqrt(array.size)
    return mean, mean - reach, mean + reach, std


def _share(array: np.ndarray, level: float) -> tuple[float, float, float, float]:
    """The same, with the interval on the logit scale if all are in [0, 1] and differ."""
    mean, low, high, std = _student(array, level)
    if not std > 0 or array.min() < 0 or array.max() > 1:  # also if std is nan
        return mean, low, high, std
    centre, reach = math.log(mean / (1 - mean)), (high - mean) / (mean * (1 - mean))
    return mean, _logistic(centre - reach), _logistic(centre + reach), std


def _logistic(z: float) -> float:
    """1 / (1 + exp(-z)) without overflow.

    >>> _logistic(0.0), _logistic(-1e9), _logistic(1e9)
    (0.5, 0.0, 1.0)
    """
    return (1 + math.tanh(z / 2)) / 2
