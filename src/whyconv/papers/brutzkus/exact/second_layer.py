"""The second half of LW_CNN (Brutzkus & Globerson, Figure 2 and appendices A and E): logistic regression.

    a^(t) = a^(t-1) - eta_2 dL_2/da,    L_2 = sum_i weight_i log(1 + exp(-rows_i . a)),  rows_i = y_i z(x_i)

``descend`` works on the k readout weights, :func:`descend_by_gram` on the margins alone (a^(t) = a^(0) +
rows.T c^(t), so the Gram matrix suffices). The two share no code.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from whyconv.lazy import Floats, np


def descend(rows: Floats, weights: Floats, start: Floats, step: float, times: Iterable[int]) -> Floats:
    """Readouts a^(t) at the given increasing ``times``; shape (times, channels). Two products per step."""
    marks = list(times)
    readout, kept = start.copy(), []
    for t in range(marks[-1] + 1):
        if t == marks[len(kept)]:
            kept.append(readout.copy())
        readout += step * (rows.T @ (weights / (1 + np.exp(rows @ readout))))
    return np.stack(kept)


def descend_by_gram(
    gram: Floats, margins: Floats, weights: Floats, step: float, times: Iterable[int]
) -> tuple[Floats, Floats]:
    """Coefficients c^(t) and losses L_2 at *every* t = 0..max(times): (kept coefficients, all losses).

    ``gram`` = rows rows.T, ``margins`` = rows a^(0). Margins follow m += step * gram @ pull, with
    pull_i = weight_i / (1 + e^(m_i)). Cost per step: distinct inputs squared, for any number of channels.
    """
    marks = list(times)
    current, coefficient = margins.copy(), np.zeros(len(margins))
    kept, losses = [], np.empty(marks[-1] + 1)
    for t in range(marks[-1] + 1):
        if t == marks[len(kept)]:
            kept.append(coefficient.copy())
        decay = np.exp(-current)
        losses[t] = weights @ np.log1p(decay)
        pull = step * weights * decay / (1 + decay)
        coefficient += pull
        current += gram @ pull
    return np.stack(kept), losses


def smoothness(gram: Floats, weights: Floats) -> float:
    """Largest curvature of L_2: a quarter of the largest eigenvalue of sum_i weight_i rows_i rows_i.T.

    The paper takes beta = 1 for the logistic loss where 1/4 is enough, and the Frobenius norm instead of the
    spectral one; its step condition eta_2 < 8k is therefore conservative by a large factor.
    """
    root = np.sqrt(weights)
    return float(np.linalg.eigvalsh(root[:, None] * gram * root)[-1]) / 4


def loss_certificate(times: Floats, lowest: float, norm2: float, step: float) -> Floats:
    """A proved bound on L_2 after t steps that tends to zero, for eta = ``step`` up to 1/smoothness.

    Descent on a convex smooth function gives L(a^(t)) <= L(u) + |u - a^(0)|^2 / (2 eta t) for every u.
    With u = a^(0) + ln(t) v, v of squared norm ``norm2`` separating with margin 1, and ``lowest`` =
    min_i rows_i . a^(0):   L_2 <= (e^(-lowest) + ln(t)^2 norm2 / (2 eta)) / t. Derived here; the paper
    cites Soudry et al. for the limit.
    """
    return (np.exp(-lowest) + np.log(times) ** 2 * norm2 / (2 * step)) / times


def steps_to_margin(rows: Floats, weights: Floats, start: Floats, target: float, cap: int) -> int:
    """Steps of normalised logistic descent until min_i rows_i . a / |a| >= target; cap + 1 if never.

    a += rows.T q / 2, q_i proportional to weight_i / (1 + e^(rows_i . a)) and summing to one: the
    step size is inverse to the total pull, the "aggressive" schedule of Ji & Telgarsky (2019c). Rows are
    of length at most one.
    """
    readout = start.copy()
    for t in range(1, cap + 1):
        pull = weights / (1 + np.exp(np.minimum(rows @ readout, 500.0)))
        readout += 0.5 * (rows.T @ (pull / pull.sum()))
        if (rows @ readout).min() >= target * np.linalg.norm(readout):
            return t
    return cap + 1


def steps_to_margin_by_gram(gram: Floats, weights: Floats, target: float, cap: int) -> int:
    """The same for the exponential loss from zero, in dual coordinates, where the count is provable.

    psi = ln sum_i weight_i e^(-m_i) is 1-smooth for rows of length at most one, and |rows.T q| >= gamma
    for every distribution q. With steps of 1/2, psi falls by 3/8 |rows.T q|^2 per step, so
    margin >= 3/4 gamma - 2 ln(1 / min weight) / (gamma t): half of gamma after at most
    :func:`half_margin_steps` steps.
    """
    coefficient = np.zeros(len(weights))
    for t in range(1, cap + 1):
        margins = gram @ coefficient
        pull = weights * np.exp(margins.min() - margins)
        coefficient += 0.5 * pull / pull.sum()
        margins = gram @ coefficient
        if margins.min() >= target * np.sqrt(coefficient @ margins):
            return t
    return cap + 1


def half_margin_steps(gamma: float, samples: int) -> float:
    """8 ln(m) / gamma^2: enough steps of 1/2 for half of the largest margin ``gamma``; m = ``samples``."""
    return 8 * log(samples) / gamma**2
