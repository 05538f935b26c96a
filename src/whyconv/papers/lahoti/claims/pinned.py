"""Rates and the constants of the two steps compared with the second transcription, at rational points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, SupportsFloat

from whyconv.exact.transcription import differing
from whyconv.papers.lahoti.exact import printed
from whyconv.papers.lahoti.exact.rates import rate

POINTS = ((Fraction(1, 2), 3, 5), (Fraction(1, 7), 20, 11), (Fraction(3), 2, 40))
"""(sigma, k, d) for comparisons."""
PRINTED: Mapping[str, Callable[[Fraction, int, int], SupportsFloat]] = {
    "cnn-upper": printed.cnn_upper,
    "lcn-upper": printed.lcn_upper,
    "lcn-lower": printed.lcn_lower,
    "fcn-lower": printed.fcn_lower,
}


def rates(*names: str) -> int:
    """How many values of the named rates differ."""
    return differing(
        *((rate(name, k, d, float(s)), PRINTED[name](s, k, d)) for name in names for s, k, d in POINTS)
    )


def two_steps(learner: Any, failure: float) -> int:
    """How many constants of the learner *two-step* differ, and the alignment that counts as a failure."""
    return differing(
        (learner.rate_1, printed.FIRST_RATE),
        (learner.bias_2, printed.FINAL_BIAS),
        (failure, printed.FAILED_ALIGNMENT),
        *((learner.first_bias((k, d)) ** 2, printed.second_bias_squared(k, d)) for _, k, d in POINTS),
    )
