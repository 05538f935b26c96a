"""Figure 4: test error against the number of positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import mean_interval, paired_difference
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import BASELINES, CONV_POOL, MLP, RULE, SCRAMBLED, arms
from whyconv.report.charts import curves
from whyconv.studies import Judgement, increasing
from whyconv.studies.answers import ALL_THREE, RISE, Answer, in_outcome
from whyconv.studies.grid import Arm, GridStudy, by_seed
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, all_above, worst


class Figure4(GridStudy, name="brutzkus.fig4"):
    """Test error against the number of positions, noise of norm <= 1, fixed sample size."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Figure 4"
    title: ClassVar[str] = "Do more positions hurt the baselines, and max-pooling less?"
    met: ClassVar[str] = "More positions hurt the baselines, but hardly max-pooling."
    unmet: ClassVar[str] = "More positions do not hurt the baselines more than max-pooling as asked."
    says: ClassVar[str] = (
        "Section 7: 'we vary the number of patterns, and indeed observe that performances of MLP and SVM "
        "deteriorate while that of ConvPool is only mildly affected'; so the caption of Figure 4."
    )
    criterion: ClassVar[str] = (
        "From the fewest to the most positions the error of MLP and SVM rises by more than 0.05 (95 % "
        "interval over seeds above it), and that of ConvPool by less than half of either baseline's rise "
        "(interval of the paired difference above 0)."
    )
    broken: ClassVar[str] = (
        "ConvPool on inputs whose coordinates are shuffled by one random permutation: without windows that "
        "see patterns it must deteriorate like the others."
    )
    lost: ClassVar[str] = "deteriorates like the others, as it must"
    thresholds: ClassVar[Mapping[str, float]] = {"rise": 0.05, "share of a rise": 0.5, "gap": 0}
    rule: ClassVar[str] = RULE + " Noise uniform in the unit ball, at test time too."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"positions": [5, 10, 20], "seeds": 3},
        "paper": {},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, *BASELINES, SCRAMBLED)
    priors: ClassVar[tuple[Step, ...]] = (Step(ALL_THREE, MLP, CONV_POOL),)

    task: TaskField = Field({"name": "detection", "noise": 1.0}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=arms, validate_default=True)
    m: tuple[int, ...] = (200,)
    positions: tuple[int, ...] = (5, 10, 20, 30, 40)

    _rising = increasing("positions", count=2, example="[5, 10, 20]")

    @field_validator("m")
    @classmethod
    def _one(cls, m: tuple[int, ...]) -> tuple[int, ...]:
        if len(m) != 1:
            raise ValueError("m must be one sample size, as in [200]; positions is what varies here")
        return m

    def values(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], int]]:
        for positions in self.positions:
            yield {"positions": positions}, {"positions": positions}, self.m[0]

    def told_at(self) -> list[dict[str, int]]:
        return [{"positions": self.positions[-1]}]

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """By how much less the error rises from the fewest to the most positions; then the errors there."""
        found = super().answers(table)
        if not found:
            return []
        rises = {arm: self._rise(table, arm) for arm in (MLP, CONV_POOL)}
        if any(rise.dropna().empty for rise in rises.values()):
            return found
        first, last = self.positions[0], self.positions[-1]
        (name, rise), (pooled, less) = ((arm, each.dropna()) for arm, each in rises.items())
        where = f"from {first} to {last} positions"
        gain = in_outcome(ALL_THREE, (name, rise), (pooled, less), RISE, self.on(), where)
        return [gain, *found]

    def _rise(self, table: pd.DataFrame, arm: str) -> pd.Series:
        last = by_seed(table, arm=arm, positions=self.positions[-1])
        return last - by_seed(table, arm=arm, positions=self.positions[0])

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CONV_POOL), self._judged(table, SCRAMBLED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        rises = {arm: mean_interval(self._rise(table, arm)) for arm in (*BASELINES, contestant)}
        spared = {
            f"half of {arm}'s rise - {contestant}'s": paired_difference(
                self.thresholds["share of a rise"] * self._rise(table, arm), self._rise(table, contestant)
            )
            for arm in BASELINES
        }
        baselines = {arm: rises[arm] for arm in BASELINES}
        shown = {f"rise of {arm}": interval for arm, interval in rises.items()}
        return worst(
            Evidence(all_above(baselines, self.thresholds["rise"]), shown),
            Evidence(all_above(spared, self.thresholds["gap"]), spared),
        )

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        chart = curves(
            table, "positions", "test_error", title=self.title, x_title="positions n", y_title="test error",
            arms=list(self.arms), controls=[SCRAMBLED],
        )  # fmt: skip
        return {"Figure 4": chart}
