"""What training took: operations in closed form, and seconds as measured, beside the examples it took.

Operations are those of one training with one pair of step sizes: 3 forward passes (forward, and two products
back) of 2 operations a weight, example and step; see ``flops`` of the network. Seconds are those of the whole
trial on one core, with sampling, testing and *all* step sizes that were tried; they belong to the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TrainingCost:
    """Means over repetitions, and which step sizes were best, each as often as it was."""

    flops: float
    seconds: float
    settings: str


def training_cost(rows: pd.DataFrame) -> TrainingCost:
    """The cost of the trials in ``rows``, which share an architecture, a task and m."""
    seconds = float(rows["seconds"].mean()) if "seconds" in rows else nan
    if "rate" not in rows:
        return TrainingCost(float(rows["train_flops"].mean()), seconds, "")
    pairs = [f"{rate:g}/{bias:g}" for rate, bias in zip(rows["rate"], rows["bias_rate"], strict=True)]
    often = sorted({pair: pairs.count(pair) for pair in pairs}.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{pair} ({count})" for pair, count in often)
    return TrainingCost(float(rows["train_flops"].mean()), seconds, told)
