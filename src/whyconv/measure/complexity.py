"""Sample complexity m*: the smallest m whose mean risk over the seeds is <= target.

:class:`Search` chooses the sizes to measure, :func:`sample_complexity` estimates m* from the curve with its
interval, :func:`ratio` compares two architectures, and ratios and exponents are each a :func:`contrast`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whyconv.lazy import np, stats
from whyconv.measure.crossing import between, limits, locate
from whyconv.measure.curves import Curve
from whyconv.measure.estimate import Estimate, repetitions
from whyconv.measure.intervals import mean_interval

FLANK = 4
"""A failing size of at most m* / FLANK is measured as well; see :class:`Search`."""


@dataclass(frozen=True)
class Search:
    """Bisection on log m between ``low`` and ``cap``, until the bracket's ends are within ``resolution``.

    The first round measures round(sqrt(low * cap)) and the cap, which can run side by side, or the sizes in
    ``first`` if a learning curve is wanted as well. From then on the bracket is the smallest size that
    reaches the target and the largest below it that fails (``low`` if none is known to fail); its geometric
    mean comes next, until the ends are neighbouring integers or high / low <= 1 + resolution.

    A last size, m* / 4, is measured if all failing ones are above it. Otherwise a size that failed narrowly
    might be the smallest of all, with no measurement to show where below it the expected risk may have
    crossed: with 5 seeds and noise of 10 % (20 %) of the excess risk, 12 % (29 %) of the intervals would be
    open; with this size hardly any is.

    Every answer is a size from ``low`` to ``cap`` that is not known yet, so the search ends for any means.
    """

    low: int
    cap: int
    resolution: float = 0.05
    first: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.low < 1:
            raise ValueError(f"the smallest sample size to search is 1, but low = {self.low} was given")
        if self.low >= self.cap:
            raise ValueError(f"a search needs low < cap, but low = {self.low}, cap = {self.cap} were given")
        if not self.resolution > 0:
            raise ValueError(f"a search needs a resolution above 0, but {self.resolution} was given")
        if self.first and not (self.low <= min(self.first) and max(self.first) == self.cap):
            raise ValueError(f"a search begins with sizes from low up to cap, but {self.first} were given")

    def wanted(self, means: Mapping[int, float], target: float) -> list[int]:
        """The sizes to measure next, given the mean risks so far; none when done. nan and inf fail."""
        opening = self.first or (round(math.sqrt(self.low * self.cap)), self.cap)
        first = [m for m in opening if m not in means]
        known = {m: mean for m, mean in means.items() if self.low <= m <= self.cap}
        high = min((m for m, mean in known.items() if mean <= target), default=None)
        if first or high is None:
            return first
        failing = [m for m in known if m < high]
        low = max(failing, default=self.low)
        if high - low > 1 and high > low * (1 + self.resolution):
            return [round(math.sqrt(low * high))]
        if not failing:
            return [self.low] if high > self.low else []
        flank = max(self.low, high // FLANK)
        return [flank] if min(failing) > flank else []

    def usual(self) -> list[int]:
        """The sizes that a forecast counts on: ``first``, or the cap and six around the middle in log m."""
        middle = math.sqrt(self.low * self.cap)
        around = {min(max(round(middle * 2**i), self.low), self.cap) for i in range(-2, 4)}
        return sorted(self.first or around | {self.cap})


@dataclass(frozen=True)
class SampleComplexity(Estimate):
    """m* of one curve with the interval for the crossing of the expected risk.

    ``m_star`` is the smallest measured size that reaches the target (None: not by ``cap``), ``below`` the
    measured size before it (None: m* may be anything down to 1), ``crossing`` where the mean curve, linear
    in log m between the two, meets the target (nan if not reached, m_star without ``below``), ``low`` and
    ``high`` the interval at ``level``, ``cap`` the largest measured size, ``count`` the repetitions.
    ``logs`` are the pseudo-values of log m* by seed, for paired comparisons; see :func:`sample_complexity`.
    """

    m_star: int | None
    below: int | None
    crossing: float
    low: float
    high: float
    cap: int
    count: int
    level: float
    seeds: tuple[int, ...] = field(repr=False)
    logs: tuple[float, ...] = field(repr=False)

    @property
    def reached(self) -> bool:
        return self.m_star is not None

    @property
    def censored(self) -> bool:
        """Whether the crossing is above or below all measured sizes."""
        return self.m_star is None or self.below is None

    @property
    def central(self) -> float:
        return math.nan if self.censored else self.crossing

    def data(self) -> dict[str, float | int | None]:
        """Also ``cap``, the largest size measured, and ``m_star``: None if it was not reached by then."""
        return {**super().data(), "m_star": self.m_star, "cap": self.cap}

    @property
    def needed(self) -> int:
        """The least whole number of examples from the crossing on; only if that is measured."""
        return math.ceil(round(self.crossing, 6))

    @property
    def cell(self) -> str:
        """``421 [380, 460]``, ``> 1000`` or ``<= 2``."""
        if self.m_star is None:
            return f"> {self.cap}"
        if self.below is None:
            return f"<= {self.m_star}"
        ends = f" [{_whole(self.low)}, {_whole(self.high)}]" if self.count > 1 else ""
        return f"{_whole(self.crossing)}{ends}"

    def __str__(self) -> str:
        text = self.cell
        if self.m_star is None:
            text = f"not reached by m = {self.cap}"
        elif self.below is None:
            text = f"at most {self.m_star}"
        return f"{text}, {repetitions(self.count)}"


def sample_complexity(curve: Curve, target: float, cap: int, level: float = 0.95) -> SampleComplexity:
    """m* of ``curve`` among its sizes up to ``cap``, with the interval of :mod:`whyconv.measure.crossing`.

    For comparisons each seed s gets a pseudo-value of log m*,

        z_s = log c + (r_s(c) - target) * (log high - log low) / (2 t se(c)),     c = the crossing,

    the linearised jackknife with 1 / slope taken from the interval [low, high]. The z_s have the mean log c,
    and their Student t interval is as wide as [low, high]. The plain jackknife (the crossing of the mean
    curve without seed s) is not accurate: the search leaves sizes 5 % apart around the crossing, chosen
    because one fails and the other passes, so the slope between them is mostly noise, and too steep. At a
    nominal 95 % it covered 75-95 %, less with more noise; this covers 93-97 %. There are no z_s, hence
    limits only, if the interval is open (low 0 or high inf), if the size before m* has no finite mean, or
    if there is no spread at c to scale.

    One repetition has no interval, (0, inf). The curve must have the same seeds at every size.
    """
    curve = curve.up_to(cap)
    seeds = curve.seeds
    count = len(seeds)
    if count == 0:
        raise ValueError(f"a sample complexity needs a measured size, but none up to m = {cap} was given")
    sizes, means = np.array(curve.sizes, dtype=float), np.array(list(curve.means().values()))
    k, share = locate(means, target)
    m_star = None if k is None else curve.sizes[k]
    below = curve.sizes[k - 1] if k else None
    crossing = math.nan if m_star is None else between(float(below or m_star), float(m_star), share)
    low, high, logs = 0.0, math.inf, ()
    if count > 1:
        deviations = curve.array() - means
        t = float(stats.t.ppf((1 + level) / 2, count - 1))
        low, high = limits(sizes, means, deviations, target, t)
        if k and low > 0 and high < math.inf:
            spread = (1 - share) * deviations[:, k - 1] + share * deviations[:, k]
            reach = t * math.sqrt(float(spread @ spread) / (count * (count - 1)))
            if reach > 0:  # false for nan: the size before m* has no finite mean
                stretch = math.log(high / low) / 2 / reach
                logs = tuple(float(z) for z in math.log(crossing) + spread * stretch)
    return SampleComplexity(m_star, below, crossing, low, high, curve.sizes[-1], count, level, seeds, logs)


@dataclass(frozen=True)
class Ratio(Estimate):
    """m* of one architecture over that of another; ``value`` is nan if one of them is censored."""

    value: float
    low: float
    high: float
    count: int

    @property
    def central(self) -> float:
        return self.value

    @property
    def cell(self) -> str:
        return estimate(self.value, self.low, self.high, 0.0, ".3g", self.count)

    __str__ = Estimate.__str__


def ratio(a: SampleComplexity, b: SampleComplexity) -> Ratio:
    """m*_a / m*_b with its interval, paired by seed: :func:`contrast` of the logarithms, exponentiated.

    A lower limit (high inf) if a is not reached, an upper one (low 0) if b is not, nothing if neither is.
    """
    value, low, high = contrast([1.0, -1.0], [a, b])
    return Ratio(math.exp(value), math.exp(low), math.exp(high), a.count)


def contrast(weights: Sequence[float], results: Sequence[SampleComplexity]) -> tuple[float, float, float]:
    """sum_i w_i log m*_i and its interval over seeds: ``(value, low, high)``.

    Results with pseudo-values z_is enter through sum_i w_i z_is, one number per seed, with its Student t
    interval: the effect that a seed has on all of them cancels. The others (censored, or too close to an end
    of the measured range) are neither dropped nor extrapolated. They add w_i log low_i or w_i log high_i of
    their own interval, whichever is worse, to each end; if that is infinite, so is the end. Adding limits
    ignores that errors may cancel, so the interval is then conservative.
    """
    if len({(result.seeds, result.level) for result in results}) != 1:
        raise ValueError("only sample complexities with the same seeds and level can be compared")
    used = [(w, result) for w, result in zip(weights, results, strict=True) if w != 0]
    value = sum(w * (math.nan if r.censored else math.log(r.crossing)) for w, r in used)
    low = high = 0.0
    if paired := [w * np.array(r.logs) for w, r in used if r.logs]:
        interval = mean_interval(np.sum(paired, axis=0), results[0].level)
        low, high = interval.low, interval.high
    for w, r in used:
        if not r.logs:
            ends = sorted(w * (math.log(end) if end else -math.inf) for end in (r.low, r.high))
            low, high = low + ends[0], high + ends[1]
    return value, low, high


def estimate(value: float, low: float, high: float, nothing: float, spec: str, count: int) -> str:
    """The text for an estimate, or for its one limit if ``value`` is nan.

    >>> estimate(1.3, 1.1, 1.6, 0.0, ".3g", 5), estimate(math.nan, 1.1, math.inf, 0.0, ".2f", 5)
    ('1.3 [1.1, 1.6]', 'at least 1.10')

    ``nothing`` is the trivial lower limit, ``spec`` the format of a number, ``count`` the number of
    repetitions; a single one has no interval.
    """
    if not math.isnan(value) and count == 1:
        return f"{value:{spec}}"
    if not math.isnan(value):
        return f"{value:{spec}} [{low:{spec}}, {high:{spec}}]"
    if low > nothing:
        return f"at least {low:{spec}}"
    return "unknown" if high == math.inf else f"at most {high:{spec}}"


def _whole(size: float) -> str:
    return "inf" if size == math.inf else str(math.ceil(round(size, 6)))
