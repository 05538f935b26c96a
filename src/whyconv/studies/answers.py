"""What a study found, as data: a prior's worth as a factor or a difference, and the sentence that says it.

A *factor* is what is needed without the prior over what is needed with it (examples: m*; steps; evaluations),
so a prior that helps has one above 1. A *difference* is by how much the outcome is better with the prior than
without it. Both carry their interval; the sentence is made from the numbers when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, isnan, nan
from typing import Any, Literal

from whyconv.lazy import np, pd
from whyconv.measure.complexity import Ratio, SampleComplexity, ratio
from whyconv.measure.estimate import Estimate
from whyconv.measure.intervals import Interval, mean_interval, paired_difference

Kind = Literal["factor", "difference"]
RISE = "rise of the test error"
SHARES = {"test_error": "errs on", "accuracy": "is right on", RISE: ""}
"""How outcomes that are shares of examples are said."""
LARGER_IS_BETTER = ("accuracy", "alignment")
ALL_THREE = "locality, sharing and pooling"
LOCALITY, SHARING = "locality", "weight sharing"
"""Names of priors that several studies speak of."""


@dataclass(frozen=True)
class Answer:
    """What ``prior`` is worth: ``found``, from what ``given``, which has it, and ``without``, which has not,
    reach or need (``levels``, in this order) of ``unit``, on which ``data`` and in which ``range``.
    """

    prior: str
    kind: Kind
    found: Estimate
    unit: str
    given: str
    without: str
    levels: tuple[float | SampleComplexity, float | SampleComplexity]
    data: str
    range: str

    @property
    def value(self) -> float:
        """The estimate; nan if only limits are known."""
        return self.found.central

    @property
    def low(self) -> float:
        return self.found.low

    @property
    def high(self) -> float:
        return self.found.high

    @property
    def helps(self) -> bool | None:
        """Whether the interval lies above (True) or below (False) no effect; None if it contains it."""
        nothing = 1.0 if self.kind == "factor" else 0.0
        if not (self.low > nothing or self.high < nothing):
            return None
        return self.low > nothing

    @property
    def amount(self) -> str:
        """Value and interval: ``22 [13, 40] x``, ``at least 27 x``, ``33 [30, 36] points``, ``0.2``."""
        if self.kind == "factor":
            return f"{_factor(self.value, self.low, self.high, self.found.count)} x"
        scale, points = (100.0, " points") if self.unit in SHARES else (1.0, "")
        return f"{_spread(scale * self.value, scale * self.low, scale * self.high, self.found.count)}{points}"

    @property
    def worth(self) -> str:
        """The same, with its unit if the amount does not say what it is of: ``0.2 of risk``."""
        named = self.kind == "factor" or self.unit in SHARES
        return self.amount if named else f"{self.amount} of {words(self.unit)}"

    @property
    def size(self) -> str:
        """The same without a sign: what the prior saves or gains, or else what it costs or loses."""
        if self.helps is not False:
            return self.worth
        if self.kind == "factor":
            turned = Ratio(1 / self.value, 1 / self.high, 1 / self.low if self.low else inf, self.found.count)
        else:
            turned = Interval(-self.value, -self.high, -self.low, self.found.count)
        return replace(self, found=turned).worth

    @property
    def sentence(self) -> str:
        return self._factor_said() if self.kind == "factor" else self._difference_said()

    def record(self) -> dict[str, Any]:
        """For programs; a difference has its own keys, and None as ``factor``, ``low`` and ``high``."""
        ends = {name: _finite(end) for name, end in
                (("value", self.value), ("low", self.low), ("high", self.high))}  # fmt: skip
        factor = self.kind == "factor"
        return {
            "prior": self.prior, "kind": self.kind, "factor": ends["value"] if factor else None,
            "low": ends["low"] if factor else None, "high": ends["high"] if factor else None,
            "difference": None if factor else ends["value"],
            "difference_low": None if factor else ends["low"],
            "difference_high": None if factor else ends["high"],
            "unit": self.unit, "count": self.found.count, "given": self.given, "without": self.without,
            "data": self.data, "range": self.range, "sentence": self.sentence,
        }  # fmt: skip

    def _factor_said(self) -> str:
        needs = f"{self.given}: {_needed(self.levels[0])}; {self.without}: {_needed(self.levels[1])}"
        where = f", {self.range} ({needs})."
        name = f"{self.prior[0].upper()}{self.prior[1:]}"
        if not self.known:
            return f"What {self.prior} {self._verb('save')} in {self.unit} is not known{where}"
        if self.helps is False:
            inverse = self.size.removesuffix(" x")
            return f"{name} {self._verb('cost')} a factor of {inverse} in {self.unit}{where}"
        said = _factor(self.value, self.low, self.high, self.found.count)
        if self.helps:
            return f"{name} {self._verb('save')} a factor of {said} in {self.unit}{where}"
        if self.found.count == 1 and not isnan(self.value):
            return f"{name}: a factor of {said} in {self.unit}, from one repetition{where}"
        return f"{name}: no saving in {self.unit} is shown, a factor of {said}{where}"

    def _difference_said(self) -> str:
        given, without = (float(level) for level in self.levels if not isinstance(level, SampleComplexity))
        place = f"{self.range}," if "," in self.range else self.range
        if self.unit == RISE:
            said = (
                f"{self.range[0].upper()}{self.range[1:]} the error of {self.given} rises by "
                f"{100 * given:.2g} points, that of {self.without} by {100 * without:.2g}"
            )
        elif (verb := SHARES.get(self.unit)) is not None:
            said = (
                f"{self.given} {verb} {_percent(given)} {place} where {self.without} {verb} "
                f"{_percent(without)}"
            )
        else:
            said = (
                f"{self.given} has {words(self.unit)} {given:.3g} {place} where {self.without} has "
                f"{without:.3g}"
            )
        if self.found.count == 1:
            return f"{said} (one repetition: no interval)."
        if self.helps is None:
            return f"{said}: no difference is shown ({self.worth})."
        return f"{said}: {self.prior} {self._verb('gain' if self.helps else 'lose')} {self.size}."

    def _verb(self, stem: str) -> str:
        """Several priors *save*, one *saves*."""
        return stem if " and " in self.prior else f"{stem}s"

    @property
    def known(self) -> bool:
        """Whether the rows say anything: a value, or at least one limit."""
        return not isnan(self.value) or self.low > 0 or isfinite(self.high)


def in_examples(
    prior: str,
    without: tuple[str, SampleComplexity],
    given: tuple[str, SampleComplexity],
    data: str,
    range: str,
) -> Answer:
    """A factor in examples: m* without the prior over m* with it, paired by seed."""
    levels = (given[1], without[1])
    found = ratio(without[1], given[1])
    return Answer(prior, "factor", found, "examples", given[0], without[0], levels, data, range)


def in_effort(
    prior: str,
    without: tuple[str, pd.Series],
    given: tuple[str, pd.Series],
    unit: str,
    data: str,
    range: str,
    bounds: tuple[bool, bool] = (False, False),
) -> Answer:
    """A factor in what was spent (steps, operations, evaluations): geometric means, paired by their index.

    ``bounds``: whether what was spent without and with the prior is a lower bound only, because a run was cut
    off; an end that nothing bounds is then open.
    """
    common = without[1].index.intersection(given[1].index)
    logs = [np.log(series.loc[common].astype(float)) for _, series in (without, given)]
    found = paired_difference(logs[0], logs[1])
    value, low, high = (exp(end) if isfinite(end) else (0.0 if end < 0 else inf)
                        for end in (found.mean, found.low, found.high))  # fmt: skip
    if any(bounds):
        value = nan
        low, high = 0.0 if bounds[1] else low, inf if bounds[0] else high
    means = tuple(float(exp(each.mean())) for each in logs)
    estimate = Ratio(value, low, high, found.count)
    return Answer(prior, "factor", estimate, unit, given[0], without[0], (means[1], means[0]), data, range)


def in_outcome(
    prior: str,
    without: tuple[str, pd.Series],
    given: tuple[str, pd.Series],
    unit: str,
    data: str,
    range: str,
) -> Answer:
    """By how much ``unit`` (a measured column) is better with the prior, seed by seed."""
    sign = 1.0 if unit in LARGER_IS_BETTER else -1.0
    found = paired_difference(sign * given[1], sign * without[1])
    common = given[1].index.intersection(without[1].index)
    levels = (float(given[1].loc[common].mean()), float(without[1].loc[common].mean()))
    return Answer(prior, "difference", found, unit, given[0], without[0], levels, data, range)


def in_tries(prior: str, values: Iterable[float], unit: str, given: str, without: str, data: str,
                range: str) -> Answer:  # fmt: skip
    """A factor against a cost of exactly one: the mean of what was spent without the prior."""
    found = mean_interval(values)
    estimate = Ratio(found.mean, max(0.0, found.low), found.high, found.count)
    return Answer(prior, "factor", estimate, unit, given, without, (1.0, found.mean), data, range)


def words(unit: str) -> str:
    return unit.replace("_", " ")


def _needed(level: float | SampleComplexity) -> str:
    if not isinstance(level, SampleComplexity):
        return f"{level:,.0f}" if level >= 10 else f"{level:.2g}"
    if level.m_star is None:
        return f"not reached by m = {level.cap:,}"
    return f"at most {level.m_star:,}" if level.below is None else f"{level.needed:,}"


def _percent(share: float) -> str:
    """
    >>> _percent(0.0), _percent(0.0042), _percent(0.332)
    ('0 %', '0.42 %', '33 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def _short(number: float) -> str:
    """
    >>> _short(22.4), _short(1.52), _short(1300.0), _short(0.76), _short(inf)
    ('22', '1.5', '1,300', '0.76', '∞')
    """
    if not isfinite(number):
        return "∞" if number > 0 else "-∞"
    return f"{number:,.0f}" if abs(number) >= 9.95 else f"{number:.2g}"


def _spread(value: float, low: float, high: float, count: int) -> str:
    return _short(value) if count == 1 else f"{_short(value)} [{_short(low)}, {_short(high)}]"


def _factor(value: float, low: float, high: float, count: int) -> str:
    """A factor with its interval; a limit if that is all there is."""
    if not isnan(value):
        return _spread(value, low, high, count)
    if low > 0:
        return f"at least {_short(low)}"
    return f"at most {_short(high)}" if isfinite(high) else "unknown"


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
