"""Verdicts: the outcome of every claim and study, and the numbers that decided it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal

from whyconv.measure.estimate import Estimate
from whyconv.measure.intervals import Interval, rate_interval

Verdict = Literal["holds", "consistent", "fails", "holds as corrected", "vacuous", "undecided", "error"]
"""
- *holds*: exact; the statement was computed and is true at the sizes named.
- *consistent*: statistical; what was measured agrees with the statement, on the range measured.
- *fails*: the statement is false at the sizes named, or the measurement contradicts it.
- *holds as corrected*: the paper's wording fails, the corrected one holds; the numbers show both.
- *vacuous*: true, but says nothing at these sizes (a probability bounded by more than one).
- *undecided*: the interval straddles the threshold.
- *error*: a check or a solver could not decide, and says why; never a verdict on the statement.
"""

Number = float | int | str | bool | Estimate
"""A value in evidence; an estimate keeps its interval and becomes text only when shown."""


@dataclass(frozen=True)
class Evidence:
    """A verdict and the numbers that decided it, by name, in reading order."""

    verdict: Verdict
    numbers: Mapping[str, Number] = field(default_factory=dict)
    why: str = ""
    """Why it is *undecided* for another reason than too few seeds, to follow "undecided:"."""

    def data(self) -> dict[str, Any]:
        """The numbers for JSON: an estimate as value, low, high and count."""
        return {
            name: value.data() if isinstance(value, Estimate) else value
            for name, value in self.numbers.items()
        }


def control_fault(verdict: str, control: str, expected: str = "") -> str:
    """What is wrong with a control, to follow the words "the control"; empty if it flipped the verdict.

    It must be decided, and give neither the claim's ``verdict`` nor the ``expected`` one.
    """
    if control in (verdict, expected, "error"):
        return "did not change the verdict"
    return "proved nothing" if control == "undecided" or verdict == "error" else ""


def nearest_to_passing(verdict: str, controls: Mapping[str, str], expected: str = "") -> str:
    """Of several controls (verdicts by word) the word of the one that comes nearest to passing.

    One with a fault comes first; among the others *fails* is farthest.
    """
    faults = ("did not change the verdict", "proved nothing", "")
    return min(
        controls,
        key=lambda word: (
            faults.index(control_fault(verdict, controls[word], expected)),
            controls[word] == "fails",
        ),
    )


def kept(successes: int, trials: int, promised: float, name: str) -> Evidence:
    """Whether a probability of at least ``promised`` was kept: *fails* if the whole interval lies below it.

    *consistent* otherwise; how much that says is shown by the interval (Clopper & Pearson).
    """
    rate = rate_interval(successes, trials)
    return _sided(name, rate, rate.high >= promised, rate.high < promised)


def all_above(intervals: Mapping[str, Estimate], threshold: float) -> Verdict:
    """*consistent* if all intervals lie above the threshold, *fails* if one lies below, else *undecided*."""
    if not intervals:
        return "undecided"
    if all(interval.low > threshold for interval in intervals.values()):
        return "consistent"
    if any(interval.high < threshold for interval in intervals.values()):
        return "fails"
    return "undecided"


def worst(*evidence: Evidence) -> Evidence:
    """All conditions together: the worst verdict, in the order of ``order``; the numbers are pooled.

    Without any condition it is *undecided*.
    """
    order: tuple[Verdict, ...] = ("error", "fails", "undecided", "vacuous", "consistent", "holds")
    numbers = {name: value for each in evidence for name, value in each.numbers.items()}
    for verdict in order:
        if found := [each for each in evidence if each.verdict == verdict]:
            return Evidence(verdict, numbers, next((each.why for each in found if each.why), ""))
    return Evidence("undecided", numbers)


def below(limit: float, interval: Estimate, name: str) -> Evidence:
    """*consistent* if the whole interval lies below the limit, *fails* if above, else *undecided*."""
    return _sided(name, interval, interval.high < limit, interval.low > limit)


def above(limit: float, interval: Estimate, name: str) -> Evidence:
    """*consistent* if the whole interval lies above the limit, *fails* if below, else *undecided*."""
    return _sided(name, interval, interval.low > limit, interval.high < limit)


def within(slack: float, of: float, interval: Estimate, name: str) -> Evidence:
    """Equivalence with a margin: :func:`between` ``of - slack`` and ``of + slack``."""
    return between(of - slack, of + slack, interval, name)


def between(low: float, high: float, interval: Estimate, name: str) -> Evidence:
    """*consistent* if the whole interval lies between the limits, *fails* if none of it does.

    The first is two one-sided tests: what lies on a limit or beyond is found to be between with a probability
    of at most half of what the interval misses. For a ratio take 1 / f and f. More repetitions can only help
    what lies between; a wide interval decides nothing.
    """
    outside = interval.high < low or interval.low > high
    return _sided(name, interval, interval.low > low and interval.high < high, outside)


def _sided(name: str, interval: Estimate, agrees: bool, contradicts: bool) -> Evidence:
    verdict: Verdict = "consistent" if agrees else "fails" if contradicts else "undecided"
    outside = isnan(interval.central) and interval.count > 1 and not isinstance(interval, Interval)
    why = (
        f"{name} is {interval.cell}, since what was sought lies outside the sizes allowed" if outside else ""
    )
    return Evidence(verdict, {name: interval}, why if verdict == "undecided" else "")
