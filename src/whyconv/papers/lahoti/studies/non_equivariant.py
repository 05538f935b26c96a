"""Open question of Lahoti et al.: algorithms that are not equivariant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import pd
from whyconv.papers.lahoti.studies.signal_study import FCN, AxisStudy, SignalField
from whyconv.studies import Judgement
from whyconv.studies.complexity import Sizes
from whyconv.studies.grid import Arm
from whyconv.studies.worth import Step
from whyconv.verdict import Evidence, worst

ADAM, EMBEDDED, ROTATED = "FCN by Adam", "FCN from a CNN", "FCN from a CNN on rotated inputs"


class NonEquivariant(AxisStudy, name="lahoti.non-equivariant"):
    """The same fully connected network, trained by algorithms that know more than rotations allow.

    The lower bound for FCNs is about algorithms that treat all rotations of the input alike, as gradient
    descent does. Here the same hypothesis class is also trained by Adam, which treats coordinates one by one,
    and by training a CNN and embedding it, which knows where patches are. sigma = 0.1, d = 5.
    """

    reference: ClassVar[str] = "Lahoti et al., open question: non-equivariant algorithms (reconstructed)"
    title: ClassVar[str] = "Is the price of an FCN paid by the class or by the algorithm?"
    met: ClassVar[str] = "The price of a fully connected network is paid by the algorithm, not by the class."
    unmet: ClassVar[str] = "The price of a fully connected network is not shown to be the algorithm's."
    says: ClassVar[str] = (
        '"Can the tools be extended to prove lower bounds for non-equivariant algorithms on the DSD '
        'task?" (an open question, shortened from a summary of the paper).'
    )
    criterion: ClassVar[str] = (
        "95 % intervals: at every k the FCN by gradient descent takes more than 5 times the examples of the "
        "FCN that was embedded from a CNN. Adam is reported, not judged."
    )
    broken: ClassVar[str] = (
        "the same embedding where the inputs are rotated as a whole: there are no patches to exploit, while "
        "gradient descent on the FCN does not notice."
    )
    rule: ClassVar[str] = (
        "Squared loss, full batch, 600 steps, four pairs of step sizes for each, smaller ones for Adam, "
        "whose steps are of the size of the rate. In each repetition the pair counts that does best on "
        "validation examples of its own."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"ratio": 5.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20, "values": [10, 15, 20], "sizes.cap": 6000},
    }
    needed: ClassVar[tuple[str, ...]] = (FCN, ADAM, EMBEDDED, ROTATED)
    axis: ClassVar[str] = "k"
    field: ClassVar[str] = "patches"
    priors: ClassVar[tuple[Step, ...]] = (
        Step("locality and sharing, known to the algorithm alone,", FCN, EMBEDDED),
        Step("Adam instead of gradient descent", FCN, ADAM),
    )
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
            ROTATED: {
                "network": "lsa-fcn", "learner": {"name": "cnn-in-fcn", "bias_rates": [0.1, 0.01]},
                "task": {"rotated": "all"},
            },
        },
        validate_default=True,
    )  # fmt: skip
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"cap": 3000, "resolution": 0.1}))
    values: tuple[float, ...] = (10, 20)

    def judge(self, table: pd.DataFrame) -> Judgement:
        """Gradient descent against the embedding, and against that of rotated inputs."""
        return Judgement(self._judged(table, EMBEDDED), self._judged(table, ROTATED))

    def _judged(self, table: pd.DataFrame, other: str) -> Evidence:
        found, rest = self.paired(table, FCN, other)
        if not found:
            return Evidence("vacuous", {"values of k whose target tells something": 0})
        adam = {f"m* of {ADAM} at k = {k:g}": m for k, m in self.complexities(table, ADAM).items()}
        return worst(
            *self.ratios(found, rest, f"FCN over {other}", self.thresholds["ratio"]),
            Evidence("consistent", adam),
        )
