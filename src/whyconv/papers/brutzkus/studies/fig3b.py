"""Figure 3b: the same with noise on every pattern, where the data stop being linearly separable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.papers.brutzkus.studies.detection_arms import (
    BASELINES,
    CONV_POOL,
    MLP,
    RULE,
    SCRAMBLED,
    SVM,
    arms,
)
from whyconv.report.charts import curves
from whyconv.studies import Judgement
from whyconv.studies.answers import ALL_THREE
from whyconv.studies.grid import Arm, GridStudy, advantage
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence, all_above, worst


class Figure3b(GridStudy, name="brutzkus.fig3b"):
    """Test error against sample size with noise of norm <= 1 on every pattern."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Figure 3b"
    title: ClassVar[str] = "With noise, does the linear method fail and max-pooling lead?"
    met: ClassVar[str] = "With noise the linear method fails, and max-pooling leads."
    unmet: ClassVar[str] = "With noise, max-pooling does not lead as the paper says."
    says: ClassVar[str] = (
        "Section 7: 'This makes the problem non linearly-separable. As expected, the linear method now "
        "fails, but ConvPool performs well and outperforms MLP'; caption of Figure 3: 'we verified that for "
        "the linear model training error was non-zero in many of the cases. For the other models training "
        "error was zero.'"
    )
    criterion: ClassVar[str] = (
        "For every m from 80 on, both baselines' errors exceed ConvPool's, seed by seed, with the 95 % "
        "interval of the difference above 0; both networks have zero training error at every m; and the "
        "linear model's training error is positive at the largest m, where no hyperplane separates."
    )
    broken: ClassVar[str] = (
        "ConvPool on inputs whose coordinates are shuffled by one random permutation: its windows see no "
        "patterns, so it must lose its advantage."
    )
    thresholds: ClassVar[Mapping[str, float]] = {
        "from m": 80, "gap": 0, "training error of networks": 0, "training error of the linear model": 0,
    }  # fmt: skip
    rule: ClassVar[str] = RULE + " Noise uniform in the unit ball, at test time too."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [80, 320, 2560], "seeds": 3},
        "paper": {},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, *BASELINES, SCRAMBLED)
    priors: ClassVar[tuple[Step, ...]] = (Step(ALL_THREE, MLP, CONV_POOL),)
    reach: ClassVar[float | None] = 0.1

    task: TaskField = Field({"name": "detection", "noise": 1.0}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=arms, validate_default=True)
    m: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)

    def told_at(self) -> list[dict[str, int]]:
        """The first sample size that is judged."""
        return [{"m": m} for m in self.m if m >= self.thresholds["from m"]][:1]

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CONV_POOL), self._judged(table, SCRAMBLED))

    def _judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        limit = self.thresholds
        measured = set(table[table["arm"] == contestant]["m"])
        gaps = {
            f"{baseline} - {contestant}, m={m}": advantage(table, contestant, baseline, m=m)
            for m in self.m
            for baseline in BASELINES
            if m >= limit["from m"] and m in measured
        }
        unjudged = "" if gaps else "no admissible size: no sample size from m = 80 on was measured"
        linearly = "no admissible size: a hyperplane still separates the largest sample"
        worst_training = table[table["arm"].isin([contestant, MLP])]["train_error"].max()
        linear = table[(table["arm"] == SVM) & (table["m"] == max(self.m))]["train_error"]
        return worst(
            Evidence(all_above(gaps, limit["gap"]), gaps, unjudged),
            Evidence(
                "consistent" if worst_training <= limit["training error of networks"] else "fails",
                {"largest training error of a network": float(worst_training)},
            ),
            Evidence(
                "consistent" if linear.min() > limit["training error of the linear model"] else "undecided",
                {f"smallest training error of the SVM, m={max(self.m)}": float(linear.min())},
                "" if linear.min() > limit["training error of the linear model"] else linearly,
            ),
        )

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 1: examples of both classes, and the architecture."""
        return figure1()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        common = {
            "x_title": "training examples m",
            "log_x": True,
            "arms": list(self.arms),
            "controls": [SCRAMBLED],
        }
        return {
            "Figure 3b": curves(table, "m", "test_error", title=self.title, y_title="test error", **common),
            "Training errors": curves(
                table, "m", "train_error", title="Training errors", y_title="training error", **common
            ),
        }
