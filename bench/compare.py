"""Whether two sides did the same work with the same success: training steps and test errors."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from whyconv.measure.intervals import Interval, mean_interval

BATCH = 32
STEPS_MARGIN = 0.15
"""The total number of steps of an arm may differ by this much: the sides initialise differently."""
APART_ALLOWED = 1
"""Of two equal laws, 95 % intervals of five seeds are apart in about 1 % of all cases. Sixteen cases
(two arms, eight sizes) have two or more apart with a probability of about 1 %, and that is refused."""


@dataclass(frozen=True)
class Cell:
    """One arm at one sample size: the test errors of both sides."""

    arm: str
    m: int
    ours: Interval
    theirs: Interval
    apart: bool


@dataclass(frozen=True)
class Agreement:
    """What was compared with whom, and the complaints; none if the sides agree."""

    name: str
    cells: list[Cell]
    steps: dict[str, tuple[float, float]]
    complaints: list[str]


def agreement(ours: pd.DataFrame, theirs: pd.DataFrame, name: str, test_size: int) -> Agreement:
    """Compare tables with the columns arm, m, seed, epochs and test_error.

    Intervals are Student's, 95 %, over seeds. They count as apart when the gap between them exceeds
    one test example, the resolution of an error.
    """
    cells = []
    for (arm, m), group in ours.groupby(["arm", "m"], sort=False):
        other = theirs[(theirs["arm"] == arm) & (theirs["m"] == m)]
        pair = mean_interval(group["test_error"]), mean_interval(other["test_error"])
        gap = max(pair[0].low - pair[1].high, pair[1].low - pair[0].high)
        cells.append(Cell(str(arm), int(m), *pair, gap > 1 / test_size))
    steps = {arm: (_steps(ours, arm), _steps(theirs, arm)) for arm in ours["arm"].unique()}
    complaints = [
        f"{name}: {arm} took {other:,.0f} steps, whyconv {mine:,.0f}"
        for arm, (mine, other) in steps.items()
        if abs(mine - other) > STEPS_MARGIN * other
    ]
    apart = [f"{cell.arm} m={cell.m}" for cell in cells if cell.apart]
    if len(apart) > APART_ALLOWED:
        complaints.append(f"{name}: test errors differ at {', '.join(apart)}")
    return Agreement(name, cells, steps, complaints)


def _steps(rows: pd.DataFrame, arm: str) -> float:
    """All steps of an arm: epochs times batches, the last, smaller one included."""
    chosen = rows[rows["arm"] == arm]
    return float((chosen["epochs"] * -(-chosen["m"] // BATCH)).sum())
