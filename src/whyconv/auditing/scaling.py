"""Scaling of inputs, from training examples alone."""

from __future__ import annotations

from typing import NamedTuple

from whyconv.auditing.dataset import BadData
from whyconv.lazy import Floats, NDArray, np

WAYS = ("auto", "feature", "channel", "none")
SPREAD = 30.0
"""Features are scaled one by one if their spreads differ by more than this factor."""
CONSTANT = 1e-10
"""A feature whose spread is at most this share of its size is constant: its spread is rounding."""
ROWS = 4096
"""Rows per pass, so that no copy of the data is made."""


class Scaling(NamedTuple):
    """x -> (x - mean) / scale, on the grid (rows, columns, channels)."""

    mean: Floats
    scale: Floats

    def apply(self, x: NDArray) -> Floats:
        """Inputs (example, row, column, channel), scaled in float64."""
        return (np.asarray(x, np.float64) - self.mean) / self.scale


def scaling(x: NDArray, weights: Floats, way: str = "auto") -> Scaling:
    """The scaling of training inputs (example, row, column, channel), weighted.

    ``way``: *feature*, every number of an example for itself; *channel*, all positions of a channel alike,
    which keeps what differs between positions; *auto*, by feature if the largest spread is more than 30 times
    the smallest, else by channel; *none*. What is constant is only centred.
    """
    if way not in WAYS:
        raise BadData(f"scale = {way!r} was given; choose one of {', '.join(WAYS)}.")
    shape = x.shape[1:]
    if way == "none":
        return Scaling(np.zeros(shape), np.ones(shape))
    mean, variance = _moments(x, weights / weights.sum())
    spread = _spread(mean, variance)
    if way == "channel" or (
        way == "auto" and spread.max() <= SPREAD * spread[spread > 0].min(initial=np.inf)
    ):
        middle = mean.mean(axis=(0, 1))
        variance = (variance + (mean - middle) ** 2).mean(axis=(0, 1))
        mean, spread = np.broadcast_to(middle, shape), np.broadcast_to(_spread(middle, variance), shape)
    return Scaling(np.array(mean), np.where(spread > 0, spread, 1.0))


def _spread(mean: Floats, variance: Floats) -> Floats:
    """The standard deviation; 0 where it is rounding."""
    spread = np.sqrt(variance)
    return np.where(spread > CONSTANT * np.abs(mean), spread, 0.0)


def _moments(x: NDArray, shares: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of every number of an example."""
    parts = [slice(first, first + ROWS) for first in range(0, len(x), ROWS)]
    mean = sum(np.tensordot(shares[part], np.asarray(x[part], np.float64), 1) for part in parts)
    variance = sum(np.tensordot(shares[part], (x[part] - mean) ** 2, 1) for part in parts)
    return np.asarray(mean), np.asarray(variance)
