"""The remark of section 7: layerwise training performs like joint training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL
from whyconv.report.charts import curves, paired
from whyconv.studies import Judgement
from whyconv.studies.grid import Arm, GridStudy, advantage
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, Verdict

LAYERWISE, UNTRAINED = "Layerwise", "Layerwise, first layer untrained"
MARGIN = 0.02
EQUIVALENT_FROM = 80


def theorem_start(channels: int, first_steps: int) -> dict[str, Any]:
    """ConvPool as Theorem 5.1 starts it: r = eta_1 / 200 with eta_1 = 1 / (4 k (T_1 + 1))."""
    radius = 1 / (4 * channels * (first_steps + 1)) / 200
    return {"name": "conv-pool", "channels": channels, "init_law": "sphere", "radius": radius}


def contestants() -> dict[str, Any]:
    """Joint Adam, LW_CNN, and LW_CNN without its first half.

    The last one's filters are drawn as large as trained ones are (1/(4k)), so that its readout learns
    at the same pace: what it lacks is what the first layer learned, not scale.
    """
    channels = 500
    drawn = {**theorem_start(channels, 20), "radius": 1 / (4 * channels)}
    return {
        CONV_POOL: {"network": "conv-pool", "learner": "gradient"},
        LAYERWISE: {"network": theorem_start(channels, 20), "learner": "layerwise"},
        UNTRAINED: {"network": drawn, "learner": {"name": "layerwise", "first_steps": 0}},
    }


class LayerwiseStudy(GridStudy, name="brutzkus.layerwise"):
    """LW_CNN against joint Adam: is the difference of test errors within 0.02?"""

    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (ConvPool) and Algorithm 1"
    title: ClassVar[str] = "Layerwise training matches joint training, and beats it with few samples"
    criterion: ClassVar[str] = (
        "Paired difference of test errors, layerwise - joint Adam, with 95 % intervals: within ±0.02 at "
        "every m from 80 on, and nowhere above +0.02. (With fewer samples layerwise training is better by "
        "far more than 0.02: there the two do not perform alike.)"
    )
    broken: ClassVar[str] = (
        "LW_CNN with T_1 = 0, so that filters as large as trained ones stay as drawn: it must not be "
        "equivalent."
    )
    rule: ClassVar[str] = (
        "Noise uniform in the unit ball, where no error is zero. Joint: Adam, rate 1e-3, batches of 32, "
        "until training loss <= 1e-3 or 2000 epochs. Layerwise: T_1 = 20 and T_2 = 20,000 steps of gradient "
        "descent at the theorem's largest rates, r = eta_1/200; its loss falls like 1/t and does not reach "
        "1e-3. 500 channels are fewer than the theorem's 8 d^3 = 64,000, and the rows say so."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [40, 80, 160], "seeds": 4},
        "paper": {},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, LAYERWISE, UNTRAINED)

    task: TaskField = Field({"name": "detection", "noise": 1.0}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    m: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640)

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, LAYERWISE), self._judged(table, UNTRAINED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        gaps = {m: advantage(table, CONV_POOL, contestant, m=m) for m in self.m}
        large = [gap for m, gap in gaps.items() if m >= EQUIVALENT_FROM]
        verdict: Verdict = "undecided"
        if any(gap.low > MARGIN for gap in gaps.values()) or any(gap.high < -MARGIN for gap in large):
            verdict = "fails"
        elif large and all(gap.within(-MARGIN, MARGIN) for gap in large):
            verdict = "consistent" if all(gap.high <= MARGIN for gap in gaps.values()) else "undecided"
        return Evidence(verdict, {f"{contestant} - joint, m={m}": gap for m, gap in gaps.items()})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Both errors, and their paired difference with the band of equivalence."""
        common: dict[str, Any] = {"x_title": "training examples m", "log_x": True}
        return {
            "Both algorithms": curves(
                table, "m", "test_error", title=self.title, y_title="test error",
                arms=list(self.arms), controls=[UNTRAINED], **common,
            ),
            "Paired difference": paired(
                table, "m", "test_error", (LAYERWISE, CONV_POOL), title="Layerwise - joint, seed by seed",
                y_title="difference of test errors", margin=MARGIN, **common,
            ),
        }  # fmt: skip
