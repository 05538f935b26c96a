"""Runs of LW_CNN's first layer that come near to the bounds, built instead of drawn.

The lemmas on the first layer hold for every start on the sphere, every readout and every sample that
satisfies their conditions, so the worst ones may be chosen. A run here consists of a few groups of equal
filters, which stay equal: (direction in pattern coordinates, readout sign, number of filters). All inputs of
S_1 have o_3 beside their discriminative pattern, so o_4, ..., o_l are never seen while training.
"""

from __future__ import annotations

from collections.abc import Sequence

from whyconv.lazy import Floats, np
from whyconv.papers.brutzkus.exact import bounds, first_layer, max_pooling
from whyconv.papers.brutzkus.exact.layerwise import Run

Group = tuple[Sequence[float], int, int]
SMALL = 1e-3
"""A positive component of a direction that is as small as makes no difference."""


def grouped(
    pattern_dim: int,
    patterns: int,
    positions: int,
    groups: Sequence[Group],
    sample: tuple[int, int],
    *,
    steps: int,
    step_factor: float = 1.0,
    radius_factor: float = 1.0,
) -> Run:
    """A run of these groups on ``sample`` = (positive, negative) examples; factors as in ``run``."""
    theorem = first_layer.Schedule.of_theorem(pattern_dim, steps)
    if sum(count for _, _, count in groups) > theorem.channels:
        raise ValueError("the groups have more filters than the network")
    step = theorem.step * step_factor
    radius = bounds.largest_radius(step) * radius_factor
    schedule = first_layer.Schedule(theorem.channels, steps, step, radius)
    basis = max_pooling.random_patterns(np.random.default_rng(1), patterns, pattern_dim)
    directions = np.array([direction for direction, _, _ in groups], dtype=float)
    start = radius * (directions / np.linalg.norm(directions, axis=1, keepdims=True)) @ basis
    labels = np.repeat([1, -1], sample)
    indices = np.full((len(labels), positions), 2)
    indices[:, 0] = np.where(labels == 1, 0, 1)
    readout = np.array([float(sign) for _, sign, _ in groups])
    copies = np.array([float(count) for _, _, count in groups])
    first = indices, labels
    return Run(positions, schedule, basis, first, first, start, readout, copies)


def aligned(steps: int, step_factor: float = 1.0, radius_factor: float = 1.0) -> Run:
    """All filters are r o_1 with readout 1 and all examples are positive: the largest norms and outputs.

    d = l = 3, n = 2. With a small step the output stays near 0 and each step adds eta_1 / 2 to every filter.
    """
    group = ((1.0, 0.0, 0.0), 1, bounds.least_channels(3))
    return grouped(
        3, 3, 2, [group], (3, 0), steps=steps, step_factor=step_factor, radius_factor=radius_factor
    )


def slowest_growth(
    own: int, rare: int, others: int, steps: int, step_factor: float = 1.0, pattern_dim: int = 4
) -> Run:
    """Lucky filters that hardly see o_1 (``own`` = 0; o_2 if 1) at first, and mostly the other class's
    pattern.

    S_1 has ``rare`` examples of their class and ``others`` of the other one. All k filters are lucky, so the
    outputs grow as fast as they can, which slows the growth of the filters. l = d, n = 2.
    """
    direction = np.full(pattern_dim, -SMALL)
    direction[own], direction[1 - own] = SMALL, 1.0
    group = (direction.tolist(), 1 if own == 0 else -1, bounds.least_channels(pattern_dim))
    sample = (rare, others) if own == 0 else (others, rare)
    return grouped(pattern_dim, pattern_dim, 2, [group], sample, steps=steps, step_factor=step_factor)


def least_margin(
    pattern_dim: int, patterns: int, *, steps: int = 1, radius_factor: float = 1.0
) -> tuple[Run, Floats]:
    """A start at the edge of Lemma 5.2 (k/(4l) and k/l lucky filters) with the worst margin of v*; l >= 4.

    A third of S_1 is positive, and the negatively lucky filters also detect o_4, which S_1 does not have.
    Also returns v*'s signs: +1, -1 on the two groups.
    """
    channels = bounds.least_channels(pattern_dim)
    fewest, most = bounds.lucky_range(channels, patterns)
    slow = np.full(patterns, -1.0)
    slow[0], slow[1] = SMALL, 0.0
    doubtful = np.zeros(patterns)
    doubtful[1], doubtful[3] = 1.0, 1.0 - SMALL
    groups = [(slow.tolist(), 1, -int(-fewest // 1)), (doubtful.tolist(), -1, int(most))]
    run = grouped(pattern_dim, patterns, 3, groups, (1, 2), steps=steps, radius_factor=radius_factor)
    return run, np.array([1.0, -1.0])


def largest_product(pattern_dim: int, patterns: int, steps: int = 1) -> tuple[Run, Floats]:
    """A start with k/l lucky filters of either kind, all aligned, and the others as large as they can get.

    Two thirds of S_1 are positive; the other filters detect o_3 with readout 1. Also returns v*'s signs.
    """
    channels = bounds.least_channels(pattern_dim)
    most = int(bounds.lucky_range(channels, patterns)[1])
    one, two, three = (np.eye(patterns)[j].tolist() for j in range(3))
    groups = [(one, 1, most), (two, -1, most), (three, 1, channels - 2 * most)]
    run = grouped(pattern_dim, patterns, 3, groups, (2, 1), steps=steps)
    return run, np.array([1.0, -1.0, 0.0])
