"""Which rates the measured exponents of m* contradict: as an upper bound, as a lower bound, as the growth.

With the model log m* = c + a log k + b log d + s log sigma, a rate is compared along four rays: k alone, d
alone, k and d together (exponent a + b), and sigma. An upper bound O(f) with an unknown constant allows every
growth up to the largest exponent of f along a ray, a lower bound every growth from the least one on
(:meth:`~whyconv.papers.lahoti.exact.rates.Rate.growth`; they differ for sums such as k + d only). sigma has
no direction, since it falls with k in the theorems' regime, sigma of order 1/sqrt(k): its power is part of
the rate, and too small a one is as wrong as too large a one.

The tolerance is half of the smallest difference between the exponents of neighbouring rivals: 1/4 for k and
d, where these differ by 1/2, and 1/2 for sigma, where they differ by 1. For k and d this is a little more
than what a logarithm is worth at these sizes (1/ln(kd), 0.15 to 0.25), which the paper's Õ may hide once
more. A rate *fails* if the 95 % interval of some ray lies outside of what it allows, is *consistent* if the
intervals of all rays lie inside, and otherwise *undecided*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log
from statistics import fmean
from typing import Literal

from whyconv.measure.scaling import Exponent
from whyconv.papers.lahoti.exact.rates import Rate
from whyconv.verdict import Evidence, Verdict, above, below, within, worst

TOLERANCES: Mapping[str, float] = {"in k and d": 0.25, "in sigma": 0.5}
Kind = Literal["upper", "lower", "growth"]
RAYS: Mapping[str, tuple[float, float]] = {"k": (1, 0), "d": (0, 1), "k and d": (1, 1)}
"""The exponents of k and d in t along each ray."""
SIGMA = "sigma"
DIRECTIONS: Mapping[str, Mapping[str, float]] = {
    **{name: {"k": k, "d": d} for name, (k, d) in RAYS.items()},
    SIGMA: {SIGMA: 1},
}


def compared(
    kind: Kind,
    rate: Rate,
    found: Mapping[str, Exponent],
    centre: tuple[float, float],
    arm: str = "",
    tolerances: Mapping[str, float] = TOLERANCES,
) -> Evidence:
    """Whether the exponents of the rays that were measured contradict the rate.

    ``centre``: the geometric means of k and d over the places, where logarithms get their local exponent.
    ``tolerances``: the thresholds of the study that judges.
    """
    parts, prefix, tolerance = [], f"{arm}: " if arm else "", tolerances["in k and d"]
    for ray, each in found.items():
        name = f"{prefix}exponent of m* in {ray}"
        if ray == SIGMA:
            parts.append(within(tolerances["in sigma"], rate.noise, each, name))
            continue
        least, most = rate.growth(*RAYS[ray], *centre)
        if kind != "lower":
            parts.append(below(most + tolerance, each, name))
        if kind != "upper":
            parts.append(above(least - tolerance, each, name))
    return worst(*parts)


def middle(places: Iterable[tuple[float, float, float]]) -> tuple[float, float]:
    """The geometric means of k and of d over places (k, d, sigma)."""
    k, d, _ = (exp(fmean(log(value) for value in column)) for column in zip(*places, strict=True))
    return k, d


def all_rejected(*evidence: Evidence) -> Evidence:
    """*fails* if every one fails; else what the one nearest to passing says."""
    order: tuple[Verdict, ...] = ("consistent", "undecided", "vacuous", "error", "fails")
    verdict = order[min((order.index(each.verdict) for each in evidence), default=1)]
    return Evidence(verdict, {name: value for each in evidence for name, value in each.numbers.items()})
