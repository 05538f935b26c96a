"""Open question of Lahoti et al.: depth, for labels that two patches determine together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.measure.intervals import paired_difference, share_interval
from whyconv.papers.lahoti.pictures import problem as signals
from whyconv.report.charts import curves
from whyconv.studies import Judgement
from whyconv.studies.answers import LOCALITY, SHARING
from whyconv.studies.grid import Arm, GridStudy, by_seed
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, above, below, worst

SHALLOW, CNN, LCN, FCN = "CNN of one layer", "CNN of two", "LCN of two", "FCN of two"


def contestants() -> dict[str, Any]:
    """The same learner for all; a second layer of 32 ReLU neurons for all but one."""
    learner = {
        "name": "projected", "optimiser": "adam", "rates": [0.1, 0.03, 0.01], "bias_rates": [0.01, 0.001],
        "steps": 1000,
    }  # fmt: skip
    networks = {
        SHALLOW: {"name": "lsa-cnn"},
        CNN: {"name": "lsa-cnn", "second_layer": 32},
        LCN: {"name": "lsa-lcn", "second_layer": 32},
        FCN: {"name": "lsa-fcn", "second_layer": 32},
    }
    return {name: {"network": network, "learner": learner} for name, network in networks.items()}


class Depth(GridStudy, name="lahoti.depth"):
    """One layer against two where the label is the product of two patches' signs.

    Two random patches of k = 20 hold s_1 w* and s_2 w*, d = 10, sigma = 0.1, and y = s_1 s_2. A sum of odd
    functions over patches changes its sign with the input while the label does not, so one layer is at chance
    at every m; a layer on top of the patches can learn it. It reads nodes summed over patches that share a
    filter: one number for the CNN, k for LCN and FCN.
    """

    reference: ClassVar[str] = (
        "Lahoti et al., open question: depth and interaction of patches (reconstructed)"
    )
    title: ClassVar[str] = "Does a second layer learn what two patches determine together?"
    met: ClassVar[str] = "A second layer learns it, and sharing still saves examples."
    unmet: ClassVar[str] = "A second layer does not learn it as asked, or sharing saves nothing."
    says: ClassVar[str] = (
        '"An interesting direction would be to analyze the role of depth in a CNN in capturing dependency '
        'between different patches" (future work, as a summary quotes the paper).'
    )
    criterion: ClassVar[str] = (
        "95 % intervals of the test error: one layer stays above 0.4 at every m; with two layers the CNN "
        "falls below 0.1 at the largest m, and at some m it is better than the LCN, and at some m than the "
        "FCN, by more than 0.1 (paired; intervals at 1 - 0.05 / number of m, as the best m is chosen)."
    )
    broken: ClassVar[str] = "the CNN of one layer in place of the CNN of two."
    lost: ClassVar[str] = "does not learn it, as it must not"
    rule: ClassVar[str] = (
        "Squared loss, full-batch Adam, 1000 steps; every network gets the same grid of step sizes, of which "
        "the pair with the least risk on separate examples counts in each repetition."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"chance": 0.4, "learned": 0.1, "gain": 0.1}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 10, "m": [30, 60, 100, 200, 300, 600, 1000, 2000, 4000]},
    }
    needed: ClassVar[tuple[str, ...]] = (SHALLOW, CNN, LCN, FCN)
    priors: ClassVar[tuple[Step, ...]] = (
        Step("a second layer", SHALLOW, CNN),
        Step(SHARING, LCN, CNN),
        Step(LOCALITY, FCN, LCN),
    )
    reach: ClassVar[float | None] = 0.1

    task: TaskField = Field({"name": "signal", "label": "product", "patch_dim": 10}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    m: tuple[int, ...] = (30, 100, 300, 1000)
    test_size: int = Field(2000, ge=1, le=1_000_000)
    risk: bool = True

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CNN), self._judged(table, SHALLOW))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        largest, level = self.m[-1], 1 - 0.05 / len(self.m)
        errors = {m: share_interval(by_seed(table, arm=SHALLOW, m=m)) for m in self.m}
        parts = [
            above(self.thresholds["chance"], error, f"test error, {SHALLOW}, m = {m}")
            for m, error in errors.items()
        ]
        last = share_interval(by_seed(table, arm=contestant, m=largest))
        parts.append(below(self.thresholds["learned"], last, f"test error, {contestant}, m = {largest}"))
        for other in (LCN, FCN):
            gains = {
                m: paired_difference(
                    by_seed(table, arm=other, m=m), by_seed(table, arm=contestant, m=m), level
                )
                for m in self.m
            }
            m = max(gains, key=lambda m: gains[m].low)
            parts.append(
                above(self.thresholds["gain"], gains[m], f"test error, {other} minus {contestant}, m = {m}")
            )
        return worst(*parts)

    def pictures(self) -> dict[str, str]:
        """Inputs of the sizes that were run."""
        return signals(list(self.cells())[-1].task)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {
            "Test error": curves(
                table, "m", "test_error", title="Labels that two patches determine together",
                x_title="training examples m", y_title="test error", log_x=True, arms=list(self.arms),
                controls=[SHALLOW], y_domain=(0.0, 0.6),
            )
        }  # fmt: skip
