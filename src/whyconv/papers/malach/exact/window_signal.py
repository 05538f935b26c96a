"""The gradient that a CNN's windows get from a target at u = 0 (Malach & Shalev-Shwartz, section 5).

At u = 0 the network is 0, so for uniform bits dL/du^(j) = -E[f(x) sigma(W x_window + b)], and dL/dW = 0. Of
the target's Fourier expansion only the sets A inside the window count: E = sum_{A in window} f^(A) s^(A).
A parity has the single set I, so a window that does not contain all of I gets exactly 0; a majority has all
its single bits, so every window that meets I gets a signal. ``subset`` = I; ``windows``: a row of bits for
each window.
"""

from __future__ import annotations

from collections.abc import Callable

from whyconv.lazy import Floats, Ints, NDArray, np
from whyconv.papers.malach.exact import bit_networks, juntas

Target = Callable[[NDArray], NDArray]
"""Labels -1, 1 from the bits of I, a row for each input."""


def parity(bits: NDArray) -> NDArray:
    return bits.prod(axis=1)


def majority(bits: NDArray) -> NDArray:
    """The sign of the sum, -1 at a tie, as in :func:`.k_patterns.target`."""
    return 1 - 2 * (bits.sum(axis=1) <= 0)


def nearly_parity(bits: NDArray) -> NDArray:
    """The parity, with the other sign where all bits of I are 1: every set inside I has a coefficient."""
    return bits.prod(axis=1) * (1 - 2 * (bits.min(axis=1) > 0))


def by_backpropagation(target: Target, subset: Ints, windows: Ints, n_bits: int, seed: int) -> Floats:
    """For each window the largest |dL/du^(j)| over 8 shared tanh filters N(0, 1), biases N(0, 1/4)."""
    rng = np.random.default_rng(seed)
    filters, bias = rng.normal(size=(1, 8, windows.shape[1])), rng.normal(0, 0.5, (1, 8))
    network = bit_networks.BitNetwork(windows, filters, bias, np.zeros((len(windows), 8)))
    inputs = bit_networks.all_inputs(n_bits)
    return np.abs(network.gradient(inputs, target(inputs[:, subset]))[1]).max(axis=1)


def in_integers(target: Target, subset: Ints, windows: Ints, n_bits: int) -> Ints:
    """For each window max_z |sum of f(x) over the inputs x whose window content is z|, exact.

    Divided by w 2^n, w the window's width, it is the largest |dL/du^(j)| of the paper's filters +-1/w with
    b = 1/w - 1, each of which gives 1/w on one content and 0 on all others. Cost 2^(n+w) per window.
    """
    codes = np.arange(2**n_bits)
    labels = target(1 - 2 * ((codes[:, None] >> subset) & 1)).astype(np.int64)
    content = ((codes[:, None, None] >> windows) & 1) @ (1 << np.arange(windows.shape[1]))
    matches = content[:, :, None] == np.arange(2 ** windows.shape[1])
    return np.abs(np.einsum("x,xvz->vz", labels, matches)).max(axis=1)


def orders_that_show(target: Target, subset: Ints, n_bits: int, width: int) -> int:
    """How many of the n! orders of the bits have a window of ``width`` bits that gets a signal."""
    windows = juntas.subsets(n_bits, width)
    seen = np.zeros(2**n_bits, dtype=bool)
    seen[juntas.masks(windows)] = in_integers(target, subset, windows, n_bits) > 0
    return int(seen[juntas.window_masks(juntas.all_orders(n_bits), width)].any(axis=1).sum())
