"""Theorem 5.1 as a measurement: how many examples for growing dimension, positions and channels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP
from whyconv.spec import checked
from whyconv.studies import Judgement, Point, Study
from whyconv.studies.grid import Arm, changed, complete_arms
from whyconv.tasks import TaskField
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence, Number, Verdict, worst

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.intervals import Interval

DIMENSION, POSITIONS, CHANNELS = "pattern_dim", "positions", "channels"
TITLES = {DIMENSION: "dimension of a pattern d", POSITIONS: "positions n", CHANNELS: "channels k"}


def contestants() -> dict[str, Any]:
    """ConvPool by joint Adam, and the MLP that has no pooling."""
    return {
        CONV_POOL: {"network": {"name": "conv-pool", "channels": 500}, "learner": "gradient"},
        MLP: {"network": "mlp", "learner": "gradient"},
    }


class SampleComplexity(Study, name="brutzkus.sample-complexity"):
    """Examples needed against pattern dimension, positions and channels.

    m(target) is read off each seed's curve: where the error first falls to ``target``, between two
    sample sizes by interpolation in log m. The slope of log m(target) on the logarithm of what
    varies is the exponent; one a seed, with a Student t interval over seeds. A curve that never
    gets there, or is there from the first m on, has no m(target): the exponent is then undecided.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 5.1 and section 7"
    title: ClassVar[str] = (
        "Samples needed: at most linear in the dimension, hardly more for positions and channels"
    )
    criterion: ClassVar[str] = (
        "Exponents of the sample size at which the error falls to 0.1, with 95 % intervals over seeds: in "
        "the pattern dimension below 1.25 (linear at most), in positions and in channels below 0.5."
    )
    broken: ClassVar[str] = (
        "The MLP, which has no pooling: its exponent in the number of positions must not pass."
    )
    rule: ClassVar[str] = (
        "No noise, as many patterns as dimensions. Adam, rate 1e-3, batches of 32, He initialisation, "
        "stopped at training loss <= 1e-3 or after 2000 epochs."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "dimensions": [10, 80],
            "positions": [5, 40],
            "channels": [50, 400],
            "m": [2, 4, 8, 16, 32],
            "control_m": [16, 64, 1024, 4096],
            "seeds": 5,
            "arms.ConvPool.network.channels": 100,
        },
        "paper": {},
    }

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    dimensions: tuple[int, ...] = Field((10, 20, 40, 80), min_length=2)
    positions: tuple[int, ...] = Field((5, 10, 20, 40), min_length=2)
    channels: tuple[int, ...] = Field((125, 250, 500, 1000), min_length=2)
    m: tuple[int, ...] = Field((2, 3, 4, 6, 8, 12, 16, 24, 32, 64), min_length=2)
    control_m: tuple[int, ...] = Field((16, 32, 64, 128, 256, 512, 1024, 2048), min_length=2)
    seeds: int = Field(10, ge=1, le=10_000)
    target: float = Field(0.1, gt=0, lt=0.5)
    test_size: int = Field(1000, ge=1, le=1_000_000)

    @field_validator("arms")
    @classmethod
    def _complete(cls, arms: dict[str, Arm]) -> dict[str, Arm]:
        return complete_arms(arms, (CONV_POOL, MLP))

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Three axes through one middle for ConvPool, the axis of positions for the MLP."""
        del rows
        points = []
        for arm, axis, value, task, network in self._settings():
            for m in self.m if arm == CONV_POOL else self.control_m:
                for seed in range(self.arms[arm].seeds or self.seeds):
                    learner = self.arms[arm].learner
                    values = {"task": task, "network": network, "learner": learner, "m": m, "seed": seed}
                    trial = checked(Trial, {**values, "test_size": self.test_size}, f"arm {arm}")
                    points.append(Point({"arm": arm, "axis": axis, "value": value, "m": m}, trial))
        return points

    def _settings(self) -> Iterator[tuple[str, str, int, Any, Any]]:
        pool = self.arms[CONV_POOL].network
        for d in self.dimensions:
            yield CONV_POOL, DIMENSION, d, changed(self.task, {"pattern_dim": d, "patterns": d}), pool
        for n in self.positions:
            yield CONV_POOL, POSITIONS, n, changed(self.task, {"positions": n}), pool
        for k in self.channels:
            yield CONV_POOL, CHANNELS, k, self.task, changed(pool, {"channels": k})
        for n in self.positions:
            yield MLP, POSITIONS, n, changed(self.task, {"positions": n}), self.arms[MLP].network

    def judge(self, table: pd.DataFrame) -> Judgement:
        """All three exponents of ConvPool; for the control that of the MLP in positions."""
        limits = {DIMENSION: 1.25, POSITIONS: 0.5, CHANNELS: 0.5}
        measured = [self._judged(table, CONV_POOL, axis, limit) for axis, limit in limits.items()]
        return Judgement(worst(*measured), self._judged(table, MLP, POSITIONS, limits[POSITIONS]))

    def _judged(self, table: pd.DataFrame, arm: str, axis: str, limit: float) -> Evidence:
        exponent, needed = self.exponent(table, arm, axis)
        numbers: dict[str, Number] = {f"{arm}: m(error {self.target:g}) by {axis}": needed}
        if exponent is None:
            return Evidence("undecided", numbers)
        verdict: Verdict = "consistent" if exponent.high < limit else "fails"
        if exponent.low <= limit <= exponent.high:
            verdict = "undecided"
        return Evidence(verdict, {f"{arm}: exponent in {axis}": exponent, **numbers})

    def exponent(self, table: pd.DataFrame, arm: str, axis: str) -> tuple[Interval | None, str]:
        """The slope over seeds, and the mean m(target) for every value of the axis."""
        import numpy as np

        from whyconv.measure.intervals import mean_interval

        part = table[(table["arm"] == arm) & (table["axis"] == axis)]
        needed: dict[int, dict[int, float]] = {}
        for (value, seed), curve in part.groupby(["value", "seed"]):
            ordered = curve.sort_values("m")
            reached = crossing(ordered["m"].tolist(), ordered["test_error"].tolist(), self.target)
            needed.setdefault(int(seed), {})[int(value)] = reached
        values = sorted({value for by_value in needed.values() for value in by_value})
        told = ", ".join(f"{v}: {np.mean([needed[s][v] for s in needed]):.3g}" for v in values)
        if any(not math.isfinite(m) for by_value in needed.values() for m in by_value.values()):
            return None, told.replace("inf", "not reached").replace("nan", f"below {min(part['m'])}")
        slopes = [
            float(np.polyfit(np.log(values), np.log([by_value[v] for v in values]), 1)[0])
            for by_value in needed.values()
        ]
        return mean_interval(slopes), told

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against m, one chart an axis, one line a value."""
        from whyconv.report.charts import curves

        charts = {}
        for arm, axis in (
            (CONV_POOL, DIMENSION),
            (CONV_POOL, POSITIONS),
            (CONV_POOL, CHANNELS),
            (MLP, POSITIONS),
        ):
            part = table[(table["arm"] == arm) & (table["axis"] == axis)].copy() if len(table) else table
            if len(part):
                part["line"] = axis + " = " + part["value"].astype(str)
            charts[f"{arm}, {TITLES[axis]}"] = curves(
                part, "m", "test_error", arm="line", title=f"{arm}: growing {TITLES[axis]}",
                x_title="training examples m", y_title="test error", log_x=True,
            )  # fmt: skip
        return charts


def crossing(m: Sequence[int], errors: Sequence[float], target: float) -> float:
    """Where the error first falls to ``target``, by interpolation in log m.

    inf if it never does; nan if the smallest m is there already, so that the crossing lies below.
    """
    for i, error in enumerate(errors):
        if error <= target:
            if i == 0:
                return math.nan
            before = errors[i - 1]
            share = (before - target) / (before - error)
            return math.exp(math.log(m[i - 1]) + share * (math.log(m[i]) - math.log(m[i - 1])))
    return math.inf
