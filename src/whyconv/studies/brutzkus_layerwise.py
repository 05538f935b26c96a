"""The remark of section 7: layerwise training performs like joint training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from whyconv.studies import Judgement
from whyconv.studies._detection_arms import CONV_POOL
from whyconv.studies._grid import Arm, GridStudy, advantage
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import pandas as pd

LAYERWISE, UNTRAINED = "Layerwise", "Layerwise, first layer untrained"
MARGIN = 0.02


def theorem_start(channels: int, first_steps: int) -> dict[str, Any]:
    """ConvPool as Theorem 5.1 starts it: r = eta_1 / 200 with eta_1 = 1 / (4 k (T_1 + 1))."""
    radius = 1 / (4 * channels * (first_steps + 1)) / 200
    return {"name": "conv-pool", "channels": channels, "init_law": "sphere", "radius": radius}


def contestants() -> dict[str, Any]:
    """Joint Adam, LW_CNN, and LW_CNN without its first half."""
    start = theorem_start(500, 20)
    return {
        CONV_POOL: {"network": "conv-pool", "learner": "gradient"},
        LAYERWISE: {"network": start, "learner": "layerwise"},
        UNTRAINED: {"network": start, "learner": {"name": "layerwise", "first_steps": 0}},
    }


class LayerwiseStudy(GridStudy, name="brutzkus.layerwise"):
    """LW_CNN against joint Adam: is the difference of test errors within 0.02?"""

    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (ConvPool) and Algorithm 1"
    title: ClassVar[str] = "Layerwise training does what joint training does"
    criterion: ClassVar[str] = (
        "At every m from 40 on, the 95 % interval of the paired difference of test errors, layerwise minus "
        "joint Adam, lies within ±0.02."
    )
    broken: ClassVar[str] = "LW_CNN with T_1 = 0, its first layer left as drawn: it must not be equivalent."
    rule: ClassVar[str] = (
        "Joint: Adam, rate 1e-3, batches of 32, until training loss <= 1e-3 or 2000 epochs. Layerwise: "
        "T_1 = 20 and T_2 <= 20,000 steps of gradient descent at the theorem's largest rates, r = eta_1/200. "
        "500 channels are fewer than the theorem's 8 d^3 = 64,000, and the rows say so."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [40, 80, 160], "seeds": 3},
        "paper": {},
    }

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    m: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640)

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion, with LW_CNN and with its control."""
        return Judgement(self._judged(table, LAYERWISE), self._judged(table, UNTRAINED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        gaps = {m: advantage(table, CONV_POOL, contestant, m=m) for m in self.m if m >= 40}
        verdict: Verdict = "undecided"
        if gaps and all(gap.within(-MARGIN, MARGIN) for gap in gaps.values()):
            verdict = "consistent"
        elif any(gap.low > MARGIN or gap.high < -MARGIN for gap in gaps.values()):
            verdict = "fails"
        return Evidence(verdict, {f"{contestant} - joint, m={m}": str(gap) for m, gap in gaps.items()})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Both errors, and their paired difference with the band of equivalence."""
        from whyconv.report.charts import curves, paired

        common: dict[str, Any] = {"x_title": "training examples m", "log_x": True}
        return {
            "Both algorithms": curves(
                table, "m", "test_error", title=self.title, y_title="test error",
                arms=list(self.arms), controls=[UNTRAINED], **common,
            ),
            "Paired difference": paired(
                table, "m", "test_error", (LAYERWISE, CONV_POOL), title="Layerwise minus joint, seed by seed",
                y_title="difference of test errors", margin=MARGIN, **common,
            ),
        }  # fmt: skip
