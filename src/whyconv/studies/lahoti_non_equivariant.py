"""Open question of Lahoti et al.: algorithms that are not equivariant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from whyconv.studies import Judgement
from whyconv.studies._complexity import SignalField, Sizes, above
from whyconv.studies._grid import Arm, worst
from whyconv.studies._lahoti import FAIR, FCN, AxisStudy, Found
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd

ADAM, EMBEDDED = "FCN by Adam", "FCN from a CNN"


class NonEquivariant(AxisStudy, name="lahoti.non-equivariant"):
    """The same fully connected network, trained by algorithms that know more than rotations allow.

    The lower bound for FCNs speaks of algorithms that treat all rotations of the input alike, as gradient
    descent does. Here the same hypothesis class is also trained by Adam, which treats coordinates one by
    one, and by training a CNN and embedding it, which knows where patches are. sigma = 0.1, d = 5.
    """

    reference: ClassVar[str] = "Lahoti et al., open question: non-equivariant algorithms (reconstructed)"
    title: ClassVar[str] = "The price of a fully connected network is paid by the algorithm, not by the class"
    criterion: ClassVar[str] = (
        "95 % intervals: at every k the FCN by gradient descent takes more than 5 times the examples of the "
        "FCN that was embedded from a CNN. Adam is shown, no outcome presumed."
    )
    broken: ClassVar[str] = "Adam in place of the embedding: it does not know where patches are."
    rule: ClassVar[str] = FAIR
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20, "values": [10, 15, 20], "sizes.cap": 6000},
    }
    needed: ClassVar[tuple[str, ...]] = (FCN, ADAM, EMBEDDED)
    axis: ClassVar[str] = "k"
    field: ClassVar[str] = "patches"
    axis_title: ClassVar[str] = "patches k"

    task: SignalField = Field({"name": "signal", "patch_dim": 5}, validate_default=True)
    arms: dict[str, Arm] = Field(
        default_factory=lambda: {
            FCN: {"network": "lsa-fcn", "learner": {"name": "projected", "bias_rates": [0.1, 0.01]}},
            ADAM: {
                "network": "lsa-fcn",
                "learner": {
                    "name": "projected", "optimiser": "adam", "rates": [0.03, 0.01],
                    "bias_rates": [0.01, 0.001],
                },
            },
            EMBEDDED: {"network": "lsa-fcn", "learner": {"name": "cnn-in-fcn", "bias_rates": [0.1, 0.01]}},
        },
        validate_default=True,
    )  # fmt: skip
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"cap": 3000, "resolution": 0.1}))
    values: tuple[float, ...] = (10, 20)

    def judge(self, table: pd.DataFrame) -> Judgement:
        """Gradient descent against the embedding, and against Adam."""
        return Judgement(self._judged(table, EMBEDDED), self._judged(table, ADAM))

    def _judged(self, table: pd.DataFrame, other: str) -> Evidence:
        from whyconv.measure.complexity import ratio

        found, rest = self.complexities(table, FCN), self.complexities(table, other)
        if not found:
            return Evidence("vacuous", {"values of k whose target tells something": 0})
        return worst(
            *(above(5, ratio(found[k], rest[k]), f"m* of FCN over {other} at k = {k:g}") for k in found)
        )

    def growth(self, cnn: Found, lcn: Found) -> list[Evidence]:
        """Nothing is said of exponents."""
        del cnn, lcn
        return []
