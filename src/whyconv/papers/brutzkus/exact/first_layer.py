"""The first half of LW_CNN (Brutzkus & Globerson, Figure 2): gradient descent on the filters, twice.

    W^(t) = W^(t-1) - eta_1 dL_1/dW (W^(t-1), a^(0)),    L_1 = mean over S_1 of log(1 + exp(-y N(x)))

with w_i^(0) uniform on the sphere of radius r and a_i^(0) uniform on +-1. The gradient of filter i is
-mean_x [ y a_i p_i(x) / (1 + exp(y N(x))) ], p_i(x) being the pattern of x that excites w_i most, or 0
if none does. :func:`descend_on_inputs` computes it on vectors with an explicit argmax;
:func:`descend_on_sets` trains the same network in pattern coordinates, over distinct pattern sets and
their multiplicities. They share no code and must give the same trajectory: filters @ basis.T = scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import Flags, Floats, Ints, np
from whyconv.papers.brutzkus.exact import bounds


@dataclass(frozen=True)
class Schedule:
    """Sizes and step of a first-layer run.

    ``step`` is eta_1 and ``radius`` is r. :meth:`of_theorem` takes the largest values Theorem 5.1
    allows, and the fewest channels.
    """

    channels: int
    steps: int
    step: float
    radius: float

    @classmethod
    def of_theorem(cls, pattern_dim: int, steps: int) -> Schedule:
        """The theorem's own choice for d = ``pattern_dim`` and T_1 = ``steps``."""
        channels = bounds.least_channels(pattern_dim)
        step = float(bounds.largest_step(channels, steps))
        return cls(channels, steps, step, bounds.largest_radius(step))


def initial(rng: np.random.Generator, schedule: Schedule, pattern_dim: int) -> tuple[Floats, Floats]:
    """Filters uniform on the sphere of radius ``schedule.radius``, readout uniform on +-1, independent."""
    filters = rng.standard_normal((schedule.channels, pattern_dim))
    filters *= schedule.radius / np.linalg.norm(filters, axis=1, keepdims=True)
    return filters, rng.choice([1.0, -1.0], schedule.channels)


def lucky(scores: Floats, readout: Floats) -> tuple[Flags, Flags]:
    """The sets W^+ and A^+, W^- and A^- of Eq. 6 as masks over channels.

    Positive luck: o_1 excites the filter most among all patterns but o_2, with a positive product, and
    a_i = 1. Negative luck: the same with o_1 and o_2 exchanged, and a_i = -1.
    """
    spurious = scores[:, 2:].max(axis=1)
    floor = np.maximum(spurious, 0.0)
    return (scores[:, 0] > floor) & (readout > 0), (scores[:, 1] > floor) & (readout < 0)


def descend_on_inputs(
    inputs: Floats,
    labels: Ints,
    filters: Floats,
    readout: Floats,
    schedule: Schedule,
    copies: Floats | float = 1.0,
) -> Floats:
    """Filters after 0, 1, ..., T_1 steps, shape (steps + 1, channels, pattern_dim).

    Each filter stands for ``copies`` equal ones, which stay equal: only the network's output counts them.

    Ties of the argmax go to the first position (they have probability zero). Cost per step: one
    product of (inputs * positions, pattern_dim) with (pattern_dim, channels), and its argmax.
    """
    rows = np.arange(len(inputs))[:, None]
    path = [filters]
    for _ in range(schedule.steps):
        products = inputs @ path[-1].T
        place = products.argmax(axis=1)
        top = products.max(axis=1)
        values = np.where(top > 0, top, 0.0) @ (copies * readout)
        slope = labels / (1 + np.exp(labels * values)) / len(inputs)
        pulls = np.where(top > 0, slope[:, None] * readout, 0.0)
        ascent = np.einsum("mk,mkd->kd", pulls, inputs[rows, place])
        path.append(path[-1] + schedule.step * ascent)
    return np.stack(path)


def descend_on_sets(
    counts: Ints, scores: Floats, readout: Floats, schedule: Schedule, copies: Floats | float = 1.0
) -> Floats:
    """Scores W O^T after 0, 1, ..., T_1 steps, shape (steps + 1, channels, patterns); ``copies`` as above.

    ``counts`` (2, 2^(l-2)) says how often each (label, spurious set) occurs. The part of a filter outside
    the span of the patterns neither changes nor matters, so d does not enter. Cost per step: distinct
    sets * channels * patterns, for any sample size.
    """
    label, mask = np.nonzero(counts)
    sign = np.where(label == 0, 1.0, -1.0)
    weight = counts[label, mask] / counts.sum()
    spurious = (mask[:, None] >> np.arange(scores.shape[1] - 2)) & 1
    member = np.concatenate([label[:, None] == [[0, 1]], spurious.astype(bool)], axis=1)
    barred = np.where(member, 0.0, -np.inf)
    path = [scores]
    for _ in range(schedule.steps):
        seen = path[-1][None] + barred[:, None]
        top = np.maximum(seen.max(axis=2), 0.0)
        pull = weight * sign / (1 + np.exp(sign * (top @ (copies * readout))))
        winner = (seen == top[:, :, None]) & (top > 0)[:, :, None]
        ascent = np.tensordot(pull, winner, axes=1) * readout[:, None]
        path.append(path[-1] + schedule.step * ascent)
    return np.stack(path)
