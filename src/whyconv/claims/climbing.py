"""A round of search for the instance nearest to a bound: random steps in a cube, kept if they come nearer."""

from __future__ import annotations

from collections.abc import Callable

from whyconv.lazy import Floats, np

TRIALS = 60


def climb(
    seed: int, size: int, ratio: Callable[[Floats], float], trials: int = TRIALS
) -> tuple[float, Floats]:
    """The largest ratio found and its point of [0, 1]^``size``; a trial draws a third of it anew."""
    rng = np.random.default_rng(seed)
    best = rng.random(size)
    largest = ratio(best)
    for _ in range(trials):
        trial = np.where(rng.random(size) < 1 / 3, rng.random(size), best)
        if (found := ratio(trial)) > largest:
            largest, best = found, trial
    return largest, best
