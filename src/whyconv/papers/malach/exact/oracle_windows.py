"""The networks of :mod:`.window_descent`, implemented literally from the paper with all q filters.

Malach & Shalev-Shwartz, Definitions 1 and 11 with n - k + 1 windows, and the gradients of the proof of
Lemma 8: loops over inputs and windows, vectors over filters, no tables, no multiplicities. Slow but easy to
verify; it shares no code with the compressed descent and must give the same trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import Floats, np


@dataclass
class PlainNetwork:
    """h(x) = sum_j <u^(j), sigma(W^(j) x_{j..j+k-1} + b)>, sigma(z) = clip(z + shift, 0, cap).

    ``filters`` (banks, q, k): one bank shared by all windows (CNN) or one for each (LCN); ``readout``
    (windows, q); ``bias`` = b_i, the same for all filters.
    """

    filters: Floats
    readout: Floats
    bias: float
    cap: float = 1.0
    shift: float = 0.0

    def bank(self, window: int) -> int:
        """Which bank of filters reads this window."""
        return window if len(self.filters) > 1 else 0

    def inner(self, bits: Floats, window: int) -> Floats:
        """W^(j) x_{j..j+k-1} + b + shift, the argument of the clip; shape (q,)."""
        k_window = self.filters.shape[2]
        return self.filters[self.bank(window)] @ bits[window : window + k_window] + self.bias + self.shift

    def value(self, bits: Floats, readout: Floats | None = None) -> float:
        """h(x) for x = ``bits``, with another readout if given."""
        chosen = self.readout if readout is None else readout
        return float(sum(u @ np.clip(self.inner(bits, j), 0, self.cap) for j, u in enumerate(chosen)))

    def loss(self, examples: list[tuple[Floats, float, float]], readout: Floats | None = None) -> float:
        """sum of P(x) max(1 - y h(x), 0) over ``examples`` (x, y, P(x))."""
        return sum(p * max(1 - y * self.value(x, readout), 0.0) for x, y, p in examples)

    def gradient(self, examples: list[tuple[Floats, float, float]]) -> tuple[Floats, Floats]:
        """dL/du and dL/dW; the hinge's subgradient at margin 1 and sigma' at both kinks are 0."""
        by_readout, by_filter = np.zeros_like(self.readout), np.zeros_like(self.filters)
        k_window = self.filters.shape[2]
        for x, y, p in examples:
            if 1 - y * self.value(x) <= 0:
                continue
            for j, u in enumerate(self.readout):
                z = self.inner(x, j)
                rising = u * ((z > 0) & (z < self.cap))
                by_readout[j] -= p * y * np.clip(z, 0, self.cap)
                by_filter[self.bank(j)] -= p * y * np.outer(rising, x[j : j + k_window])
        return by_readout, by_filter


@dataclass(frozen=True)
class PlainPath:
    """The record of one run: as in :class:`.window_descent.Path`, without the axis of runs."""

    loss: Floats
    readout_norms: Floats
    drift: Floats
    gradients: Floats
    probe_loss: Floats


def descend(
    network: PlainNetwork,
    examples: list[tuple[Floats, float, float]],
    step: float,
    steps: int,
    probes: tuple[Floats, ...] = (),
) -> PlainPath:
    """Plain gradient descent; changes ``network``. Cost per step: examples * windows * q * k, in loops."""
    first = network.filters.copy()
    loss, norms, drift, gradients, probe_loss = [], [], [], [], []
    for t in range(steps + 1):
        loss.append(network.loss(examples))
        norms.append([np.linalg.norm(u) for u in network.readout])
        drift.append([np.linalg.norm(now - then) for now, then in zip(network.filters, first, strict=True)])
        probe_loss.append([network.loss(examples, probe) for probe in probes])
        if t == steps:
            break
        by_readout, by_filter = network.gradient(examples)
        gradients.append(np.linalg.norm(by_readout))
        network.readout = network.readout - step * by_readout
        network.filters = network.filters - step * by_filter
    return PlainPath(*(np.array(each) for each in (loss, norms, drift, gradients, probe_loss)))
