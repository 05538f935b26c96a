"""What the time given allows: shares of it for the order test, for tuning and for the rounds.

A budget is in seconds of a core: minutes given x 60 x workers. The order test is planned before anything was
measured, by the closed-form forecast of its trials. Tuning is planned by that forecast, too, times how much
longer than it the order test took on this machine. The rounds are planned by the seconds that every arm took
in tuning. Nothing else depends on time: rows decide, so that the same rows give the same plan again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TypeVar

from whyconv import system
from whyconv.auditing.arms import FCN
from whyconv.auditing.phases import Setup
from whyconv.runner.forecast import seconds
from whyconv.studies import Point
from whyconv.trial import Row

ORDER_SHARE, TUNING_SHARE, ROUNDS_SHARE = 0.1, 0.3, 0.6
FIRST, FIRST_SHARE = 30.0, 0.02
"""The order test is the first answer: it takes no more than so many seconds of a core, or this share of the
budget if that is more."""
ROUNDS = 5
"""So many rounds must fit into the time before sizes are added or arms may train for longer."""
FEWEST_SIZES = 3
RESERVE, RESERVED = 1.0, 0.01
"""At the end for the result: so many seconds, or this share of the time."""

Choice = TypeVar("Choice")


def reserve(minutes: float) -> float:
    """Seconds that are kept for the result."""
    return max(RESERVE, RESERVED * 60 * minutes)


def core_seconds(minutes: float, workers: int | None) -> float:
    """The seconds of a core that so many minutes are."""
    return 60 * minutes * (workers or system.cores())


def forecast(points: Iterable[Point]) -> float:
    """Seconds by the closed form."""
    return sum(seconds(point.trial) for point in points)


def for_order(budget: float) -> float:
    """Seconds that the order test may take."""
    return min(ORDER_SHARE * budget, max(FIRST, FIRST_SHARE * budget))


def first_within(choices: Sequence[tuple[Choice, float]], limit: float) -> Choice:
    """The first choice whose seconds are within the limit, else the last."""
    return next((choice for choice, cost in choices if cost <= limit), choices[-1][0])


def measured(point: Point, rows: Mapping[str, Row]) -> float:
    """The seconds that a trial took; the forecast where they are not known."""
    took = rows[point.trial.key].seconds
    return took if math.isfinite(took) else seconds(point.trial)


def slowness(points: Iterable[Point], rows: Mapping[str, Row]) -> float:
    """How many times longer than forecast these trials took (their median: the first ones compile)."""
    found = [measured(point, rows) / seconds(point.trial) for point in points]
    return median(found) if found else 1.0


def cost_of_rounds(setups: Mapping[str, Setup], sizes: int) -> float:
    """Seconds of :data:`ROUNDS` rounds: every arm at every size, the FCN twice, two controls of the best.

    Small sizes take less than counted, since they are fitted sooner.
    """
    arms = sum(setup.seconds * (2 if arm == FCN else 1) for arm, setup in setups.items())
    best = max((setup.seconds for setup in setups.values()), default=0.0)
    return ROUNDS * (sizes * arms + 2 * best)


def sizes_within(sizes: Sequence[int], setups: Mapping[str, Setup], budget: float | None) -> tuple[int, ...]:
    """As many of the largest sizes as fit into the share of the rounds, three at least."""
    if budget is None:
        return tuple(sizes)
    counts = range(len(sizes), min(FEWEST_SIZES, len(sizes)) - 1, -1)
    limit = ROUNDS_SHARE * budget
    kept = first_within([(count, cost_of_rounds(setups, count)) for count in counts], limit)
    return tuple(sizes[-kept:])
