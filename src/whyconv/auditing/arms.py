"""The architectures that an audit compares, and the questions that it asks of them.

Every arm reads inputs (rows, columns, channels) with the project's own networks (:mod:`.networks.deep`):

==================  =====================================================================================
FCN                 every unit sees everything; the better of two widths
LCN                 windows, each with filters of its own: locality
CNN                 windows with the same filters everywhere: locality and sharing
LCN + max           the largest of neighbouring windows counts: locality and pooling
CNN + max           all three
CNN + global max    all three; only the largest of all windows counts
bag                 windows of one place, the largest counts: blind to the order
==================  =====================================================================================

The questions, fixed before any planted truth was looked at. One ladder, each step adds one prior, so that
the steps have their ends in common and *together* is the whole ladder:

- locality: FCN, then LCN;
- sharing: LCN, then CNN, both without pooling;
- pooling: CNN, then the pooled CNN (of neighbouring or of all windows: the better one in tuning);
- together: FCN, then the pooled CNN.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

FCN, LCN, CNN, BAG = "FCN", "LCN", "CNN", "bag"
LOCAL_MAX, SHARED_MAX, GLOBAL_MAX = "LCN + max", "CNN + max", "CNN + global max"
LOCAL_MEAN, SHARED_MEAN, GLOBAL_MEAN = "LCN + average", "CNN + average", "CNN + global average"
ARMS = (FCN, LCN, CNN, LOCAL_MAX, SHARED_MAX, GLOBAL_MAX, BAG, LOCAL_MEAN, SHARED_MEAN, GLOBAL_MEAN)
USUAL = ARMS[:7]
POOLED = (SHARED_MAX, GLOBAL_MAX, SHARED_MEAN, GLOBAL_MEAN)
"""Arms that may stand for the pooled CNN."""
WIDTHS = (128, 512)
"""Hidden units of the FCN."""
DEEP = 16
"""Images of this many pixels in both directions get two layers."""
POSITIONS = 64
"""A line has at most about this many windows."""


def windows(grid: tuple[int, int, int]) -> tuple[int, ...]:
    """The widths to choose from: 3 and a sixteenth, an eighth, a quarter of the length, those above 2."""
    rows, columns, _ = grid
    length = columns if rows == 1 else min(rows, columns)
    found = {3, *(round(length / part) for part in (16, 8, 4))}
    return tuple(sorted(min(width, length) for width in found if width > 2))


def networks(
    grid: tuple[int, int, int], outputs: int, window: int, channels: int
) -> Mapping[str, Mapping[str, Any]]:
    """The arms with windows of this width; the FCN's two widths are two entries, *FCN 128* and *FCN 512*."""
    rows, columns, _ = grid
    line = rows == 1
    deep = not line and min(rows, columns) >= DEEP
    depth = 2 if deep else 1
    if line:
        kernel, stride, pool = [1, window], [1, ceil(columns / POSITIONS)], 4
    elif deep:
        kernel, stride, pool = window, max(2, ceil(max(rows, columns) / 16)), 2
    else:
        kernel, stride, pool = window, 1, 2
    common = {"channels": [channels] * depth, "kernel": kernel, "stride": stride, "padding": "same"}
    common["outputs"] = outputs
    local, shared = {"name": "deep-lcn", **common}, {"name": "deep-cnn", **common}
    mean = {"pooling": "average"}
    bag = {"name": "deep-cnn", "channels": [4 * channels], "kernel": 1, "outputs": outputs, "readout": "max"}
    return {
        **{
            f"{FCN} {width}": {"name": "deep-fcn", "widths": [width] * depth, "outputs": outputs}
            for width in WIDTHS
        },
        LCN: local, CNN: shared,
        LOCAL_MAX: {**local, "pool": pool}, SHARED_MAX: {**shared, "pool": pool},
        GLOBAL_MAX: {**shared, "readout": "max"}, BAG: bag,
        LOCAL_MEAN: {**local, "pool": pool, **mean}, SHARED_MEAN: {**shared, "pool": pool, **mean},
        GLOBAL_MEAN: {**shared, "readout": "average"},
    }  # fmt: skip


def contrasts(pooled: str) -> dict[str, tuple[str, str]]:
    """The arm without and the arm with each prior."""
    return {
        "locality": (FCN, LCN), "sharing": (LCN, CNN), "pooling": (CNN, pooled), "together": (FCN, pooled)
    }  # fmt: skip
