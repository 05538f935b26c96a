"""Where Lahoti et al. are said to break: an assumption is dropped, and what sharing saves should shrink."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.lahoti.studies.signal_study import (
    CNN,
    LCN,
    SignalStudy,
    factor_change,
    risk_curves,
    sharers,
)
from whyconv.studies import Cell, Judgement
from whyconv.studies.answers import SHARING
from whyconv.studies.grid import Arm
from whyconv.studies.worth import Step
from whyconv.verdict import Evidence, Number, below

HALF, PAPER, DROPPED = 1, 2, 3
"""The cases: half the patches, the paper's own law, the law without one of its assumptions."""


class Diminishing(SignalStudy):
    """The factor m*(LCN) / m*(CNN) without one of the assumptions, over the one with it.

    The control adds patches in place of dropping the assumption: from half of them to all.
    """

    thresholds: ClassVar[Mapping[str, float]] = {"diminished": 0.8}
    """The factor has diminished if its change lies below this: by a fifth or more."""
    broken: ClassVar[str] = (
        "patches are added in place of dropping the assumption, from half of them to all: the factor must "
        "not diminish."
    )
    lost: ClassVar[str] = "does not diminish, as it must not"
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN)
    axis: ClassVar[str] = "case"
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN),)
    shown: ClassVar[Mapping[int, str]]
    """The cases in words."""

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {name: arm for name, arm in sharers().items() if name in (CNN, LCN)},
        validate_default=True,
    )
    seeds: int = Field(20, ge=1, le=10_000)

    @abstractmethod
    def dropped(self) -> Mapping[str, Any]:
        """The fields of the task that drop the assumption."""

    def cells(self) -> Iterator[Cell]:
        half = max(1, self.task.patches // 2)
        changes: dict[int, Mapping[str, Any]] = {HALF: {"patches": half}, PAPER: {}, DROPPED: self.dropped()}
        for case, fields in changes.items():
            for name in self.arms:
                yield self.cell(name, {"case": case, "law": self.shown[case]}, fields)

    def told(self, values: Sequence[float]) -> Sequence[float]:
        """Without the assumption, then with it."""
        return [case for case in (DROPPED, PAPER) if case in values]

    def place(self, value: float) -> str:
        return f"with {self.shown[int(value)]}"

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The change from the paper's law to the one without the assumption; the control's likewise."""
        return Judgement(self._judged(table, PAPER, DROPPED), self._judged(table, HALF, PAPER))

    def _judged(self, table: pd.DataFrame, first: int, last: int) -> Evidence:
        cnn, lcn = self.paired(table, CNN, LCN)
        if not {first, last} <= set(lcn):
            return Evidence("vacuous", {"cases out of a linear filter's reach": len(lcn)})
        change = factor_change(cnn, lcn, first, last)
        name = f"factor, {self.shown[last]}, over {self.shown[first]}"
        found = below(self.thresholds["diminished"], change, name)
        needed: dict[str, Number] = {
            f"m* of {name}, {self.shown[case]}": of[case]
            for name, of in ((CNN, cnn), (LCN, lcn))
            for case in (first, last)
        }
        return Evidence(found.verdict, {**found.numbers, **needed})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {"Risk": risk_curves(table, ", with and without the assumption", "law", [CNN, LCN])}
