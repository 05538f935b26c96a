"""Depth-2 networks of bits and full-batch gradient descent on the hinge loss, by backpropagation.

One form holds the three architectures of Malach & Shalev-Shwartz (Definitions 1, 2 and 11):

    h(x) = sum_j <u^(j), sigma(W^(j) x_{window j} + b^(j))>

CNN: all windows of k consecutive bits, one W for all of them; LCN: the same windows, each with its own W;
FCN: a single window of all n bits. The paper sums over n - k windows; there are n - k + 1. The bias is not
trained, as in the paper. For the exact routes of claims, not for large networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from whyconv.lazy import Floats, NDArray, np, special
from whyconv.papers.malach.exact.k_patterns import cube


def tanh(z: Floats) -> Floats:
    return np.tanh(z)


def tanh_slope(z: Floats) -> Floats:
    return 1 - np.tanh(z) ** 2


def sigmoid(z: Floats) -> Floats:
    return special.expit(z)


def sigmoid_slope(z: Floats) -> Floats:
    return special.expit(z) * special.expit(-z)


SMOOTH = {"tanh": (tanh, tanh_slope), "sigmoid": (sigmoid, sigmoid_slope)}
"""sigma and sigma' by name; both have |sigma| <= 1 and |sigma'| <= 1."""


@dataclass(frozen=True)
class BitNetwork:
    """A network's windows and parameters; J windows of k bits, q filters.

    ``windows`` (J, k): which bits each window reads, in which order. ``filters`` W: (J, q, k), or
    (1, q, k) when all windows share them. ``bias`` b: like ``filters`` without its last axis.
    ``readout`` u: (J, q). ``activation`` and ``slope`` are sigma and sigma'.
    """

    windows: NDArray[np.int64]
    filters: Floats
    bias: Floats
    readout: Floats
    activation: Callable[[Floats], Floats] = tanh
    slope: Callable[[Floats], Floats] = tanh_slope

    def _read(self, inputs: Floats) -> tuple[Floats, Floats]:
        """The windows' contents (J, m, k) and the pre-activations (J, m, q)."""
        contents = np.moveaxis(inputs[:, self.windows], 0, 1)
        return contents, contents @ np.swapaxes(self.filters, 1, 2) + self.bias[:, None, :]

    def values(self, inputs: Floats) -> Floats:
        """h(x) for each row of ``inputs`` (m, n)."""
        return np.einsum("jmq,jq->m", self.activation(self._read(inputs)[1]), self.readout)

    def gradient(self, inputs: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """(dL/dW, dL/du) of L = mean max(1 - y h(x), 0) over the rows of ``inputs``.

        At the kink 1 - y h = 0 the subgradient -y is taken, as Theorem 12 needs for h in [-1, 1].
        Cost: m J q k multiplications.
        """
        contents, before = self._read(inputs)
        after = self.activation(before)
        h = np.einsum("jmq,jq->m", after, self.readout)
        blame = np.where(labels * h <= 1, -labels, 0.0) / len(labels)
        back = blame[:, None] * self.readout[:, None, :] * self.slope(before)
        filters = np.swapaxes(back, 1, 2) @ contents
        if len(self.filters) < len(self.windows):
            filters = filters.sum(axis=0, keepdims=True)
        return filters, np.einsum("jmq,m->jq", after, blame)

    def descend(self, inputs: Floats, labels: Floats, step: float, steps: int) -> Iterator[BitNetwork]:
        """The networks after 0, 1, ..., ``steps`` updates theta <- theta - ``step`` * gradient."""
        network = self
        yield network
        for _ in range(steps):
            filters, readout = network.gradient(inputs, labels)
            network = replace(
                network,
                filters=network.filters - step * filters,
                readout=network.readout - step * readout,
            )
            yield network


def all_inputs(n_bits: int) -> Floats:
    """The 2^n points of {-1, 1}^n; bit i of a row's number is set where x_i = -1.

    The cube of :mod:`.k_patterns` in another order, in which row numbers and masks of sets (:mod:`.juntas`)
    match as in Sylvester's matrix: chi_A(x) = (-1)^|x & A|. The first bits change fastest, so sums against
    their parity cancel early; in the cube's order partial sums grow, and the zeros of malach.nas would be
    rounded to about 1e-15.
    """
    return -cube(n_bits)[:, ::-1]


def consecutive(n_bits: int, k_window: int) -> NDArray[np.int64]:
    """The n - k + 1 windows of consecutive bits, (n - k + 1, k)."""
    return np.arange(n_bits - k_window + 1)[:, None] + np.arange(k_window)


def hinge(values: Floats, labels: Floats) -> float:
    """mean max(1 - y h, 0)."""
    return float(np.maximum(1 - labels * values, 0).mean())


def balanced(weights: Floats, bias: float, activation: Callable, slope: Callable) -> BitNetwork:
    """An FCN with each of the q rows of ``weights`` twice, once with readout +1 and once with -1.

    So h = 0 everywhere and all conditions of Theorem 12 hold with |u_i| = 1. The gradients of the first q
    neurons are those of these (w, b) with u = 1 in any network with h in [-1, 1].
    """
    both = np.concatenate([weights, weights])[None]
    signs = np.repeat([[1.0, -1.0]], len(weights))[None]
    return BitNetwork(
        np.arange(weights.shape[1])[None], both, np.full((1, both.shape[1]), bias), signs, activation, slope
    )


def descend_in_fractions(
    weights: Sequence[Sequence[Fraction]],
    bias: Sequence[Fraction],
    readout: Sequence[Fraction],
    examples: Sequence[tuple[tuple[int, ...], int]],
    step: Fraction,
    steps: int,
) -> list[tuple[list[list[Fraction]], list[Fraction], list[Fraction]]]:
    """Gradient descent of an FCN with sigma(z) = clip(z, 0, 1) in exact rational arithmetic.

    ``weights`` w^(i), ``bias`` b_i, ``readout`` u_i; ``examples`` pairs (x, y). Returns (w, u, predictions)
    after 0, ..., ``steps`` updates. sigma'(z) = 1 for 0 < z < 1, else 0; hinge kink as above. Nothing is
    rounded and no sum depends on its order. Cost: m q n fractions per step.
    """
    weights, readout = [list(row) for row in weights], list(readout)
    history = []
    for _ in range(steps + 1):
        filters = [[Fraction(0)] * len(row) for row in weights]
        top = [Fraction(0)] * len(readout)
        predictions = []
        for x, y in examples:
            before = [
                b + sum(w * bit for w, bit in zip(row, x, strict=True))
                for row, b in zip(weights, bias, strict=True)
            ]
            after = [min(max(z, Fraction(0)), Fraction(1)) for z in before]
            h = sum((u * a for u, a in zip(readout, after, strict=True)), Fraction(0))
            predictions.append(h)
            if y * h > 1:
                continue
            for i, z in enumerate(before):
                top[i] -= y * after[i]
                if 0 < z < 1:
                    filters[i] = [g - y * readout[i] * bit for g, bit in zip(filters[i], x, strict=True)]
        history.append(([list(row) for row in weights], list(readout), predictions))
        rate = step / len(examples)
        weights = [
            [w - rate * g for w, g in zip(row, slope, strict=True)]
            for row, slope in zip(weights, filters, strict=True)
        ]
        readout = [u - rate * g for u, g in zip(readout, top, strict=True)]
    return history
