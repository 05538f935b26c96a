"""Figure 3a: test error against sample size, orthogonal patterns without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import BASELINES, CONV_POOL, MLP, RULE, SCRAMBLED, arms
from whyconv.report.charts import curves
from whyconv.studies import Judgement
from whyconv.studies.answers import ALL_THREE
from whyconv.studies.grid import Arm, GridStudy, advantage, by_seed
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, all_above, worst

TOO_FEW = "at two sizes m from 40 to 320 a baseline must err on more than 2 %, and it does at fewer"


class Figure3a(GridStudy, name="brutzkus.fig3a"):
    """Test error against sample size: ConvPool, MLP and SVM on orthogonal patterns."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Figure 3a"
    title: ClassVar[str] = "Does max-pooling find the pattern with fewer samples?"
    met: ClassVar[str] = "Max-pooling finds the pattern with fewer samples."
    unmet: ClassVar[str] = "Max-pooling is not ahead of MLP and SVM at every size."
    says: ClassVar[str] = (
        "Section 7: 'ConvPool can be seen to outperform the other methods'; caption of Figure 3: 'we "
        "verified that all models had zero training error'."
    )
    criterion: ClassVar[str] = (
        "For m from 40 to 320, wherever a baseline still errs on more than 2 % of the test, its error "
        "exceeds ConvPool's, seed by seed, with the 95 % interval of the difference above 0 (at least two "
        "sample sizes per baseline); and every model has zero training error, as the paper reports."
    )
    broken: ClassVar[str] = (
        "ConvPool on inputs whose coordinates are shuffled by one random permutation: its windows see no "
        "patterns, so it must lose its advantage."
    )
    thresholds: ClassVar[Mapping[str, float]] = {
        "from m": 40, "to m": 320, "error still judged": 0.02, "sizes per baseline": 2, "gap": 0,
        "training error": 0,
    }  # fmt: skip
    rule: ClassVar[str] = RULE
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [20, 40, 80], "seeds": 5},
        "paper": {},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, *BASELINES, SCRAMBLED)
    priors: ClassVar[tuple[Step, ...]] = (Step(ALL_THREE, MLP, CONV_POOL),)
    reach: ClassVar[float | None] = 0.1

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=arms, validate_default=True)
    m: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640, 1280)

    def told_at(self) -> list[dict[str, int]]:
        """The first sample size that is judged."""
        return [{"m": m} for m in self.m if m >= self.thresholds["from m"]][:1]

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CONV_POOL), self._judged(table, SCRAMBLED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        limit = self.thresholds
        within = [m for m in self.m if limit["from m"] <= m <= limit["to m"]]
        sizes = {
            baseline: [
                m for m in within if by_seed(table, arm=baseline, m=m).mean() > limit["error still judged"]
            ]
            for baseline in BASELINES
        }
        gaps = {
            f"{baseline} - {contestant}, m={m}": advantage(table, contestant, baseline, m=m)
            for baseline in BASELINES
            for m in sizes[baseline]
        }
        enough = min(len(judged) for judged in sizes.values()) >= limit["sizes per baseline"]
        trained = table[table["arm"].isin([contestant, *BASELINES])]["train_error"].max()
        return worst(
            Evidence(all_above(gaps, limit["gap"]), gaps) if enough else Evidence("undecided", gaps, TOO_FEW),
            Evidence(
                "consistent" if trained <= limit["training error"] else "fails",
                {"largest training error": float(trained)},
            ),
        )

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        chart = curves(
            table, "m", "test_error", title=self.title, x_title="training examples m", y_title="test error",
            log_x=True, arms=list(self.arms), controls=[SCRAMBLED],
        )  # fmt: skip
        return {"Figure 3a": chart}
