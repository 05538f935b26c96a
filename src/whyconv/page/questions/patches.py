"""The contestants on inputs that are patches: FCN, LCN and CNN of one family, and ConvPool twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyconv.page.question import CROWNED, LOCALITY, POOLING, SHARING, TOGETHER, Knob
from whyconv.studies.worth import Step

FCN, LCN, CNN, AVERAGE, MAX = "FCN", "LCN", "CNN", "ConvPool average", "ConvPool"
SUMS = {
    "name": "projected", "optimiser": "adam", "rates": [0.1, 0.03], "bias_rates": [0.01], "steps": 300,
}  # fmt: skip
POOLS = {"name": "gradient", "epochs": 200, "rate": 0.003}
CHANNELS = 50
PRIORS = (
    Step(LOCALITY, FCN, LCN), Step(SHARING, LCN, CNN), Step(POOLING, AVERAGE, MAX), Step(CROWNED, CNN, MAX),
    Step(TOGETHER, FCN, CNN),
)  # fmt: skip
"""What pooling is worth is read from one network with the average and the largest response; ConvPool differs
from the CNN in more."""
NOTES = {CROWNED: "They differ in filters and training, too."}
POOLED = Knob(
    "pooling", "ConvPool takes the", "Average in place of the largest response: pooling is broken.", POOLING,
    {"max": "largest response", "average": "average response"},
)  # fmt: skip
PERMUTED = " Then all pixels are put in a random order, the same for every image."
RULE = (
    "FCN, LCN and CNN are sums of soft thresholds with the same training; they differ in what a unit "
    "sees and in what is shared. ConvPool pools 50 shared filters and is trained with Adam."
)


def arms(pooling: str) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Network and learner by name. With average pooling both ConvPools are the same network."""

    def pool(kind: str) -> dict[str, Any]:
        return {"name": "conv-pool", "channels": CHANNELS, "pooling": kind}

    return {
        FCN: ({"name": "lsa-fcn"}, SUMS),
        LCN: ({"name": "lsa-lcn"}, SUMS),
        CNN: ({"name": "lsa-cnn"}, SUMS),
        AVERAGE: (pool("average"), POOLS),
        MAX: (pool(pooling), POOLS),
    }
