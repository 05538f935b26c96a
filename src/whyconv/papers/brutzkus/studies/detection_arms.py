"""The contestants of Brutzkus & Globerson, section 7, with the sizes of the paper."""

from __future__ import annotations

from typing import Any

CONV_POOL, MLP, SVM, SCRAMBLED = "ConvPool", "MLP", "SVM", "ConvPool, scrambled input"
BASELINES = (MLP, SVM)

RULE = (
    "Every network: Adam, rate 1e-3, batches of 32, He initialisation, stopped at training loss <= 1e-3 or "
    "after 2000 epochs. 500 channels are fewer than the theorem's 8 d^3 = 64,000. SVM: hard margin if the "
    "sample is proved separable, tuned soft margin otherwise."
)


def arms() -> dict[str, Any]:
    """ConvPool, the MLP with as many parameters, the SVM, and ConvPool on scrambled coordinates."""
    return {
        CONV_POOL: {"network": "conv-pool", "learner": "gradient"},
        MLP: {"network": "mlp", "learner": "gradient", "matches": CONV_POOL},
        SVM: {"learner": "svm"},
        SCRAMBLED: {
            "network": "conv-pool",
            "learner": "gradient",
            "task": {"scrambled": True},
            "largest_m": 320,
        },
    }
