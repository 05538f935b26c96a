"""The cost of training: operations in closed form, and measured seconds.

Operations are those of one training with one pair of step sizes: 3 forward passes (forward, and two products
backward) of 2 operations per weight, example and step; see ``flops`` of the network. Seconds are those of the
whole trial on one core, with sampling, testing and *all* step sizes tried; they depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

from whyconv.lazy import pd


@dataclass(frozen=True)
class TrainingCost:
    """Means over repetitions, and the best step sizes with their frequencies."""

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
    settings = ", ".join(f"{pair} ({count})" for pair, count in often)
    return TrainingCost(float(rows["train_flops"].mean()), seconds, settings)
