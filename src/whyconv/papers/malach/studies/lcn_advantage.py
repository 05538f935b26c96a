"""Experiment 1, its last observation: the LCN against the CNN on digit sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from whyconv.lazy import pd
from whyconv.papers.malach.studies.sequence_study import CNN, LCN, MNIST, QUICK, RULE, SequenceStudy
from whyconv.studies import Cell, Judgement
from whyconv.studies.answers import SHARING
from whyconv.studies.controls import opposed
from whyconv.studies.grid import changed
from whyconv.studies.images import Twin
from whyconv.studies.worth import Step
from whyconv.verdict import Evidence, above, worst

RESTARTED, QUARTER = "CNN, one filter more", "CNN, a quarter of the sequences"


class LcnAdvantage(SequenceStudy, name="malach.lcn-advantage"):
    """Is the LCN clearly more accurate than the CNN on the parity of the three middle digits?

    CNN and LCN are those of ``malach.fig3``, and share its trials for the same seeds. One filter more gives a
    CNN other initial weights, and changes nothing else worth mentioning.
    """

    says: ClassVar[str] = "We also observe that LCN has a clear advantage over CNN in this task (section 6)"
    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 6, on Figure 3"
    title: ClassVar[str] = "Is the LCN clearly more accurate than the CNN on digit sequences?"
    met: ClassVar[str] = "The LCN is clearly more accurate than the CNN."
    unmet: ClassVar[str] = "The LCN is not clearly more accurate than the CNN."
    criterion: ClassVar[str] = (
        "At every n the LCN is more accurate than the CNN by more than 0.05, which is also what clear means "
        "on Figure 1: the 95 % interval of the difference, seed by seed, lies above it. It fails if one lies "
        "below."
    )
    broken: ClassVar[str] = (
        "If the study passes: the CNN with one filter more, that is, from another start, in the LCN's place "
        "must not be clearly ahead. If not: the LCN must be clearly ahead of the CNN that is trained on a "
        "quarter of the sequences."
    )
    lost: ClassVar[str] = "is not clearly ahead, as it must not be"
    rule: ClassVar[str] = RULE
    thresholds: ClassVar[Mapping[str, float]] = {"clear": 0.05}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {**QUICK, "first_seed": 1000},
        "mnist": {**MNIST, "first_seed": 1000},
        "paper": {"task.images": "mnist", "first_seed": 1000},
    }
    where: ClassVar[str] = "middle"
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN),)

    @property
    def twins(self) -> Mapping[str, Twin]:
        return {arm: Twin(CNN) for arm in (RESTARTED, QUARTER)}

    def cells(self) -> Iterator[Cell]:
        """CNN and LCN at every n, the controls at the smallest and the largest."""
        for n in self.digits:
            fields = {"digits": n, "where": self.where, "shifted_tests": self.shifts}
            task, cnn = changed(self.task, fields), self.network(CNN, n)
            arms = {CNN: (cnn, self.m), LCN: (self.network(LCN, n), self.m)}
            if n in (self.digits[0], self.digits[-1]):
                arms[RESTARTED] = ({**cnn, "channels": [cnn["channels"][0] + 1]}, self.m)
                arms[QUARTER] = (cnn, max(1, self.m // 4))
            for arm, (network, m) in arms.items():
                labels = {"arm": arm, "n": n}
                yield Cell(labels, task, self.learner, network, m, self.repetitions(), self.test_size)

    def judge(self, table: pd.DataFrame) -> Judgement:
        ends = (self.digits[0], self.digits[-1])
        return opposed(
            self._ahead(table, LCN, CNN, self.digits),
            self._ahead(table, RESTARTED, CNN, ends),
            self._ahead(table, LCN, QUARTER, ends),
        )

    def _ahead(self, table: pd.DataFrame, better: str, worse: str, digits: tuple[int, ...]) -> Evidence:
        clear = self.thresholds["clear"]
        return worst(
            *(above(clear, self.gain(table, better, worse, n), f"{better} - {worse}, n={n}") for n in digits)
        )
