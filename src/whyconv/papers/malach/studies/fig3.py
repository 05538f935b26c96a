"""Figure 3: the parity of three neighbouring digits among n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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
from whyconv.studies.images import Twin, permuted, shuffled, started_alike, twins
from whyconv.verdict import Evidence, Number, above, within, worst

GOOD, CHANCE = 0.65, 0.5


class Figure3(SequenceStudy, name="malach.fig3"):
    """Accuracy against n: the parity of the three middle digits, CNN, LCN and FCN."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 3"
    title: ClassVar[str] = (
        "Parity of three neighbouring digits: windows learn it among many, the FCN does not"
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
                above(GOOD, self.accuracy(table, arm, n), f"accuracy, {arm}, n={n}")
                for arm in arms
                for n in sizes
            )
        )

    def _lost(self, table: pd.DataFrame, arm: str) -> Evidence:
        largest = self.digits[-1]
        return within(0.05, CHANCE, self.accuracy(table, arm, largest), f"accuracy, {arm}, n={largest}")

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        found = []
        for n in (self.digits[0], self.digits[-1]):
            blind = self.accuracy(table, shuffled(CNN), n)
            name = f"accuracy, {shuffled(CNN)}, n={n}"
            found.append(within(0.05, CHANCE, blind, name))
            same = self.gain(table, permuted(FCN), FCN, n)
            name = f"{permuted(FCN)} - FCN, n={n}"
            found.append(within(0.03, 0, same, name))
            found.append(started_alike(table, permuted(FCN), FCN, n=n))
        return worst(*found)

    def _sharing(self, table: pd.DataFrame) -> dict[str, Number]:
        return {f"LCN - CNN, n={n}": self.gain(table, LCN, CNN, n) for n in self.digits}
