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


def direction_certificate(
    total: Floats, gamma: float, start: tuple[float, float], least_weight: float, radius: float, first: float
) -> Floats:
    """A proved lower bound on cos(a^(t), a^), a^ the max-margin vector, that tends to 1 with ``total``.

    ``total`` = F = sum over steps of eta G, G = sum_i weight_i / (1 + e^(m_i)), m_i = rows_i . a, grows
    without limit as a does. ``gamma`` is the largest margin, ``start`` = (a^(0) . a^/|a^|, |a^(0)|),
    ``least_weight`` = min_i weight_i, ``radius`` = R >= |rows_i|, ``first`` = eta L_2(a^(0)). A step adds at
    least gamma eta G to a . a^/|a^|. With q_i = weight_i / (1 + e^(m_i)) <= weight_i e^(-m_i) it adds 2 eta
    sum q_i m_i + eta^2 |sum q_i rows_i|^2 to |a|^2, where sum q_i m_i <= G ln(1/G) <= G (gamma |a| + c), c =
    ln(2/least_weight), since some m_i <= gamma |a|; and eta G <= eta L_2 <= ``first``, as losses fall. By
    induction

        |a^(t)| <= gamma F + sqrt(|a^(0)|^2 + (2 c + R^2 first) F).

    Where a^(0) . a^ + gamma F is not positive yet, the bound is -1. Derived here (the paper cites Soudry et
    al.); 1 - cos = O(1/sqrt(F)), and F grows like ln t.
    """
    along, length = start
    grown = gamma * total
    slack = np.sqrt(length**2 + (2 * log(2 / least_weight) + radius**2 * first) * total)
    return np.where(along + grown > 0, (along + grown) / (grown + slack), -1.0)


def steps_to_margin(
    rows: Floats, weights: Floats, target: float, cap: int, exponential: bool, constant: bool = False
) -> int:
    """Steps of normalised descent from zero until min_i rows_i . a / |a| >= target; cap + 1 if never.

    a += rows.T q / 2, q_i proportional to weight_i e^(-rows_i . a), or to weight_i / (1 + e^(rows_i . a)) for
    the logistic loss, and summing to one: the step size is inverse to the total pull, the "aggressive"
    schedule of Ji & Telgarsky (2019c). With ``constant`` steps, q is not normalised. Rows are of length at
    most one.
    """
    readout = np.zeros(rows.shape[1])
    for t in range(1, cap + 1):
        margins = np.minimum(rows @ readout, 500.0)
        pull = weights / (np.exp(margins) if exponential else 1 + np.exp(margins))
        readout += 0.5 * (rows.T @ (pull if constant else pull / pull.sum()))
        if (rows @ readout).min() >= target * np.linalg.norm(readout):
            return t
    return cap + 1


def steps_to_margin_by_gram(
    gram: Floats, weights: Floats, target: float, cap: int, exponential: bool, constant: bool = False
) -> int:
    """The same in dual coordinates, from the rows' inner products alone."""
    coefficient, margins = np.zeros(len(weights)), np.zeros(len(weights))
    for t in range(1, cap + 1):
        logs = -margins if exponential else -np.logaddexp(0.0, margins)
        pull = weights * np.exp(logs if constant else logs - logs.max())
        coefficient += 0.5 * (pull if constant else pull / pull.sum())
        margins = gram @ coefficient
        if margins.min() >= target * np.sqrt(coefficient @ margins):
            return t
    return cap + 1


def proved_margin(gamma: float, samples: int, t: float) -> float:
    """3/4 gamma - 2 ln(m) / (gamma t): a margin that t steps of 1/2 reach for the exponential loss.

    psi = ln sum_i weight_i e^(-m_i) is 1-smooth for rows of length at most one, and |rows.T q| >= gamma
    for every distribution q, so psi falls by 3/8 |rows.T q|^2 per step while |a| grows by at most half of
    |rows.T q|. ``samples`` = m >= 1 / min weight.
    """
    return 3 / 4 * gamma - 2 * log(samples) / (gamma * t)


def half_margin_steps(gamma: float, samples: int) -> float:
    """8 ln(m) / gamma^2: enough steps of 1/2 for half of the largest margin ``gamma``; m = ``samples``."""
    return 8 * log(samples) / gamma**2
