"""Theorem 5.1 as a measurement: how many examples for growing dimension, positions and channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.measure.complexity import Search
from whyconv.measure.scaling import exponent
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP
from whyconv.report.charts import curves
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.answers import ALL_THREE
from whyconv.studies.complexity import ComplexityStudy
from whyconv.studies.grid import Arm, ArmStudy, changed, selected
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, below, worst

DIMENSION, POSITIONS, CHANNELS = "pattern_dim", "positions", "channels"
TITLES = {DIMENSION: "dimension of a pattern d", POSITIONS: "positions n", CHANNELS: "channels k"}
AXES = (DIMENSION, POSITIONS, CHANNELS)


def contestants() -> dict[str, Any]:
    """ConvPool by joint Adam, and the MLP that has no pooling."""
    return {
        CONV_POOL: {"network": {"name": "conv-pool", "channels": 500}, "learner": "gradient"},
        MLP: {"network": "mlp", "learner": "gradient"},
    }


class SampleComplexity(ArmStudy, ComplexityStudy, name="brutzkus.sample-complexity"):
    """Examples needed against pattern dimension, positions and channels.

    m* is the least number of examples whose mean test error over seeds is at most ``target``. ``m``
    (``control_m`` for the MLP) are measured everywhere, and the search goes on between them until m* is known
    to within ``resolution``. The slope of log m* on the logarithm of what varies is the exponent. An m* above
    or below all sizes only bounds it.
    """

    version: ClassVar[int] = 2

    says: ClassVar[str] = (
        "Theorem 5.1 shows a generalization guarantee for CNNs of O(d) for any n (section 6)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 5.1 and section 6"
    title: ClassVar[str] = "How do the samples needed grow in dimension, positions, channels?"
    met: ClassVar[str] = "Samples needed: at most linear in the dimension, no more for positions or channels."
    unmet: ClassVar[str] = "Samples needed grow faster than Theorem 5.1 says."
    criterion: ClassVar[str] = (
        "Exponents of the sample size at which the error falls to 0.1, 95 % intervals over seeds: in the "
        "pattern dimension below 1.25, in positions and in channels below 0.25. O(d) has 1, 0 and 0; each "
        "limit is half-way to the next half power, d sqrt(d), sqrt(n) and sqrt(k)."
    )
    broken: ClassVar[str] = (
        "The MLP, which has no pooling: its exponent in the number of positions must not pass."
    )
    lost: ClassVar[str] = "needs more, the more positions there are, as it must"
    rule: ClassVar[str] = (
        "The theorem is about layerwise descent; section 7 reports joint Adam instead, as here. No noise, as "
        "many patterns as dimensions. Adam, rate 1e-3, batches of 32, He initialisation, "
        "stopped at training loss <= 1e-3 or after 2000 epochs."
    )
    thresholds: ClassVar[Mapping[str, float]] = {DIMENSION: 1.25, POSITIONS: 0.25, CHANNELS: 0.25}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "dimensions": [10, 17, 28, 48, 80], "positions": [5, 8, 14, 24, 40],
            "channels": [50, 84, 140, 240, 400],
            "m": [2, 4, 8, 16, 32], "control_m": [16, 64, 1024, 4096], "seeds": 10, "first_seed": 2000,
            "arms.ConvPool.network.channels": 100, "arms.MLP.seeds": 5,
        },
        "paper": {"seeds": 20, "first_seed": 2000},
    }  # fmt: skip

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, MLP)
    axis: ClassVar[str] = "value"
    priors: ClassVar[tuple[Step, ...]] = (Step(ALL_THREE, MLP, CONV_POOL),)

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    dimensions: tuple[int, ...] = Field((10, 17, 28, 48, 80), min_length=3)
    positions: tuple[int, ...] = Field((5, 8, 14, 24, 40), min_length=3)
    channels: tuple[int, ...] = Field((125, 210, 350, 600, 1000), min_length=3)
    m: tuple[int, ...] = Field((2, 3, 4, 6, 8, 12, 16, 24, 32, 64), min_length=2)
    control_m: tuple[int, ...] = Field((16, 32, 64, 128, 256, 512, 1024, 2048), min_length=2)
    resolution: float = Field(0.25, gt=0, le=1)
    seeds: int = Field(10, ge=1, le=10_000)
    target: float = Field(0.1, gt=0, lt=0.5)

    _increasing = increasing(
        "dimensions", "positions", "channels", "m", "control_m", count=2, example="[10, 20, 40]"
    )

    def cells(self) -> Iterator[Cell]:
        """Three axes through one middle for ConvPool, the axis of positions for the MLP."""
        pool = self.arms[CONV_POOL].network
        for d in self.dimensions:
            yield self._cell(CONV_POOL, DIMENSION, d, {"pattern_dim": d, "patterns": d})
        for n in self.positions:
            yield self._cell(CONV_POOL, POSITIONS, n, {"positions": n})
        for k in self.channels:
            yield self._cell(CONV_POOL, CHANNELS, k, {}, network=changed(pool, {"channels": k}))
        for n in self.positions:
            yield self._cell(MLP, POSITIONS, n, {"positions": n})

    def _cell(self, arm: str, axis: str, value: int, changes: Mapping[str, Any], **more: Any) -> Cell:
        sizes = self.m if arm == CONV_POOL else self.control_m
        search = Search(sizes[0], sizes[-1], self.resolution, sizes)
        return self.cell(arm, {"axis": axis, "value": value}, changes, search=search, **more)

    def goal(self, cell: Cell) -> float:
        """The same error everywhere."""
        del cell
        return self.target

    def place(self, value: float) -> str:
        return f"at {value:g} positions"

    def judge(self, table: pd.DataFrame) -> Judgement:
        """All three exponents of ConvPool; for the control that of the MLP in positions."""
        found = (self._judged(table, CONV_POOL, axis) for axis in AXES)
        return Judgement(worst(*found), self._judged(table, MLP, POSITIONS))

    def _judged(self, table: pd.DataFrame, arm: str, axis: str) -> Evidence:
        found = self.complexities(table, arm, axis=axis)
        decided = below(self.thresholds[axis], exponent(found.items()), f"{arm}: exponent in {axis}")
        needed = {f"{arm}: m* at {axis} = {value}": m for value, m in found.items()}
        return Evidence(decided.verdict, {**decided.numbers, **needed})

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against m, one chart per axis, one line per value."""
        charts = {}
        for arm, axis in (*((CONV_POOL, axis) for axis in AXES), (MLP, POSITIONS)):
            part = selected(table, arm=arm, axis=axis)
            if len(part):
                part = part.assign(line=axis + " = " + part["value"].astype(str))
            charts[f"{arm}, {TITLES[axis]}"] = curves(
                part, "m", "test_error", arm="line", title=f"{arm}: growing {TITLES[axis]}",
                x_title="training examples m", y_title="test error", log_x=True,
            )  # fmt: skip
        return charts
