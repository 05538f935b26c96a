"""Where Lahoti et al. may break: a signal that does not move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.lahoti.studies.signal_study import (
    CNN,
    FAIR,
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
from whyconv.verdict import Evidence, below

MOVES, STAYS, HALF = 1, 2, 3
CASES: dict[float, str] = {MOVES: "moves", STAYS: "stays in patch 1", HALF: "moves, half the patches"}


class StaticSignal(SignalStudy, name="lahoti.static-signal"):
    """What weight sharing saves when the signal is always in the same patch.

    The static signal distribution (SSD), used inside the lower bounds. An LCN then has one filter to learn,
    from all m examples instead of m/k of them, and a linear one would do. The target is always the risk of
    the best CNN + 0.03, which cannot know which patch to look at. k = 20, d = 20, sigma = 0.1.
    """

    reference: ClassVar[str] = "Lahoti et al., SSD, and where the separation is said to break (reconstructed)"
    title: ClassVar[str] = "A signal that stays: does sharing lose its advantage?"
    met: ClassVar[str] = "A signal that stays: sharing loses its advantage."
    unmet: ClassVar[str] = "A signal that stays: sharing does not lose its advantage."
    says: ClassVar[str] = (
        '"If the signal location is fixed ..., the locality advantage disappears" (break condition 2 of a '
        "summary of the paper, which says it of LCN against CNN)."
    )
    criterion: ClassVar[str] = (
        "95 % interval: the factor m*(LCN) / m*(CNN) is at least five times smaller for a signal that stays "
        "than for one that moves."
    )
    broken: ClassVar[str] = (
        "the signal moves in the second case too, among half as many patches: the factor must not fall as "
        "much."
    )
    lost: ClassVar[str] = "does not fall as much, as it must not"
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {"share of the factor": 0.2}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {}, "paper": {"seeds": 20}}
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN)
    axis: ClassVar[str] = "case"
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN),)

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {name: arm for name, arm in sharers().items() if name in (CNN, LCN)},
        validate_default=True,
    )
    seeds: int = Field(10, ge=1, le=10_000)

    def cells(self) -> Iterator[Cell]:
        changes: dict[int, dict[str, int | None]] = {
            MOVES: {"place": None},
            STAYS: {"place": 1},
            HALF: {"place": None, "patches": max(1, self.task.patches // 2)},
        }
        for case, fields in changes.items():
            for name in self.arms:
                yield self.cell(name, {"case": case, "the signal": CASES[case]}, fields)

    def told(self, values: Sequence[float]) -> Sequence[float]:
        """A signal that stays, then one that moves."""
        return [case for case in (STAYS, MOVES) if case in values]

    def place(self, value: float) -> str:
        return f"for a signal that {CASES[value]}"

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The factor of the case that stays over that of the one that moves; the control's likewise."""
        return Judgement(self._judged(table, STAYS), self._judged(table, HALF))

    def _judged(self, table: pd.DataFrame, case: float) -> Evidence:
        cnn, lcn = self.paired(table, CNN, LCN)
        if not {MOVES, case} <= set(lcn):
            return Evidence("vacuous", {"cases out of a linear filter's reach": len(lcn)})
        found = below(
            self.thresholds["share of the factor"],
            factor_change(cnn, lcn, MOVES, case),
            f"factor, {CASES[case]}, over moves",
        )
        needed = {f"m* of {name}, {CASES[c]}": of[c] for name, of in ((CNN, cnn), (LCN, lcn)) for c in of}
        return Evidence(found.verdict, {**found.numbers, **needed})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {"Risk": risk_curves(table, ", for a signal that moves or stays", "the signal", [CNN, LCN])}
