"""The cost of the same task for a fully connected network (Brutzkus & Globerson, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

from whyconv.lazy import Floats, np
from whyconv.papers.brutzkus.exact import max_pooling


def linear_certificate(positions: int, places: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Proved (lower, upper) bound on min |w|^2 s.t. y w . x >= 1 when o_1, o_2 appear at ``places`` only.

    Upper: w = o_1 - o_2 at each place separates with margin 1. Lower: the dual 2 sum(lambda) -
    |sum lambda y x|^2 with weight 1 on the pair of inputs that have o_1, o_2 at one place and o_3
    elsewhere; the spurious parts of a pair cancel. Integer arithmetic on the vectors themselves. All
    places give 2n = 2 * ``positions`` (Proposition 6.1 states n: its |w . (o_1 - o_2)| <= 2 |w| can be
    sharpened to sqrt(2) |w|).
    """
    primal = np.zeros((positions, 3), dtype=object)
    dual = np.zeros((positions, 3), dtype=object)
    worst = Fraction(10**9)
    for place in places:
        primal[place] += np.array([1, -1, 0], dtype=object)
    for place in places:
        for label, sign in ((0, 1), (1, -1)):
            point = np.zeros((positions, 3), dtype=object)
            point[:, 2] = 1
            point[place] = [int(label == 0), int(label == 1), 0]
            dual += sign * point
            worst = min(worst, Fraction(int(sign * (primal * point).sum())))
    lower = Fraction(2 * 2 * len(places)) - Fraction(int((dual * dual).sum()))
    upper = Fraction(int((primal * primal).sum())) / worst**2
    return lower, upper


def update_bound(norm2: float, radius2: float, slope: float, step: float, start: float) -> float:
    """Bound on the non-zero SGD updates of a two-layer leaky-ReLU network on separable data (hinge loss).

    N(x) = sum_i a_i psi(w_i . x), psi(z) = max(slope z, z), k neurons with a_i = 1/sqrt(2k), k with
    -1/sqrt(2k), only w trained, step = eta. If |w*|^2 = ``norm2`` separates with margin 1 and
    |x|^2 <= ``radius2``, an update raises <W, W*> by at least sqrt(2k) eta slope and |W|^2 by at most
    2 eta + eta^2 radius2. With |W_0| = ``start`` Cauchy-Schwarz bounds the number t of updates by

        eta slope t <= B start + B sqrt(start^2 + t (2 eta + eta^2 R^2)),

    hence t <= 2 B start / (eta slope) + B^2 (R^2 + 2/eta) / slope^2, B^2 = norm2, R^2 = radius2. The
    argument of Brutzkus et al. (2018) with its constants written out; the number of neurons cancels.
    """
    return 2 * sqrt(norm2) * start / (step * slope) + norm2 * (radius2 + 2 / step) / slope**2


def update_bound_by_solving(norm2: float, radius2: float, slope: float, step: float, start: float) -> float:
    """The largest t that the inequality of :func:`update_bound` allows, by bisection; equal for start 0."""

    def allowed(t: float) -> bool:
        reach = sqrt(start**2 + t * (2 * step + step**2 * radius2))
        return step * slope * t <= sqrt(norm2) * (start + reach)

    low, high = 0.0, 1.0
    while allowed(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def leaky_values(weights: Floats, readout: Floats, inputs: Floats, slope: float) -> Floats:
    """Eq. 8 on each row of ``inputs``: N(x) = sum_i a_i psi(w_i . x), psi(z) = max(slope z, z)."""
    scores = inputs @ weights.T
    return np.maximum(slope * scores, scores) @ readout


def leaky_gradient(weights: Floats, readout: Floats, point: Floats, slope: float) -> Floats:
    """dN/dW at one input; psi'(0) = slope."""
    gate = np.where(weights @ point > 0, 1.0, slope)
    return np.outer(readout * gate, point)


def count_updates(
    rng: np.random.Generator,
    positions: int,
    patterns: int,
    *,
    neurons: int = 20,
    slope: float = 0.5,
    step: float = 100.0,
    start: float = 1e-3,
    quiet: int = 2000,
    copies: int = 1,
    power: float = 0.5,
) -> int:
    """Non-zero updates of SGD on fresh examples until ``quiet`` examples in a row have hinge loss zero.

    The network of :func:`update_bound`, with ``neurons`` = 2k and Gaussian W_0 scaled to norm ``start``,
    on the paper's distribution in pattern coordinates (inner products are those of any orthonormal
    patterns). Examples are scored in blocks up to the next one that needs an update. Each ``copies`` neurons
    start equal; they stay equal, and act as one neuron of the network with that many times fewer.
    The readout is +-``neurons``^-``power``; the bound is for 1/2.
    """
    weights = rng.standard_normal((neurons // copies, positions * patterns))
    weights = np.repeat(weights, copies, axis=0)
    weights *= start / np.linalg.norm(weights)
    readout = np.where(np.arange(neurons) < neurons // 2, 1.0, -1.0) / neurons**power
    updates = silent = 0
    while silent < quiet:
        indices, labels = max_pooling.sample(rng, 500, positions, patterns)
        inputs = np.eye(patterns)[indices].reshape(len(labels), -1)
        first = 0
        while first < len(labels):
            values = leaky_values(weights, readout, inputs[first:], slope)
            short = np.nonzero(labels[first:] * values < 1)[0]
            if len(short) == 0:
                silent += len(labels) - first
                break
            index = first + int(short[0])
            weights += step * labels[index] * leaky_gradient(weights, readout, inputs[index], slope)
            updates, silent, first = updates + 1, 0, index + 1
    return updates


def count_updates_by_kernel(
    rng: np.random.Generator,
    positions: int,
    patterns: int,
    *,
    neurons: int = 20,
    slope: float = 0.5,
    step: float = 100.0,
    start: float = 1e-3,
    quiet: int = 2000,
) -> int:
    """The same from the same draws without weights: an update adds step y a_i psi' x . x' to neuron i's
    score.

    x . x' is the number of positions at which two inputs have the same pattern. The scores of a block are
    kept; those of later blocks are rebuilt from all updates so far.
    """
    first = rng.standard_normal((neurons, positions * patterns)).reshape(neurons, positions, patterns)
    first *= start / np.linalg.norm(first)
    output = np.repeat([1.0, -1.0], [neurons // 2, neurons - neurons // 2]) / sqrt(neurons)
    past, moves, silent = np.zeros((0, positions), int), np.zeros((neurons, 0)), 0
    while silent < quiet:
        block, labels = max_pooling.sample(rng, 500, positions, patterns)
        scores = first[:, np.arange(positions), block].sum(axis=2)
        scores += moves @ (past[:, None] == block).sum(axis=2)
        for index, (example, label) in enumerate(zip(block, labels, strict=True)):
            own = scores[:, index]
            if label * float(output @ np.where(own > 0, own, slope * own)) >= 1:
                silent += 1
                continue
            silent = 0
            move = step * label * output * np.where(own > 0, 1.0, slope)
            past, moves = np.vstack([past, example]), np.column_stack([moves, move])
            scores += np.outer(move, (example == block).sum(axis=1))
    return moves.shape[1]
