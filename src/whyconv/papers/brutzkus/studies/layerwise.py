"""The remark of section 7: layerwise training performs like joint training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL
from whyconv.report.charts import curves, paired
from whyconv.studies import Judgement, increasing
from whyconv.studies.answers import Answer
from whyconv.studies.controls import opposed
from whyconv.studies.grid import Arm, GridStudy, advantage, compared, selected
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, within, worst

LAYERWISE, UNTRAINED = "Layerwise", "Layerwise, first layer untrained"
RESTARTED = "ConvPool, one channel more"


def theorem_start(channels: int, first_steps: int) -> dict[str, Any]:
    """ConvPool as Theorem 5.1 starts it: r = eta_1 / 200 with eta_1 = 1 / (4 k (T_1 + 1))."""
    radius = 1 / (4 * channels * (first_steps + 1)) / 200
    return {"name": "conv-pool", "channels": channels, "init_law": "sphere", "radius": radius}


def contestants() -> dict[str, Any]:
    """Joint Adam, LW_CNN, LW_CNN without its first half, and joint Adam from another start.

    The third one's filters are drawn as large as trained ones are (1/(4k)), so that its readout learns
    at the same pace: what it lacks is what the first layer learned, not scale. One channel more gives the
    last one other initial weights, and changes nothing else worth mentioning.
    """
    channels = 500
    drawn = {**theorem_start(channels, 20), "radius": 1 / (4 * channels)}
    return {
        CONV_POOL: {"network": "conv-pool", "learner": "gradient"},
        LAYERWISE: {"network": theorem_start(channels, 20), "learner": "layerwise"},
        UNTRAINED: {
            "network": drawn, "learner": {"name": "layerwise", "first_steps": 0}, "largest_m": 160,
        },
        RESTARTED: {"network": {"name": "conv-pool", "channels": channels + 1}, "learner": "gradient"},
    }  # fmt: skip


class LayerwiseStudy(GridStudy, name="brutzkus.layerwise"):
    """LW_CNN against joint Adam in the settings of Figures 3a and 3b: are their test errors alike?"""

    says: ClassVar[str] = (
        "We verified that layer-wise training performs very similarly to standard training (section 7)"
    )
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (ConvPool) and Algorithm 1"
    title: ClassVar[str] = "Does layerwise training perform like joint training?"
    met: ClassVar[str] = "Layerwise training performs like joint training."
    unmet: ClassVar[str] = "Layerwise training does not perform like joint training."
    criterion: ClassVar[str] = (
        "Without noise and with it, at every m: the 95 % interval of the difference of test errors, "
        "layerwise - joint Adam, seed by seed, lies within ±0.05, a tenth of the way from no error to "
        "chance. It fails if one interval lies outside, on whichever side."
    )
    broken: ClassVar[str] = (
        "If the two are alike: LW_CNN with T_1 = 0, so that filters as large as trained ones stay as drawn, "
        "must not be. If not: joint Adam from another start must be like joint Adam."
    )
    lost: ClassVar[str] = "is not like joint training, as it must not be"
    rule: ClassVar[str] = (
        "Noise uniform in the unit ball where it is not 0. Joint: Adam, rate 1e-3, batches of 32, until "
        "training loss <= 1e-3 or 2000 epochs. Layerwise: T_1 = 20 and T_2 = 20,000 steps of gradient "
        "descent at the theorem's largest rates, r = eta_1/200; its loss falls like 1/t and does not reach "
        "1e-3. 500 channels are fewer than the theorem's 8 d^3 = 64,000, and the rows say so."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"margin": 0.05}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"m": [10, 20, 40, 80, 160, 320, 640, 1280], "seeds": 20, "first_seed": 1000},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, LAYERWISE, UNTRAINED, RESTARTED)

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    m: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640)
    noises: tuple[float, ...] = (0.0, 1.0)
    seeds: int = Field(10, ge=1, le=10_000)

    _rising = increasing("noises", above=None, example="[0, 1]")

    def values(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], int]]:
        for noise in self.noises:
            for m in self.m:
                yield {"noise": noise, "m": m}, {"noise": noise}, m

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """By how much layerwise training errs less, on average over all m; one for every noise."""
        found, step = [], Step("layerwise training", CONV_POOL, LAYERWISE)
        for noise in self.noises if len(table) else ():
            where = f"with noise {noise:g}, on average over m = {self.m[0]} to {self.m[-1]}"
            one = compared(table, step, self.outcome, self.on(), {"noise": noise}, where)
            found += [one] if one else []
        return found

    def judge(self, table: pd.DataFrame) -> Judgement:
        plain, untrained, restarted = (self._judged(table, arm) for arm in (LAYERWISE, UNTRAINED, RESTARTED))
        return opposed(plain, untrained, restarted)

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        largest = self.arms[contestant].largest_m or self.m[-1]
        return worst(
            *(
                within(
                    self.thresholds["margin"], 0,
                    advantage(table, CONV_POOL, contestant, noise=labels["noise"], m=m),
                    f"{contestant} - joint, noise {labels['noise']:g}, m={m}",
                )
                for labels, _, m in self.values()
                if m <= largest
            )
        )  # fmt: skip

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Errors and their paired difference with the margin, one pair of charts for every noise."""
        charts = {}
        for noise in self.noises:
            part, common = selected(table, noise=noise), {"x_title": "training examples m", "log_x": True}
            charts[f"Both algorithms, noise {noise:g}"] = curves(
                part,
                "m",
                "test_error",
                title=f"{self.title}, noise {noise:g}",
                y_title="test error",
                arms=list(self.arms),
                controls=[UNTRAINED, RESTARTED],
                **common,
            )
            charts[f"Paired difference, noise {noise:g}"] = paired(
                part,
                "m",
                "test_error",
                (LAYERWISE, CONV_POOL),
                title="Layerwise - joint, seed by seed",
                y_title="difference of test errors",
                margin=self.thresholds["margin"],
                **common,
            )
        return charts  # fmt: skip
