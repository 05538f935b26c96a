"""Constants compared with the second transcription of the paper, at exact rational points."""

from __future__ import annotations

from fractions import Fraction
from math import isclose
from typing import Any

from whyconv.papers.brutzkus.exact import bounds, printed
from whyconv.papers.brutzkus.exact.first_layer import Schedule

STEPS = (Fraction(1, 8680), Fraction(3, 70_001), Fraction(2, 7))
"""Values of eta_1 for comparisons."""
DIFFER = "transcriptions that differ"
"""The number's name in every claim's evidence."""


def differing(*pairs: tuple[Any, Any]) -> int:
    """How many of the pairs (ours, printed) differ: fractions if at all, floats by a part of 1e-12."""

    def same(ours: Any, other: Any) -> bool:
        if isinstance(ours, float) or isinstance(other, float):
            return isclose(ours, other, rel_tol=1e-12, abs_tol=0.0)
        return ours == other

    return sum(not same(ours, other) for ours, other in pairs)


def schedule() -> int:
    """Theorem 5.1's conditions on k, eta_1, r and eta_2, and the schedule that is run."""
    pairs: list[tuple[Any, Any]] = []
    for dim, steps in ((3, 1), (4, 7), (10, 20)):
        channels = bounds.least_channels(dim)
        pairs += [
            (channels, printed.theorem_5_1_channels(dim) + 1),
            (bounds.largest_step(channels, steps), printed.theorem_5_1_first_rate(channels, steps)),
            (bounds.second_step_limit(channels), printed.theorem_5_1_second_rate(channels)),
        ]
        run = Schedule.of_theorem(dim, steps)
        exact_step = printed.theorem_5_1_first_rate(channels, steps)
        pairs += [
            (run.channels, channels),
            (run.step, float(exact_step)),
            (run.radius, float(printed.theorem_5_1_radius(exact_step))),
        ]
    pairs += [(bounds.largest_radius(step), printed.theorem_5_1_radius(step)) for step in STEPS]
    return differing(*pairs)
