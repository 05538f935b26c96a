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


def terms(step: float, target: float, start: float, gradients: Floats) -> tuple[float, float, float]:
    """|theta*|^2 / (2 eta T), |theta_1| mean |grad_t| and eta mean |grad_t|^2, as printed.

    ``target`` = |theta*|, ``start`` = |theta_1|, ``gradients`` the T norms.
    """
    return (
        target**2 / (2 * step * len(gradients)),
        start * float(gradients.mean()),
        step * float((gradients**2).mean()),
    )


def sides(
    record: Record,
    slopes: Floats,
    offsets: Floats,
    first: Floats,
    target: Floats,
    step: float,
    *,
    concave: bool = False,
) -> tuple[float, tuple[float, float, float]]:
    """mean f_t(theta_t) - mean f_t(theta*), and the three terms that bound it; ``target`` = theta*."""
    pairs = zip(slopes, offsets, strict=True)
    rival = np.mean([evaluate(a, b, target, concave=concave)[0] for a, b in pairs])
    norms = float(np.linalg.norm(target)), float(np.linalg.norm(first))
    return float(record.values.mean() - rival), terms(step, *norms, record.gradients)


def excess_of_equal_linear(
    slope: Floats, along: float, step: float, steps: int, factors: tuple[float, float, float]
) -> float:
    """Left minus right side, its terms times ``factors``; f_t = <a, .> at every t, theta* = -eta T a.

    theta_1 = ``along`` * a. With the factors 1, 1, 1/2 it is exactly 0, so none of them can be smaller.
    """
    slopes, offsets = np.tile(slope, (steps, 1, 1)), np.zeros((steps, 1))
    first = along * slope
    record = descend(slopes, offsets, first, step)
    regret, parts = sides(record, slopes, offsets, first, -step * steps * slope, step)
    return regret - sum(f * part for f, part in zip(factors, parts, strict=True))


def excess_of_losses(
    losses: Floats,
    rivals: Floats,
    gradients: Floats,
    step: float,
    star_norm: float,
    factors: tuple[float, float, float],
) -> float:
    """The same along a network's descent: f_t = L(., W^(t)), theta_1 = 0, theta* = u*.

    ``losses`` and ``rivals`` = L of (u^(t), W^(t)) and of (u*, W^(t)) at t = 0..T-1; ``star_norm`` = |u*|.
    """
    parts = terms(step, star_norm, 0.0, gradients)
    return float(losses.mean() - rivals.mean()) - sum(f * p for f, p in zip(factors, parts, strict=True))
