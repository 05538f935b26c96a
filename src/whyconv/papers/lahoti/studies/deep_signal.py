"""Open question of Lahoti et al.: does the separation persist beyond one hidden layer?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.measure.complexity import ratio
from whyconv.papers.lahoti.studies.depth import CNN, FCN, LCN, contestants
from whyconv.papers.lahoti.studies.signal_study import BROKEN, SignalField, SignalStudy, risk_curves
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.answers import LOCALITY, SHARING
from whyconv.studies.complexity import Sizes
from whyconv.studies.grid import Arm
from whyconv.studies.worth import Step
from whyconv.verdict import Evidence, above, worst

ROTATED = "CNN of two on rotated patches"


def deeper() -> dict[str, Any]:
    """Networks with a second layer, and the CNN where patches share nothing."""
    arms = {name: {**contestants()[name], "largest_m": largest} for name, largest in
            ((CNN, 1000), (LCN, 2000), (FCN, 2000))}  # fmt: skip
    return {**arms, ROTATED: {**arms[CNN], "task": {"rotated": "patches"}}}


class DeepSignal(SignalStudy, name="lahoti.deep-signal"):
    """Sample complexity on the paper's own task of networks with a second layer of 32 ReLU neurons.

    k = 10, d = 10, sigma = 0.1. The second layer reads nodes summed over patches that share a filter. The
    target is that of the other studies: the risk of the best network of one layer + 0.03.
    """

    reference: ClassVar[str] = (
        'Lahoti et al., open question: "does the separation between CNNs, LCNs and FCNs persist in deeper '
        'architectures beyond one hidden layer?" (reconstructed)'
    )
    title: ClassVar[str] = "With two layers, does the separation persist?"
    met: ClassVar[str] = "Two layers on the signal task: the separation persists."
    unmet: ClassVar[str] = "Two layers on the signal task: the separation does not persist."
    says: ClassVar[str] = (
        '"Does the sample complexity separation between CNNs, LCNs, and FCNs persist in deeper '
        'architectures beyond one hidden layer?" (an open question, as a summary of the paper puts it).'
    )
    criterion: ClassVar[str] = (
        "95 % intervals: with two layers m*(CNN) < m*(LCN) < m*(FCN) at every k. An m* that is not reached "
        "counts as more than the largest m."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = (
        "Squared loss, full-batch Adam, 1000 steps; every network gets the same grid of step sizes, of which "
        "the pair with the least risk on separate examples counts in each repetition. Adam is not "
        "equivariant to rotations: that an FCN needs more is measured, not implied by the theory."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"ratio": 1.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"first_seed": 1000,
            "seeds": 20, "values": [10, 20], "task.patch_dim": 20, "sizes.resolution": 0.1,
            "sizes.cap": 8000, f"arms.{LCN}.largest_m": 8000, f"arms.{FCN}.largest_m": 8000,
        },
    }  # fmt: skip
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)
    axis: ClassVar[str] = "k"
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN), Step(LOCALITY, FCN, LCN))

    task: SignalField = Field({"name": "signal", "patches": 10, "patch_dim": 10}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=deeper, validate_default=True)
    values: tuple[int, ...] = (10,)
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"cap": 2000, "resolution": 0.3}))
    seeds: int = Field(8, ge=1, le=10_000)

    _increasing = increasing("values", example="[10, 20]")

    def cells(self) -> Iterator[Cell]:
        for k in self.values:
            for name in self.arms:
                yield self.cell(name, {"k": k}, {"patches": k})

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, CNN), self._judged(table, ROTATED))

    def _judged(self, table: pd.DataFrame, first: str) -> Evidence:
        names = (first, LCN, FCN)
        found = {name: self.complexities(table, name, names) for name in names}
        if not found[FCN]:
            return Evidence("vacuous", {"values of k whose target tells something": 0})
        return worst(
            *(
                above(
                    self.thresholds["ratio"], ratio(found[more][k], found[less][k]),
                    f"m* of {more} over {less} at k = {k:g}",
                )
                for k in found[FCN]
                for less, more in pairwise(names)
            )
        )  # fmt: skip

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {"Risk": risk_curves(table, ", two layers", "k", [CNN, LCN, FCN, ROTATED], [ROTATED])}
