"""Figure 4: the parity of three digits that are far apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import pd
from whyconv.papers.malach.studies.sequence_study import CONTESTANTS, MNIST, QUICK, RULE, SequenceStudy
from whyconv.studies import Judgement
from whyconv.studies.images import Twin
from whyconv.verdict import Evidence, above, below, worst


def middle(arm: str) -> str:
    """The arm where the three middle digits count."""
    return f"{arm}, middle digits count"


class Figure4(SequenceStudy, name="malach.fig4"):
    """Accuracy against n: the parity of the first, the middle and the last digit, CNN, LCN and FCN."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 4"
    title: ClassVar[str] = "Parity of digits that are far apart: who learns it?"
    met: ClassVar[str] = "Windows do not help, and among many digits nothing does."
    unmet: ClassVar[str] = "Windows help, or a network learns it among many digits."
    says: ClassVar[str] = (
        "Section 6, second experiment: 'for small n, FCN performs much better than CNN and LCN. [...] "
        "However, for large n, all architectures perform poorly.'"
    )
    criterion: ClassVar[str] = (
        "95 % intervals over seeds: at the smallest n the FCN is more accurate than CNN and LCN, seed by "
        "seed, by more than 0.05; at the largest n the accuracy of all three is below 0.55."
    )
    broken: ClassVar[str] = (
        "the three middle digits count instead, as in Figure 3: windows see them all, and CNN and LCN must "
        "no longer do poorly."
    )
    lost: ClassVar[str] = "windows no longer do poorly, as they must not"
    thresholds: ClassVar[Mapping[str, float]] = {"better by": 0.05, "poor": 0.55}
    rule: ClassVar[str] = RULE
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": QUICK,
        "mnist": MNIST,
        "paper": {"task.images": "mnist"},
    }
    where: ClassVar[str] = "spread"

    @property
    def twins(self) -> Mapping[str, Twin]:
        """All three where the middle digits count."""
        return {middle(arm): Twin(arm, {"where": "middle"}) for arm in CONTESTANTS}

    def told_at(self) -> int:
        return self.digits[0]

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(
            self._judged(table, CONTESTANTS), self._judged(table, tuple(map(middle, CONTESTANTS)))
        )

    def _judged(self, table: pd.DataFrame, arms: tuple[str, ...]) -> Evidence:
        *local, dense = arms
        smallest, largest = self.digits[0], self.digits[-1]
        gaps = (
            above(
                self.thresholds["better by"],
                self.gain(table, dense, arm, smallest),
                f"{dense} - {arm}, n={smallest}",
            )
            for arm in local
        )
        ends = (
            below(
                self.thresholds["poor"], self.accuracy(table, arm, largest), f"accuracy, {arm}, n={largest}"
            )
            for arm in arms
        )
        return worst(*gaps, *ends)
