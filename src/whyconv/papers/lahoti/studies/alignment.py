"""Lahoti et al.: alignment with the signal and risk of all three networks, at one size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import mean_interval, paired_difference
from whyconv.papers.lahoti.pictures import problem as signals
from whyconv.papers.lahoti.studies.signal_study import BROKEN, CNN, FCN, LCN, ROTATED, contestants
from whyconv.report.charts import curves
from whyconv.studies import Judgement
from whyconv.studies.answers import LOCALITY, SHARING
from whyconv.studies.grid import Arm, GridStudy, by_seed
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, above, worst


class Alignment(GridStudy, name="lahoti.alignment"):
    """Alignment with the signal, and risk, of CNN, LCN and FCN trained on up to 1000 examples.

    k = 10, d = 20, sigma = 0.1. Alignment: the mean over patches of the largest cosine that a node has with
    the signal in that patch (for CNN and LCN, of the patch's own filter).
    """

    reference: ClassVar[str] = "Lahoti et al., as a summary of the paper suggests it (reconstructed)"
    title: ClassVar[str] = "Who finds the signal best: CNN, LCN or FCN?"
    met: ClassVar[str] = "The CNN finds it best, then the LCN, then the FCN."
    unmet: ClassVar[str] = "The order CNN, LCN, FCN is not what was measured."
    says: ClassVar[str] = (
        '"If alignment between learned parameters and signal vector remains below 0.25 after training, '
        'the sample complexity bound is not met" (a summary of the paper; experiment 1 as it suggests '
        "it)."
    )
    criterion: ClassVar[str] = (
        "At the largest m, 95 % intervals: the alignment of each of the three lies above 0.25 (below it, "
        "training has failed); alignment falls and risk rises from CNN to LCN to FCN (paired differences)."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = (
        "Squared loss, full-batch projected gradient descent, 600 steps; every network gets the same grid "
        "of step sizes, of which the pair that does best on validation examples counts in each repetition."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"failure": 0.25, "difference": 0.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20, "m": [10, 20, 50, 100, 200, 500, 1000]},
    }
    outcome: ClassVar[str] = "risk"
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN), Step(LOCALITY, FCN, LCN))

    task: TaskField = Field({"name": "signal", "patches": 10}, validate_default=True)
    arms: dict[str, Arm] = Field(
        default_factory=lambda: contestants({"name": "projected", "bias_rates": [0.1, 0.01]}),
        validate_default=True,
    )
    m: tuple[int, ...] = (10, 30, 100, 300, 1000)
    test_size: int = Field(2000, ge=1, le=1_000_000)
    risk: bool = True
    seeds: int = Field(10, ge=1, le=10_000)

    @field_validator("risk")
    @classmethod
    def _measured(cls, risk: bool) -> bool:
        if not risk:
            raise ValueError("this study is about the risk; leave risk = true")
        return risk

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CNN), self._judged(table, ROTATED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        m = self.m[-1]
        parts = []
        for arm in (contestant, LCN, FCN):
            found = mean_interval(by_seed(table, "alignment", arm=arm, m=m))
            parts.append(above(self.thresholds["failure"], found, f"alignment, {arm}, m = {m}"))
        for better, worse in ((contestant, LCN), (LCN, FCN)):
            for column, first, second in (("alignment", better, worse), ("risk", worse, better)):
                found = paired_difference(
                    by_seed(table, column, arm=first, m=m), by_seed(table, column, arm=second, m=m)
                )
                parts.append(above(self.thresholds["difference"], found, f"{column}, {first} minus {second}"))
        return worst(*parts)

    def pictures(self) -> dict[str, str]:
        """Inputs of the sizes that were run."""
        return signals(list(self.cells())[-1].task)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        shared: dict[str, Any] = {
            "x_title": "training examples m", "log_x": True, "arms": [CNN, LCN, FCN, ROTATED],
            "controls": [ROTATED],
        }  # fmt: skip
        return {
            "Alignment": curves(
                table, "m", "alignment", title="Alignment with the signal", y_title="alignment", **shared,
            ),
            "Risk": curves(table, "m", "risk", title="Risk", y_title="risk", log_y=True, **shared),
        }  # fmt: skip
