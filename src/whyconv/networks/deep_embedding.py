"""Exact embeddings of deep networks: every CNN is an LCN, and every LCN an FCN, with equal outputs.

As for one layer (:mod:`whyconv.networks.embedding`): copied filters, then zeros outside the window. Layer by
layer, a neuron of the FCN is a channel at a position. Averages are linear, so that pooling and readout by
average become part of the next layer's weights; a maximum is not, and has no such network.
"""

from __future__ import annotations

import math
from typing import Any

from whyconv.lazy import jax, jnp, np
from whyconv.networks._patches import Pair, Windows, pooled_counts
from whyconv.networks.deep import DeepCNN, DeepFCN, DeepLCN

Params = dict[str, Any]
SHARED = ("outputs", "biases", "channels", "kernel", "stride", "padding", "pool", "pooling", "readout")


def as_deep_lcn(network: DeepCNN, params: Params, shape: tuple[int, ...]) -> tuple[DeepLCN, Params]:
    """A deep CNN, or anything between, as a locally connected network; ``shape`` is that of an input."""
    groups = [network.group_of(layer.windows.counts) for layer in network.layers(shape)]
    copied = {
        name: [jnp.asarray(np.asarray(part)[group]) for part, group in zip(params[name], groups, strict=True)]
        for name in ("w", "b")
        if name in params
    }
    return DeepLCN(**{name: getattr(network, name) for name in SHARED}), {**params, **copied}


def as_deep_fcn(network: DeepCNN, params: Params, shape: tuple[int, ...]) -> tuple[DeepFCN, Params]:
    """A deep network over windows as a fully connected one with positions * channels neurons a layer."""
    if network.readout == "max" or (network.pool > 1 and network.pooling == "max"):
        raise ValueError("a maximum over neurons is no ReLU layer; take pooling and readout by average")
    lcn, local = as_deep_lcn(network, params, shape)
    reading, channels, weights = np.eye(math.prod(shape)), shape[2], []
    for layer, filters in zip(lcn.layers(shape), local["w"], strict=True):
        weights.append(dense(layer.windows, np.asarray(filters), channels) @ reading)
        channels = layer.channels
        reading = np.kron(averages(layer.windows.counts, lcn.pool), np.eye(channels))
    u = np.moveaxis(np.asarray(params["u"]), 1, 0)
    if lcn.readout == "average":
        positions = len(reading) // channels
        u = np.repeat(u / positions, positions, axis=1)
    full = {"w": weights, "u": u.reshape(lcn.outputs, -1) @ reading}
    if lcn.biases:
        full |= {"b": [np.ravel(part) for part in local["b"]], "c": params["c"]}
    fcn = DeepFCN(widths=tuple(map(len, weights)), outputs=lcn.outputs, biases=lcn.biases)
    return fcn, jax.tree.map(lambda part: jnp.asarray(part, params["u"].dtype), full)


def dense(windows: Windows, filters: np.ndarray, channels: int) -> np.ndarray:
    """The matrix of a layer whose position p has the filters ``filters[p]``, (channels, window).

    Rows: position, channel; columns: pixel, channel of the layer before.
    """
    positions, outputs, _ = filters.shape
    matrix = np.zeros((positions, outputs, math.prod(windows.image) + 1, channels))
    parts = filters.reshape(positions, outputs, -1, channels)
    matrix[np.arange(positions)[:, None], :, windows.places()] = np.swapaxes(parts, 1, 2)
    return matrix[:, :, :-1].reshape(positions * outputs, -1)  # -1, the last pixel, was outside


def averages(image: Pair, size: int) -> np.ndarray:
    """The matrix of pooling by average, (pooled positions, positions)."""
    rows, columns = (np.arange(length) // size for length in image)
    counts = pooled_counts(image, size)
    group = (rows[:, None] * counts.shape[1] + columns).ravel()
    return (np.arange(counts.size)[:, None] == group) / counts.reshape(-1, 1)
