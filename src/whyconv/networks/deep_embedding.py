"""Exact embeddings of deep networks: every CNN as an LCN, and every LCN as an FCN, with equal outputs.

As for one layer (:mod:`whyconv.networks.embedding`): copied filters, then zeros outside the window. Layer by
layer, a neuron of the FCN is a channel at a position. Averages are linear, so average pooling and readout
become part of the next layer's weights. A maximum of k neurons takes ceil(log2 k) extra layers of pairwise
max(a, b) = relu(a - b) + relu(b), which holds for b >= 0, as after ReLU.
"""

from __future__ import annotations

import math
from typing import Any

from whyconv.errors import UserError
from whyconv.lazy import jax, jnp, linalg, np
from whyconv.networks._patches import Pair, Windows, pooled_counts
from whyconv.networks.deep import DeepCNN, DeepFCN, DeepLCN

Params = dict[str, Any]
SHARED = ("outputs", "biases", "channels", "kernel", "stride", "padding", "pool", "pooling", "readout")


def as_deep_lcn(network: DeepCNN, params: Params, shape: tuple[int, ...]) -> tuple[DeepLCN, Params]:
    """A deep CNN or partly shared network as an LCN; ``shape`` is the shape of an input."""
    groups = [network.group_of(layer.windows.counts) for layer in network.layers(shape)]
    copied = {
        name: [jnp.asarray(np.asarray(part)[group]) for part, group in zip(params[name], groups, strict=True)]
        for name in ("w", "b")
        if name in params
    }
    return DeepLCN(**{name: getattr(network, name) for name in SHARED}), {**params, **copied}


def as_deep_fcn(network: DeepCNN, params: Params, shape: tuple[int, ...]) -> tuple[DeepFCN, Params]:
    """A deep network over windows as a fully connected one, with positions * channels neurons per layer."""
    if network.pool > 1 and network.pooling not in ("max", "average"):
        raise UserError(
            f"pooling = {network.pooling} was given, but ReLUs can express max and average only; take one "
            "of these."
        )
    lcn, local = as_deep_lcn(network, params, shape)
    reading, channels = np.eye(math.prod(shape)), shape[2]
    weights, biases = [], []
    for number, layer in enumerate(lcn.layers(shape)):
        weights.append(dense(layer.windows, np.asarray(local["w"][number]), channels) @ reading)
        biases.append(np.ravel(local["b"][number]) if lcn.biases else np.zeros(0))
        channels = layer.channels
        pooling = averages(layer.windows.counts, lcn.pool)
        if lcn.pooling == "average" or lcn.pool == 1:
            reading = np.kron(pooling, np.eye(channels))
        else:
            groups = np.argmax(pooling > 0, axis=0)[:, None] * channels + np.arange(channels)
            reading = _largest(np.eye(groups.size), groups.ravel(), weights, biases)
    u = np.moveaxis(np.asarray(params["u"]), 1, 0)
    positions = len(reading) // channels
    if lcn.readout == "average":
        u = np.repeat(u / positions, positions, axis=1)
    elif lcn.readout == "max":
        reading = _largest(reading, np.tile(np.arange(channels), positions), weights, biases)
    full: Params = {"w": weights, "u": u.reshape(lcn.outputs, -1) @ reading}
    if lcn.biases:
        full |= {"b": biases, "c": params["c"]}
    fcn = DeepFCN(widths=tuple(map(len, weights)), outputs=lcn.outputs, biases=lcn.biases)
    return fcn, jax.tree.map(lambda part: jnp.asarray(part, params["u"].dtype), full)


def _largest(
    reading: np.ndarray, groups: np.ndarray, weights: list[np.ndarray], biases: list[np.ndarray]
) -> np.ndarray:
    """Append layers that find the largest number of every group; return the matrix that reads these maxima.

    ``reading`` (numbers, neurons) reads the numbers, all nonnegative, off the last layer so far; ``groups``
    holds the group of each, from 0. Numbers are compared in pairs; an odd one is passed on.
    """
    items = [reading[groups == group] for group in range(groups.max() + 1)]
    while max(map(len, items)) > 1:
        rows, sums = [], []
        for each in items:
            half = len(each) // 2
            one, other, odd = each[:half], each[half : 2 * half], each[2 * half :]
            rows += [one - other, other, odd]
            sums.append(linalg.block_diag(np.tile(np.eye(half), 2), np.eye(len(odd))))
        weights.append(np.concatenate(rows))
        biases.append(np.zeros(len(weights[-1])))
        items = np.split(linalg.block_diag(*sums), np.cumsum([len(each) for each in sums])[:-1])
    return np.concatenate(items)


def dense(windows: Windows, filters: np.ndarray, channels: int) -> np.ndarray:
    """The matrix of a layer whose position p has the filters ``filters[p]``, (channels, window).

    Rows: position, channel; columns: pixel, channel of the previous layer.
    """
    positions, outputs, _ = filters.shape
    matrix = np.zeros((positions, outputs, math.prod(windows.image) + 1, channels))
    parts = filters.reshape(positions, outputs, -1, channels)
    matrix[np.arange(positions)[:, None], :, windows.places()] = np.swapaxes(parts, 1, 2)
    return matrix[:, :, :-1].reshape(positions * outputs, -1)  # -1, the last pixel, was outside


def averages(image: Pair, size: int) -> np.ndarray:
    """The matrix of average pooling, (pooled positions, positions)."""
    rows, columns = (np.arange(length) // size for length in image)
    counts = pooled_counts(image, size)
    group = (rows[:, None] * counts.shape[1] + columns).ravel()
    return (np.arange(counts.size)[:, None] == group) / counts.reshape(-1, 1)
