"""The max-pooling network of Brutzkus & Globerson on real inputs, position by position.

Sections 3 and 5 taken literally: vectors in R^d, explicit positions, explicit maxima. It shares no code
with :mod:`whyconv.exact.pattern_sets`, which answers the same questions through sets of patterns; claims
compare the two.

``positions`` = n, ``pattern_dim`` = d, ``patterns`` = l, ``channels`` = k. An input is first a row of
pattern indices (0 for o_1, 1 for o_2, 2... for the spurious ones) and becomes a vector by :func:`embed`.
"""

from __future__ import annotations

import itertools

from whyconv.lazy import Floats, Ints, np


def random_patterns(rng: np.random.Generator, patterns: int, pattern_dim: int) -> Floats:
    """``patterns`` orthonormal rows in R^``pattern_dim``, uniform among such families."""
    square = rng.standard_normal((pattern_dim, pattern_dim))
    unitary, upper = np.linalg.qr(square)
    return (unitary * np.sign(np.diag(upper))).T[:patterns]


def sample(rng: np.random.Generator, size: int, positions: int, patterns: int) -> tuple[Ints, Ints]:
    """Independent draws as in section 3: (pattern indices (size, positions), labels +-1)."""
    labels = rng.choice([1, -1], size)
    return sample_given(rng, labels, positions, patterns), labels


def sample_given(rng: np.random.Generator, labels: Ints, positions: int, patterns: int) -> Ints:
    """Pattern indices of inputs with the given labels: spurious everywhere, then o_1 or o_2 at one place."""
    size = len(labels)
    indices = rng.integers(2, patterns, (size, positions))
    indices[np.arange(size), rng.integers(0, positions, size)] = np.where(labels == 1, 0, 1)
    return indices


def support(positions: int, patterns: int) -> tuple[Ints, Ints]:
    """All inputs of positive probability; the distribution is uniform on them.

    2 n (l-2)^(n-1) rows of pattern indices, and their labels.
    """
    rest = list(itertools.product(range(2, patterns), repeat=positions - 1))
    rows = [
        (*spurious[:place], label, *spurious[place:])
        for label in (0, 1)
        for place in range(positions)
        for spurious in rest
    ]
    labels = np.repeat([1, -1], len(rows) // 2)
    return np.array(rows, dtype=np.int64), labels.astype(np.int64)


def embed(indices: Ints, basis: Floats) -> Floats:
    """Inputs x in R^(positions x pattern_dim) from pattern indices; ``basis`` holds o_1, ..., o_l in rows."""
    return basis[indices]


def pooled(filters: Floats, inputs: Floats) -> Floats:
    """z_i(x) = max_j ReLU(w_i . x[j]), shape (inputs, channels)."""
    best = inputs[:, 0] @ filters.T
    for place in range(1, inputs.shape[1]):
        np.maximum(best, inputs[:, place] @ filters.T, out=best)
    return np.maximum(best, 0.0, out=best)


def forward(filters: Floats, readout: Floats, inputs: Floats) -> Floats:
    """Eq. 1: N(x) = sum_i a_i max_j ReLU(w_i . x[j]); ``filters`` (k, d), ``inputs`` (m, n, d)."""
    return pooled(filters, inputs) @ readout


def error_rate(values: Floats, labels: Ints) -> float:
    """Share of inputs with sign N(x) != y, where sign(0) = -1."""
    return float(np.mean(np.where(values > 0, 1, -1) != labels))
