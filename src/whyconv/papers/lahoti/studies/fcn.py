"""All three networks of Lahoti et al. measured at the same places, small enough for the FCN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.complexity import ratio
from whyconv.papers.lahoti.studies.places import LARGER, Place, PlacesStudy
from whyconv.papers.lahoti.studies.signal_study import CNN, FAIR, FCN, LCN, ROTATED, contestants
from whyconv.report.complexity_chart import complexities
from whyconv.studies import Judgement
from whyconv.studies.grid import Arm
from whyconv.verdict import Evidence, above, worst

SMALL: tuple[Place, ...] = ((10, 5, 0.1), (10, 20, 0.1), (14, 10, 0.1))
"""Places where the FCN is quick enough."""
ARMS = ((CNN, 200), (LCN, 1000), (FCN, 3200), (ROTATED, 200))
"""The arms and their largest m."""


class FullyConnected(PlacesStudy, name="lahoti.fcn"):
    """The order of sample complexities: CNN, LCN and FCN at the same places, none of them cut off.

    With the same, larger steps for everyone (0.3, and 0.1 or 0.01 for b) the FCN reaches the target. Only
    places with oracle + 0.03 <= 0.7 x the risk of the best linear filter count: below k = 10 or so, locality
    has nothing to save at this target. How m* grows is the subject of ``lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., the separation (reconstructed)"
    title: ClassVar[str] = "What do locality and weight sharing save, none cut off?"
    met: ClassVar[str] = "CNN, LCN, FCN: each needs fewer examples than the next."
    unmet: ClassVar[str] = "CNN, LCN, FCN: not each needs fewer examples than the next."
    says: ClassVar[str] = (
        "A sample complexity separation between CNNs, LCNs and FCNs: each needs fewer examples than the next "
        "(title and abstract of the paper)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals of ratios, paired by seed: m*(CNN) < m*(LCN) < m*(FCN) at every place where all were "
        "measured (not reached counts as more than the largest m)."
    )
    broken: ClassVar[str] = (
        "the CNN where every patch is rotated by a matrix of its own in place of the CNN, at the same places."
    )
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {"ratio": 1.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "places": {name: (*SMALL, (20, 5, 0.1), (20, 10, 0.1), (14, 10, 0.12)) for name, _ in ARMS},
            "sizes.resolution": 0.05, "arms.FCN.largest_m": 6000, "seeds": 20,
        },
    }  # fmt: skip
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)

    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            name: {**contestants(LARGER)[name], "largest_m": largest} for name, largest in ARMS
        },
        validate_default=True,
    )
    places: dict[str, tuple[Place, ...]] = Field(
        default_factory=lambda: {name: SMALL for name, _ in ARMS}, validate_default=True
    )
    seeds: int = Field(7, ge=1, le=10_000)

    @field_validator("places")
    @classmethod
    def _several(cls, places: dict[str, tuple[Place, ...]]) -> dict[str, tuple[Place, ...]]:
        shared = set.intersection(*(set(places.get(name, ())) for name in (CNN, LCN, FCN)))
        if len(shared) < 2:
            raise ValueError(
                f"{CNN}, {LCN} and {FCN} share {len(shared)} sizes (k, d, sigma), but an order at one is not "
                "an order; give all of them two or more, as [[10, 5, 0.1], [10, 20, 0.1]]"
            )
        return places

    def told(self, values: Sequence[float]) -> Sequence[float]:
        return values

    def place(self, value: float) -> str:
        return f"at {self.described[value]}"

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self.order(table), self.order(table, ROTATED))

    def order(self, table: pd.DataFrame, first: str = CNN) -> Evidence:
        """m*(CNN) < m*(LCN) < m*(FCN) wherever all were measured; *vacuous* if that is nowhere.

        Each ratio is of all seeds that its two networks have in common.
        """
        names = (first, LCN, FCN)
        everywhere = self.complexities(table, FCN, names)
        found = {pair: self.paired(table, *pair) for pair in pairwise(names)}
        parts = []
        for size in everywhere:
            for (less, more), (fewer, many) in found.items():
                name = f"m* of {more} over {less} at {self.described[size]}"
                parts.append(above(1, ratio(many[size], fewer[size]), name))
        return worst(*parts) if parts else Evidence("vacuous", {"sizes where all three were measured": 0})

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {
            "Examples needed": complexities(
                self.drawn(table), title="Examples until the risk falls to its target, by place",
                x_title="; ".join(f"{number}: {words}" for number, words in self.described.items()),
                arms=[CNN, LCN, FCN], controls=[ROTATED],
            )
        }  # fmt: skip
