"""The schedule of Theorem 5.1 compared with the second transcription of the paper."""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsFloat

from whyconv.exact.transcription import differing
from whyconv.papers.brutzkus.exact import bounds, printed
from whyconv.papers.brutzkus.exact.first_layer import Schedule

STEPS = (Fraction(1, 8680), Fraction(3, 70_001), Fraction(2, 7))
"""Values of eta_1 for comparisons."""


def schedule() -> int:
    """Theorem 5.1's conditions on k, eta_1, r and eta_2, and the schedule that is run."""
    pairs: list[tuple[SupportsFloat, SupportsFloat]] = []
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
