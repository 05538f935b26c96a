"""What the studies of section 8's open problems share: does the theorem's conclusion outlive its setting?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import share_interval
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP
from whyconv.papers.brutzkus.studies.layerwise import LAYERWISE, theorem_start
from whyconv.report.charts import curves
from whyconv.studies import Cell, Judgement
from whyconv.studies.answers import ALL_THREE, Answer
from whyconv.studies.controls import opposed
from whyconv.studies.grid import Arm, GridStudy, by_seed, changed, compared
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, below, worst

CRITERION = (
    "Theorem 5.1's conclusion, O(d) examples, read as 4 d (m = 80 for d = 20): the test error of every "
    "pooling network, joint or layerwise, is below 0.05 (95 % interval over seeds) at every level but the "
    "first, which is the paper's own setting."
)
BROKEN = (
    "If the conclusion holds: the MLP with as many parameters, on the same examples, must miss it. If not: "
    "the paper's own setting, the first level, must reach it."
)


def contestants() -> dict[str, Any]:
    """ConvPool by joint Adam and by LW_CNN, and the MLP."""
    return {
        CONV_POOL: {"network": "conv-pool", "learner": "gradient"},
        LAYERWISE: {"network": theorem_start(500, 20), "learner": "layerwise"},
        MLP: {"network": "mlp", "learner": "gradient", "matches": CONV_POOL},
    }


class OpenProblem(GridStudy):
    """A setting of the task or of the pooling networks at several levels, the paper's own first."""

    knob: ClassVar[str]
    """The field that varies."""
    of_task: ClassVar[bool] = True
    """Whether it is a field of the task, or of the networks with pooling."""
    axis: ClassVar[str]
    """Its name in figures."""

    met: ClassVar[str] = "The theorem's conclusion outlives its setting: 4 d examples are still enough."
    unmet: ClassVar[str] = "The theorem's conclusion does not outlive its setting: 4 d examples are too few."
    criterion: ClassVar[str] = CRITERION
    broken: ClassVar[str] = BROKEN
    lost: ClassVar[str] = "misses the conclusion, as it must"
    rule: ClassVar[str] = (
        "No noise. Joint: Adam, rate 1e-3, batches of 32, until training loss <= 1e-3 or 2000 epochs. "
        "Layerwise: T_1 = 20, T_2 = 20,000 steps at the theorem's largest rates. 500 channels are fewer than "
        "8 d^3. The paper leaves this open; the criterion is ours."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"test error": 0.05}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"m": [20, 40, 80], "seeds": 20, "first_seed": 1000},
    }
    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, MLP)

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    m: tuple[int, ...] = (80,)
    levels: tuple[float, ...]
    seeds: int = Field(10, ge=1, le=10_000)

    @field_validator("levels")
    @classmethod
    def _two(cls, levels: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(levels)) < max(2, len(levels)):
            raise ValueError("levels must be two or more different numbers, the paper's own setting first")
        return levels

    def cells(self) -> Iterator[Cell]:
        """Every arm at every level and m; a setting of networks leaves the MLP as it is."""
        for level in self.levels:
            fields = {self.knob: int(level) if level == int(level) else level}
            for m in self.m:
                for name, arm in self.arms.items():
                    labels, more = {self.knob: level, "m": m}, dict[str, Any]()
                    if not self.of_task and name != MLP:
                        more = {"network": changed(arm.network, fields)}
                    yield self.cell(name, labels, fields if self.of_task else {}, m=m, **more)

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """Against the MLP at the last level and at the paper's own, with the most examples."""
        found, m = [], self.m[-1]
        for level in (self.levels[-1], self.levels[0]) if len(table) else ():
            where = f"at m = {m}, {self.axis} = {level:g}"
            step, place = Step(ALL_THREE, MLP, CONV_POOL), {self.knob: level, "m": m}
            one = compared(table, step, self.outcome, self.on(), place, where)
            found += [one] if one else []
        return found

    def judge(self, table: pd.DataFrame) -> Judgement:
        pooling = [arm for arm in self.arms if arm != MLP]
        own, *others = self.levels
        return opposed(
            self._judged(table, pooling, others),
            self._judged(table, [MLP], others),
            self._judged(table, pooling, [own]),
        )

    def _judged(self, table: pd.DataFrame, arms: Iterable[str], levels: Iterable[float]) -> Evidence:
        """At the largest m."""
        m, found = self.m[-1], []
        for arm in arms:
            for level in levels:
                here = table[table[self.knob] == level]
                error = share_interval(by_seed(here, arm=arm, m=m))
                name = f"test error, {arm}, {self.axis} {level:g}, m={m}"
                found.append(below(self.thresholds["test error"], error, name))
        return worst(*found)

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against the level, at the largest m."""
        part = table[table["m"] == self.m[-1]] if len(table) else table
        chart = curves(
            part, self.knob, "test_error", title=f"Test error at m = {self.m[-1]}", x_title=self.axis,
            y_title="test error", arms=list(self.arms), controls=[MLP],
        )  # fmt: skip
        return {"Test error": chart}
