"""Between LCN and CNN: filters shared by groups of patches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.measure.complexity import ratio
from whyconv.measure.scaling import exponent
from whyconv.papers.lahoti.studies.signal_study import FAIR, SignalStudy, risk_curves
from whyconv.report.complexity_chart import complexities
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.answers import SHARING, Answer, in_examples, words
from whyconv.studies.grid import Arm, changed
from whyconv.verdict import Evidence, above, below, worst

SHARED, ROTATED = "shared by groups", "shared, on rotated patches"


class PartialSharing(SignalStudy, name="lahoti.partial-sharing"):
    """Examples needed when groups of g neighbouring patches share a filter: LCN at g = 1, CNN at g = k.

    A filter of a group sees a signal in m g / k of m examples, so m* should fall like 1/g. k = 20, d = 20,
    sigma = 0.1.
    """

    reference: ClassVar[str] = "Lahoti et al., open question: between LCN and CNN (reconstructed)"
    title: ClassVar[str] = "The more patches share a filter, the fewer examples?"
    met: ClassVar[str] = "The more patches share a filter, the fewer examples are needed."
    unmet: ClassVar[str] = "Sharing by groups does not save like 1/g."
    says: ClassVar[str] = (
        '"Comparing CNN variants with different degrees of locality and weight sharing" (a check that a '
        "summary of the paper suggests; on the signal task here)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals: the exponent of m* in the size of a group lies between -1.25 and -0.5, and no "
        "sharing at all takes more than 5 times the examples of full sharing."
    )
    broken: ClassVar[str] = (
        "every patch is rotated by a matrix of its own, so no two patches have anything to share."
    )
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {"steepest": -1.25, "flattest": -0.5, "ratio": 5.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20, "groups": [1, 2, 4, 5, 10, 20]},
    }
    needed: ClassVar[tuple[str, ...]] = (SHARED, ROTATED)
    axis: ClassVar[str] = "group"

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            SHARED: {"network": "lsa-partly-shared", "learner": "projected"},
            ROTATED: {"network": "lsa-partly-shared", "learner": "projected", "task": {"rotated": "patches"}},
        },
        validate_default=True,
    )
    groups: tuple[int, ...] = (1, 2, 4, 10, 20)
    seeds: int = Field(10, ge=1, le=10_000)

    _increasing = increasing("groups", count=2, example="[1, 4, 20]")

    def cells(self) -> Iterator[Cell]:
        """Every size of a group; rotated patches at both ends, which is all the control needs."""
        for group in self.groups:
            names = self.arms if group in (self.groups[0], self.groups[-1]) else [SHARED]
            for name in names:
                network = changed(self.arms[name].network, {"group": group})
                yield self.cell(name, {"group": group}, {}, network=network)

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """No sharing at all against the largest group, and against the next one."""
        found = self.complexities(table, SHARED) if len(table) else {}
        first, goal = self.groups[0], self.goal(next(iter(self.cells())))
        return [
            in_examples(
                f"{SHARING} by {group}", (f"g = {first}", found[first]), (f"g = {group}", found[group]),
                self.on(), f"for a {words(self.outcome)} of {goal:.3g}",
            )
            for group in dict.fromkeys((self.groups[-1], self.groups[1]))
            if first in found and group in found
        ]  # fmt: skip

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion where patches share the signal, and where they share nothing."""
        return Judgement(self._judged(table, SHARED), self._judged(table, ROTATED))

    def _judged(self, table: pd.DataFrame, arm: str) -> Evidence:
        found = self.complexities(table, arm)
        if not found:
            return Evidence("vacuous", {"sizes of a group whose target tells something": 0})
        first, last = min(found), max(found)
        slope = exponent(found.items())
        name = f"exponent in the group's size, {arm}"
        return worst(
            above(self.thresholds["steepest"], slope, name),
            below(self.thresholds["flattest"], slope, name),
            above(
                self.thresholds["ratio"],
                ratio(found[first], found[last]),
                f"m* at {first:g} over m* at {last:g}, {arm}",
            ),
        )

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """m* against the size of a group, with 1/g beside it, and the learning curves."""
        drawn = self.drawn(table)
        reached = drawn[(drawn["arm"] == SHARED) & drawn["m"].notna()]
        lines = [
            (SHARED, x, float(reached["m"].iloc[0] * reached["x"].iloc[0] / x), "1/g") for x in reached["x"]
        ]
        return {
            "Examples needed": complexities(
                drawn, title="Examples needed when groups of patches share a filter",
                x_title="patches that share a filter g", arms=[SHARED, ROTATED], controls=[ROTATED],
                theory=pd.DataFrame(lines, columns=["arm", "x", "y", "label"]),
            ),
            "Risk": risk_curves(table, "", "group", [SHARED, ROTATED], [ROTATED]),
        }  # fmt: skip
