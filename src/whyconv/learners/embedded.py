"""A learner that is not equivariant: train a CNN, and return it as a fully connected network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from whyconv.learners import Fit, Job
from whyconv.learners.projected import Descent, Projected
from whyconv.networks import Network
from whyconv.networks.embedding import threshold_fcn
from whyconv.networks.threshold import ThresholdCNN, ThresholdFCN, plain


class EmbeddedCNN(Projected, name="cnn-in-fcn"):
    """Trains the CNN of the same settings by projected descent and embeds it exactly in the FCN.

    The hypothesis class is the FCN's, and so is the number of parameters; the algorithm is not
    O(kd)-equivariant, because it knows where the patches are: the lower bound for FCNs does not apply.
    """

    reference: ClassVar[str] = "the exception that the lower bound of Lahoti et al. leaves open"

    def refusal(self, network: Network | None, m: int) -> str:
        """Only an FCN over patches equals such a CNN."""
        if network is not None and not (isinstance(network, ThresholdFCN) and plain(network)):
            return (
                "cnn-in-fcn embeds a CNN in the network lsa-fcn with activation lsa and no second layer, but "
                f"{network.name} was given with other settings or is another network"
            )
        return super().refusal(network, m)

    def trains(self, network: Network) -> Network:
        """The CNN with the FCN's settings."""
        assert isinstance(network, ThresholdFCN)
        return ThresholdCNN(**{name: getattr(network, name) for name in ThresholdFCN.model_fields})

    def _fit(self, job: Job, state: Descent, place: int) -> Fit:
        found, network = super()._fit(job, state, place), job.network
        assert isinstance(network, ThresholdFCN)
        cnn: Any = self.trains(network)
        return replace(found, params=threshold_fcn(cnn, found.params, job.shape))
