"""The pattern-detection distribution as sets of patterns, which is all that a max-pooling network sees.

Brutzkus & Globerson (section 3) draw ``x = (x[1], ..., x[n])`` with one discriminative pattern (o_1 if
the label is +1, o_2 if it is -1) and n - 1 spurious patterns, independent and uniform on o_3, ..., o_l.
Their network (Eq. 1) takes a maximum over positions, so it depends on x only through the *set* of its
patterns: the label's pattern and the spurious set T. There are 2 (2^(l-2) - 1) of them with a known law, so
test errors and margins over the whole distribution are sums, not samples.

Throughout: ``positions`` = n, ``patterns`` = l, ``channels`` = k. A spurious set is the bit mask whose
bit j stands for o_{j+3}. ``scores`` is the matrix (channels, patterns) of products w_i . o_j; row 0 of
an array with a leading axis of two belongs to the label +1, row 1 to the label -1.
"""

from __future__ import annotations

from math import comb

from whyconv.lazy import Floats, Ints, NDArray, np

_BLOCK = 1 << 22
"""Entries of one table of maxima (32 MB); larger problems are split by channels."""


def surjections(source: int, target: int) -> int:
    """Number of maps of ``source`` elements onto ``target`` elements: sum_j (-1)^(s-j) C(s,j) j^a."""
    return sum((-1) ** (target - j) * comb(target, j) * j**source for j in range(target + 1))


def law(positions: int, patterns: int) -> Floats:
    """Probability of every spurious set T given the label (the same for both labels).

    P(T) = surj(n-1, |T|) / (l-2)^(n-1), n = ``positions``, l = ``patterns``; shape (2^(l-2),). Integers
    until the last division, so every entry is correctly rounded. Cost 2^(l-2); meant for l <= 20.
    """
    spurious = patterns - 2
    ways = [surjections(positions - 1, size) for size in range(spurious + 1)]
    by_size = np.array([way / spurious ** (positions - 1) for way in ways])
    return by_size[np.bitwise_count(np.arange(1 << spurious))]


def joint_law(positions: int, patterns: int) -> Floats:
    """Probability of (label, T), shape (2, 2^(l-2)): half of :func:`law` for each label."""
    return np.stack([law(positions, patterns)] * 2) / 2


def draw_counts(rng: np.random.Generator, samples: int, positions: int, patterns: int) -> Ints:
    """How often each (label, T) occurs in ``samples`` independent draws: one multinomial draw.

    The cost does not depend on ``samples``.
    """
    cells = joint_law(positions, patterns)
    return rng.multinomial(samples, cells.ravel() / cells.sum()).reshape(cells.shape)


def count(indices: Ints, labels: Ints, patterns: int) -> Ints:
    """How often each (label, T) occurs in inputs given as rows of pattern indices; shape (2, 2^(l-2))."""
    bits = np.where(indices >= 2, 1 << np.maximum(indices - 2, 0), 0)
    masks = np.bitwise_or.reduce(bits, axis=1)
    table = np.zeros((2, 1 << (patterns - 2)), dtype=np.int64)
    np.add.at(table, (np.where(labels == 1, 0, 1), masks), 1)
    return table


def subset_max(scores: Floats) -> Floats:
    """max(0, max_{j in T} scores[:, j]) for every T: shape (channels, 2^s) from (channels, s).

    By doubling: the sets whose largest member is j are the sets below 2^j with j added, so each entry
    costs one maximum. The floor 0 is the ReLU of Eq. 1.
    """
    channels, size = scores.shape
    table = np.zeros((channels, 1 << size))
    for j in range(size):
        np.maximum(table[:, : 1 << j], scores[:, j, None], out=table[:, 1 << j : 2 << j])
    return table


def features(scores: Floats) -> Floats:
    """Pooled activations z_i = max_j ReLU(w_i . x[j]) on every (label, T); shape (2, 2^(l-2), channels)."""
    spurious = subset_max(scores[:, 2:])
    return np.stack([np.maximum(spurious, scores[:, label, None]).T for label in (0, 1)])


def outputs(scores: Floats, readout: Floats) -> Floats:
    """The network N = sum_i a_i z_i (Eq. 1) on every (label, T); shape (2, 2^(l-2)).

    a = ``readout``. Cost channels * 2^(l-2), memory bounded by working through blocks of channels.
    """
    size = scores.shape[1] - 2
    step = max(1, _BLOCK >> size)
    total = np.zeros((2, 1 << size))
    for first in range(0, len(scores), step):
        block = scores[first : first + step]
        spurious = subset_max(block[:, 2:])
        for label in (0, 1):
            total[label] += readout[first : first + step] @ np.maximum(spurious, block[:, label, None])
    return total


def exact_error(scores: Floats, readout: Floats, positions: int) -> float:
    """Exact P(sign N(x) != y) under the paper's distribution, with the paper's sign(0) = -1.

    The sum of :func:`joint_law` over the pairs (label, T) that the network misclassifies. An output within
    rounding of zero counts by its computed sign.
    """
    positive, negative = outputs(scores, readout)
    wrong = np.stack([positive <= 0, negative > 0])
    return float(joint_law(positions, scores.shape[1])[wrong].sum())


def error_range(scores: Floats, readout: Floats, positions: int, doubt: float = 0.0) -> tuple[float, float]:
    """Least and largest :func:`exact_error` of all readouts a' with |a' - a| <= ``doubt`` |a|.

    No decision depends on the last bit: a set whose output has no certain sign (:func:`unsure`) counts as
    right in the least error and as wrong in the largest. Memory: channels * 2^(l-1) numbers.
    """
    pooled = features(scores)
    values = pooled @ readout
    wrong, open_ = np.stack([values[0] <= 0, values[1] > 0]), unsure(pooled, readout, doubt)
    chances = joint_law(positions, scores.shape[1])
    return float(chances[wrong & ~open_].sum()), float(chances[wrong | open_].sum())


def unsure(pooled: Floats, readout: Floats, doubt: float) -> NDArray:
    """Where N = z . a may have the other sign for some a' with |a' - a| <= ``doubt`` |a|, or by rounding.

    Where |N| <= (doubt + (k + 2) 2^-52) |a| |z|, z the last axis of ``pooled``, of length k; never if z = 0,
    since N = 0 then for every a'.
    """
    rounding = (len(readout) + 2) * float(np.finfo(np.float64).eps)
    reach = (doubt + rounding) * np.linalg.norm(readout) * np.linalg.norm(pooled, axis=-1)
    return (np.abs(pooled @ readout) <= reach) & (reach > 0)
