"""What max-pooling networks can express on the support of the distribution (Brutzkus & Globerson, section 4).

Two constructions. :func:`shattering_network` is the paper's own (Theorem 4.2), for 2^(n-1) inputs.
:func:`network_of` is ours: it realises *every* function of pattern sets, so all distinct pattern sets are
shattered at once and :func:`vc_dimension` is exact. ``positions`` = n, ``patterns`` = l, o_1 first.
"""

from __future__ import annotations

from math import comb, exp, log1p

from whyconv.exact.pattern_sets import surjections
from whyconv.lazy import Floats, Ints, np


def vc_dimension(positions: int, patterns: int) -> int:
    """VC dimension of sign(N) on the support, channels unlimited: 2 sum_{s=1}^{min(n-1,l-2)} C(l-2, s).

    Derived, not in the paper: the sum counts the distinct pattern sets. Inputs with equal sets get equal
    outputs, so no more can be shattered; :func:`network_of` shatters as many. For l = 2n it equals
    2^(2n-2) + C(2n-2, n-1) - 2, while Theorem 4.2 shows 2^(n-1).
    """
    spurious = patterns - 2
    return 2 * sum(comb(spurious, size) for size in range(1, min(positions - 1, spurious) + 1))


def corners(positions: int) -> Ints:
    """The index set {0,1}^(n-1) of the paper's proof, one row per I; shape (2^(n-1), n-1)."""
    count = positions - 1
    return (np.arange(1 << count)[:, None] >> np.arange(count)) & 1


def shattered_points(positions: int, last: Ints) -> Ints:
    """Pattern indices of the points x_I: x_I[j] = o_{2j+1} if I[j] = 1 else o_{2j+2}; x_I[n] is o_1 or o_2.

    ``last`` holds 0 (o_1) or 1 (o_2) for every I, arbitrary in the paper. Needs l = 2n patterns.
    """
    bits = corners(positions)
    even = 2 * np.arange(1, positions)
    return np.concatenate([np.where(bits == 1, even, even + 1), last[:, None]], axis=1)


def coefficients(labels: Floats) -> Floats:
    """alpha_I = (sum y) / (N - 1) - y_{I^c}: the solution of Eq. 5, sum_{I' != I} alpha_{I'} = y_{I^c}.

    (J - Id)^(-1) = J / (N - 1) - Id with N = 2^(n-1); with the rows of :func:`corners`, I^c is the
    reversed order. ``labels`` is y, of shape (N,) or (N, labellings).
    """
    return labels.sum(axis=0) / (len(labels) - 1) - labels[::-1]


def coefficients_by_solving(labels: Floats) -> Floats:
    """The same alpha from the linear system of Eq. 5 as printed, by elimination; cost N^3."""
    size = len(labels)
    system = np.ones((size, size)) - np.eye(size)
    return np.asarray(np.linalg.solve(system, np.flip(labels, axis=0)), dtype=np.float64)


def shattering_network(alpha: Floats, positions: int) -> tuple[Floats, Floats]:
    """The paper's network in pattern coordinates: scores (2^n, 2n) and readout (1, ..., 1, -1, ..., -1).

    Filters w^(I) = max(alpha_I, 0) sum_{j<n} x_I[j], followed by u^(I) with max(-alpha_I, 0).
    """
    points = shattered_points(positions, np.zeros(len(alpha), dtype=np.int64))[:, :-1]
    sums = np.zeros((len(alpha), 2 * positions))
    np.put_along_axis(sums, points, 1.0, axis=1)
    scores = np.concatenate([np.maximum(alpha, 0)[:, None] * sums, np.maximum(-alpha, 0)[:, None] * sums])
    return scores, np.repeat([1.0, -1.0], len(alpha))


def network_of(values: Floats) -> tuple[Floats, Floats]:
    """A network (scores, readout) with the given ``values`` (2, 2^(l-2)) on the pattern sets.

    With P = {o_c} and T, c in {1, 2}:  1{P inside {o_c} and A} = 1 - 1{P meets the complement B of that},
    and the second indicator is one channel, max_j ReLU(w . x[j]) with w = sum_{o in B} o. Inclusion and
    exclusion, q(c, A) = sum_{A' contains A} (-1)^|A' - A| values(c, A'), gives values = sum of q over
    the sets that contain P. The constants of all terms are one channel w = sum of all patterns. At most
    2^(l-1) + 1 channels; integer values give integer weights, so the outputs are exact.
    """
    spurious = values.shape[1].bit_length() - 1
    weights = values.astype(np.float64)
    for j in range(spurious):
        pairs = weights.reshape(2, -1, 2, 1 << j)
        pairs[:, :, 0] -= pairs[:, :, 1]
    label, mask = np.nonzero(weights)
    inside = np.concatenate(
        [label[:, None] == [[0, 1]], (mask[:, None] >> np.arange(spurious)) & 1 == 1], axis=1
    )
    scores = np.concatenate([1.0 - inside, np.ones((1, spurious + 2))])
    chosen = weights[label, mask]
    return scores, np.append(-chosen, chosen.sum())


def unseen_mass(positions: int, patterns: int, samples: int) -> float:
    """Expected probability of the pattern sets that ``samples`` draws miss.

    sum over (label, T) of q (1 - q)^m, q = P(label, T): the expected test error of a network that is
    right on the sets it has seen and wrong on all others.
    """
    spurious = patterns - 2
    total = 0.0
    for size in range(1, min(positions - 1, spurious) + 1):
        share = surjections(positions - 1, size) / spurious ** (positions - 1)
        total += comb(spurious, size) * share * exp(samples * log1p(-share / 2))
    return total


def samples_for_error(positions: int, patterns: int, level: float) -> int:
    """The fewest examples at which :func:`unseen_mass` is at most ``level``, by bisection."""
    low, high = 0, 1
    while unseen_mass(positions, patterns, high) > level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if unseen_mass(positions, patterns, middle) > level:
            low = middle
        else:
            high = middle
    return high
