"""Projected and two-step descent of soft-threshold networks, in NumPy with gradients written by hand.

A second route that shares nothing with the learners *projected* and *two-step*. For
f(x) = sum_i phi_b(z_i), where the shape of the weights ``w`` determines the kind of network,

    (d,): CNN, z_i = <w, x_i>;    (k, d): LCN, z_i = <w_i, x_i>;    (k, k d): FCN, z_i = <w_i, x>  (k > 1),

and l' the derivative of the loss by f, the gradient of the mean loss has the parts
mean l' sum_i [|z_i| > b] x_i (for each filter over its own patches) and, for b,
-mean l' sum_i [|z_i| > b] sign(z_i).
"""

from __future__ import annotations

from typing import NamedTuple

from whyconv.lazy import Floats, np


class Network(NamedTuple):
    """The weights, whose shape determines the kind, and the threshold."""

    w: Floats
    b: float


def inner(w: Floats, x: Floats) -> Floats:
    """z, (examples, k), for inputs (examples, k, d)."""
    if w.ndim == 1:
        return x @ w
    if w.shape == x.shape[1:]:
        return (x * w).sum(axis=2)
    return x.reshape(len(x), -1) @ w.T


def scores(network: Network, x: Floats) -> Floats:
    """f(x)."""
    z = inner(network.w, x)
    return (np.sign(z) * np.maximum(np.abs(z) - network.b, 0)).sum(axis=1)


def gradient(network: Network, x: Floats, y: Floats, loss: str) -> Network:
    """The gradient of the mean loss: squared (y - f)^2, or correlation -y f."""
    w, b = network
    slope = -y if loss == "correlation" else 2 * (scores(network, x) - y)
    z = inner(w, x)
    pull = (slope[:, None] * (np.abs(z) > b)) / len(x)
    by_bias = -float((pull * np.sign(z)).sum())
    if w.ndim == 1:
        return Network(np.einsum("ni,nij->j", pull, x), by_bias)
    if w.shape == x.shape[1:]:
        return Network(np.einsum("ni,nij->ij", pull, x), by_bias)
    return Network(pull.T @ x.reshape(len(x), -1), by_bias)


def descend(
    start: Network, x: Floats, y: Floats, rate: float, bias_rate: float, steps: int, loss: str = "squared"
) -> Network:
    """Full-batch steps; after each, filters longer than 1 are scaled to 1, and b below 0 becomes 0."""
    w, b = start
    for _ in range(steps):
        slope = gradient(Network(w, b), x, y, loss)
        w = w - rate * slope.w
        w = w / np.maximum(1.0, np.sqrt((w**2).sum(axis=-1, keepdims=True)))
        b = max(b - bias_rate * slope.b, 0.0)
    return Network(w, b)


def two_steps(
    w: Floats,
    halves: tuple[tuple[Floats, Floats], tuple[Floats, Floats]],
    bias: float,
    rates: tuple[float, float],
    loss: str = "correlation",
    ball: bool = True,
) -> tuple[Floats, Floats]:
    """Filters after step one (b = 0) and step two (b = ``bias``), each on its half (x, y) of the examples.

    After each, filters longer than 1 are scaled to 1; without ``ball`` shorter ones, too.
    """
    found = []
    for (x, y), b, rate in zip(halves, (0.0, bias), rates, strict=True):
        w = w - rate * gradient(Network(w, b), x, y, loss).w
        length = np.sqrt((w**2).sum(axis=-1, keepdims=True))
        w = w / (np.maximum(length, 1.0) if ball else length)
        found.append(w)
    return found[0], found[1]
