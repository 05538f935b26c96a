"""The Bayes rule for the sign of a signal: E[y | x] for every law of signals, exactly.

With L_i^0, L_i^+ and L_i^- the likelihoods of patch i holding noise, +signal or -signal (averaged over
rolls), the likelihood of y is the sum over scenes of the product over patches. For one signal that is
proportional to sum_i L_i^y / L_i^0; so for the paper's own law (Lahoti et al. 2024)

    E[y | x] = sum_t sinh(<w*, x_t> / sigma^2) / sum_t cosh(<w*, x_t> / sigma^2),

for r signals the r-th elementary symmetric polynomial of those ratios, for a product of two signs
sum_{i<j} (a_i a_j + b_i b_j) against sum_{i<j} (a_i b_j + b_i a_j), a and b the two ratios. Here the sums are
built up patch by patch from logarithms of likelihoods, so that an impossible patch is minus infinity and
nothing is divided by it.
"""

from __future__ import annotations

from typing import NamedTuple

from whyconv import registry
from whyconv.exact.signal.law import Floats, SignalLaw, simulate
from whyconv.lazy import np, special
from whyconv.measure.intervals import Interval, mean_interval

BLOCK = 4096
"""Inputs computed at a time."""


class BayesRisk(NamedTuple):
    """The least possible risk E (y - E[y|x])^2 and the least share of wrong signs, with intervals."""

    risk: Interval
    error: Interval


def posterior(law: SignalLaw, x: Floats, tolerance: float = 1e-12) -> Floats:
    """E[y | x] = tanh(l / 2), l = :func:`log_odds`; the best sign is its sign."""
    return np.tanh(log_odds(law, x, tolerance) / 2)


def log_odds(law: SignalLaw, x: Floats, tolerance: float = 1e-12) -> Floats:
    """l = log P(y = 1 | x) - log P(y = -1 | x) for inputs (count, k, d).

    ``tolerance``: how exactly x is known. It applies to the edge of uniform noise, and to whether a patch
    *is* a signal if signals have no noise (treated as uniform in a box of that half width). nan for an x that
    the law never produces. Cost: k patches times r + 1 logarithmic sums per sign, and count * k * d * rolls
    for the likelihoods.
    """
    parts = [_log_odds(law, x[at : at + BLOCK], tolerance) for at in range(0, len(x), BLOCK)]
    return np.concatenate(parts) if parts else np.zeros(0)


def bayes_risk(law: SignalLaw, draws: int = 20_000, seed: int = 0, level: float = 0.95) -> BayesRisk:
    """The Bayes risk E[1 - p^2] and error E[(1 - |p|) / 2], p = E[y | x], over ``draws`` inputs of ``seed``.

    Only x is sampled, so the spread is that of the posterior alone; with e = 1 / (1 + exp |l|), l the
    log-odds, they are the means of 4 e (1 - e) and of e, with Student's t intervals. If both are dominated by
    inputs rarer than 1 / ``draws`` (sigma = 0.1: e^-50), mean and interval say no more than "small".
    """
    if draws < 2:
        raise ValueError(f"draws = {draws} gives no interval; take 2 or more")
    seeds = np.random.SeedSequence(seed).generate_state(-(-draws // BLOCK))
    sizes = [min(BLOCK, draws - at) for at in range(0, draws, BLOCK)]
    odds = [log_odds(law, simulate(law, size, int(one))[0]) for size, one in zip(sizes, seeds, strict=True)]
    wrong = special.expit(-np.abs(np.concatenate(odds)))
    return BayesRisk(mean_interval(4 * wrong * (1 - wrong), level), mean_interval(wrong, level))


def _log_odds(law: SignalLaw, x: Floats, tolerance: float) -> Floats:
    none, plus, minus = _likelihoods(law, x, tolerance)
    if law.place is not None:
        up, down = plus[:, law.place - 1], minus[:, law.place - 1]
    elif law.product:
        up, down = _products(none, plus, minus)
    else:
        up, down = _symmetric(none, plus, law.signals), _symmetric(none, minus, law.signals)
    with np.errstate(invalid="ignore"):
        return up - down


def _likelihoods(law: SignalLaw, x: Floats, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """log L^0, log L^+, log L^-, each (count, k)."""
    none = _density(law, x, tolerance)
    rolls = len(law.table)
    if law.noise_law == "gaussian" and law.noisy_signal:
        toward = np.einsum("nij,rij->rni", x, law.table, optimize=True)
        variance = law.sigmas**2
        plus, minus = (none + (sign * toward - 0.5) / variance for sign in (1, -1))
    else:
        both = [[_held(law, x - s * row, tolerance) for row in law.table] for s in (1, -1)]
        plus, minus = (np.stack(every) for every in both)
    return none, *(np.logaddexp.reduce(every, axis=0) - np.log(rolls) for every in (plus, minus))


def _held(law: SignalLaw, rest: Floats, tolerance: float) -> Floats:
    """The log-likelihood of a patch minus its signal."""
    if law.noisy_signal:
        return _density(law, rest, tolerance)
    fits = (np.abs(rest) <= tolerance).all(axis=2)
    return np.where(fits, -law.live.sum(axis=1) * np.log(2 * tolerance), -np.inf)


def _density(law: SignalLaw, noise: Floats, tolerance: float) -> Floats:
    """The log-density of the noise of each patch in its live coordinates."""
    u = noise / law.sigmas[:, None]
    log_density = registry.find("noise law", law.noise_law).companion("log_density")
    each = log_density(u, tolerance / law.sigmas[:, None])
    return np.where(law.live, each - np.log(law.sigmas)[:, None], 0.0).sum(axis=2)


def _symmetric(none: Floats, held: Floats, count: int) -> Floats:
    """log of the sum, over sets of ``count`` patches, of held inside times none outside.

    The coefficient of z^count in the product of (none_i + z held_i).
    """
    sums = np.full((count + 1, len(none)), -np.inf)
    sums[0] = 0
    for i in range(none.shape[1]):
        more = sums[:-1] + held[:, i]
        sums = sums + none[:, i]
        sums[1:] = np.logaddexp(sums[1:], more)
    return sums[count]


def _products(none: Floats, plus: Floats, minus: Floats) -> tuple[Floats, Floats]:
    """log of the sums over pairs of patches with equal signs, and with different ones."""
    empty, up, down, both = np.zeros(len(none)), *np.full((3, len(none)), -np.inf)
    for i in range(none.shape[1]):
        here, a, b = none[:, i], plus[:, i], minus[:, i]
        both = np.logaddexp(both + here, np.logaddexp(up + b, down + a))
        up, down = np.logaddexp(up + here, empty + a), np.logaddexp(down + here, empty + b)
        empty = empty + here
    return np.logaddexp(_symmetric(none, plus, 2), _symmetric(none, minus, 2)), both
