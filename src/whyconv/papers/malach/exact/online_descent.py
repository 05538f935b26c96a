"""Online gradient descent (Malach & Shalev-Shwartz, Theorem 10) on sequences of piecewise affine functions.

    theta_{t+1} = theta_t - eta grad f_t(theta_t),   t = 1..T
    mean f_t(theta_t) <= mean f_t(theta*) + |theta*|^2 / (2 eta T)
                         + |theta_1| mean |grad f_t(theta_t)| + eta mean |grad f_t(theta_t)|^2

for convex f_t and every theta*. The last eta can be halved (write theta_t - theta* as (theta_t - theta_1) -
theta* plus theta_1; the first part is a descent from 0), but not reduced further.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import Floats, np
from whyconv.papers.malach.exact.oracle_windows import PlainPath


@dataclass(frozen=True)
class Record:
    """f_t(theta_t) and |grad f_t(theta_t)| for t = 1..T."""

    values: Floats
    gradients: Floats


def evaluate(
    slopes: Floats, offsets: Floats, theta: Floats, *, concave: bool = False
) -> tuple[float, Floats]:
    """f(theta) = max_i (<a_i, theta> + b_i) and a (sub)gradient; min in place of max if ``concave``.

    ``slopes`` = a (pieces, dimension), ``offsets`` = b (pieces,).
    """
    pieces = slopes @ theta + offsets
    chosen = int(pieces.argmin() if concave else pieces.argmax())
    return float(pieces[chosen]), slopes[chosen]


def descend(slopes: Floats, offsets: Floats, first: Floats, step: float, *, concave: bool = False) -> Record:
    """T steps from theta_1 = ``first``, f_t being row t of ``slopes`` (T, pieces, dim) and ``offsets``."""
    theta, values, norms = first, [], []
    for a, b in zip(slopes, offsets, strict=True):
        value, gradient = evaluate(a, b, theta, concave=concave)
        values.append(value)
        norms.append(np.linalg.norm(gradient))
        theta = theta - step * gradient
    return Record(np.array(values), np.array(norms))


def excess(
    record: Record,
    slopes: Floats,
    offsets: Floats,
    first: Floats,
    target: Floats,
    step: float,
    factor: float = 1.0,
    *,
    concave: bool = False,
) -> float:
    """Left minus right side of Theorem 10, with ``factor`` * eta in its last term; at most 0 if it holds.

    ``target`` = theta*.
    """
    pairs = zip(slopes, offsets, strict=True)
    rival = np.mean([evaluate(a, b, target, concave=concave)[0] for a, b in pairs])
    distance = target @ target / (2 * step * len(record.values))
    start = np.linalg.norm(first) * record.gradients.mean()
    energy = factor * step * (record.gradients**2).mean()
    return float(record.values.mean() - rival - distance - start - energy)


def excess_of_equal_linear(slope: Floats, step: float, steps: int) -> float:
    """:func:`excess` with eta/2 for f_t = <a, .> at every t, theta_1 = 0, theta* = -eta T a: exactly 0."""
    slopes, offsets = np.tile(slope, (steps, 1, 1)), np.zeros((steps, 1))
    first = np.zeros_like(slope)
    record = descend(slopes, offsets, first, step)
    return excess(record, slopes, offsets, first, -step * steps * slope, step, 0.5)


def excess_of_walk(plain: PlainPath, step: float, star_norm: float) -> float:
    """:func:`excess` with eta/2 along a network's descent: f_t = L(., W^(t)), theta_1 = 0, theta* = u*.

    ``star_norm`` = |u*|, whose losses are the first probe of ``plain``.
    """
    steps = len(plain.gradients)
    rival = plain.probe_loss[:steps, 0].mean() + star_norm**2 / (2 * step * steps)
    return float(plain.loss[:steps].mean() - rival - step / 2 * (plain.gradients**2).mean())
