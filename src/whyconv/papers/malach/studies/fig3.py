"""Figure 3: the parity of three neighbouring digits among n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from whyconv.lazy import pd
from whyconv.papers.malach.studies.sequence_study import (
    CNN,
    FCN,
    LCN,
    MNIST,
    QUICK,
    RULE,
    SequenceStudy,
)
from whyconv.studies import Judgement
from whyconv.studies.images import ROUNDING, Twin, permuted, shuffled, started_alike, twins
from whyconv.verdict import Evidence, Number, above, within, worst

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval


class Figure3(SequenceStudy, name="malach.fig3"):
    """Accuracy against n: the parity of the three middle digits, CNN, LCN and FCN."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 3"
    title: ClassVar[str] = "Parity of neighbouring digits among n: who learns it?"
    met: ClassVar[str] = "Networks with windows learn it among many digits, the FCN does not."
    unmet: ClassVar[str] = "Windows do not learn it at every n, or the FCN does."
    says: ClassVar[str] = (
        "Section 6, first experiment: 'the CNN and LCN architectures achieve good performance regardless of "
        "the choice of n, where the performance of the FCN architectures critically degrades for larger n, "
        "achieving only chance-level performance when n = 19.'"
    )
    criterion: ClassVar[str] = (
        "95 % intervals over seeds: the accuracy of CNN and LCN is above 0.65 for every n, that of the FCN "
        "at the largest n within 0.05 of chance, as is a CNN trained on shuffled labels; the FCN on permuted "
        "pixels, with its initial weights permuted alike, has the FCN's loss in the first epoch up to "
        "rounding (1e-4), and its accuracy within 0.03. LCN - CNN is reported here and judged by "
        "malach.lcn-advantage."
    )
    broken: ClassVar[str] = (
        "CNN and LCN on images whose pixels are permuted, in the same way for all images: their windows see "
        "no digits, and they must lose their advantage."
    )
    thresholds: ClassVar[Mapping[str, float]] = {
        "good": 0.65, "chance": 0.5, "from chance": 0.05, "between twins": 0.03, "rounding": ROUNDING,
    }  # fmt: skip
    rule: ClassVar[str] = RULE
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": QUICK,
        "mnist": MNIST,
        "paper": {"task.images": "mnist"},
    }
    where: ClassVar[str] = "middle"

    @property
    def twins(self) -> Mapping[str, Twin]:
        return twins((CNN, LCN, FCN))

    def judge(self, table: pd.DataFrame) -> Judgement:
        ends = (self.digits[0], self.digits[-1])
        plain = worst(
            self._learned(table, (CNN, LCN), self.digits),
            self._lost(table, FCN),
            self._sane(table),
            Evidence("consistent", self._sharing(table)),
        )
        broken = worst(
            self._learned(table, (permuted(CNN), permuted(LCN)), ends), self._lost(table, permuted(FCN))
        )
        return Judgement(plain, broken)

    def _learned(self, table: pd.DataFrame, arms: tuple[str, ...], sizes: tuple[int, ...]) -> Evidence:
        return worst(
            *(
                above(self.thresholds["good"], self.accuracy(table, arm, n), f"accuracy, {arm}, n={n}")
                for arm in arms
                for n in sizes
            )
        )

    def _lost(self, table: pd.DataFrame, arm: str) -> Evidence:
        largest = self.digits[-1]
        return self._at_chance(self.accuracy(table, arm, largest), f"accuracy, {arm}, n={largest}")

    def _at_chance(self, accuracy: Interval, name: str) -> Evidence:
        return within(self.thresholds["from chance"], self.thresholds["chance"], accuracy, name)

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        found = []
        for n in (self.digits[0], self.digits[-1]):
            blind = self.accuracy(table, shuffled(CNN), n)
            found.append(self._at_chance(blind, f"accuracy, {shuffled(CNN)}, n={n}"))
            same = self.gain(table, permuted(FCN), FCN, n)
            name = f"{permuted(FCN)} - FCN, n={n}"
            found.append(within(self.thresholds["between twins"], 0, same, name))
            found.append(started_alike(table, permuted(FCN), FCN, n=n))
        return worst(*found)

    def _sharing(self, table: pd.DataFrame) -> dict[str, Number]:
        return {f"LCN - CNN, n={n}": self.gain(table, LCN, CNN, n) for n in self.digits}
