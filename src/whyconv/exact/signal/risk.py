"""The risk R = E (y - f)^2 of f(x) = sum_i phi_b(<w_i, x_i>) under a law of signals, without sampling.

Lahoti et al. 2024 (reconstructed; the closed form is our own). Given the scene the patches are independent,
and a patch without a signal has mean 0, since phi_b is odd and noise is symmetric. With m_i, M_i the two
moments of node i if its patch holds +signal (averaged over rolls) and N_i its second moment in noise,

    R = 1 - 2 E[y f] + sum_i [p_i M_i + (1 - p_i) N_i] + q sum_{i != j} m_i m_j,    E[y f] = sum_i p_i m_i,

p_i = P(patch i holds a signal), q = E[s_i s_j]: ``SignalLaw.share`` and ``SignalLaw.pair``. The paper's own
law has p = 1/k, q = 0. If y is a product of two independent signs, E[y f] = 0 and q = 0: no f beats f = 0.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb
from typing import NamedTuple

from whyconv.exact.signal.law import Floats, SignalLaw
from whyconv.exact.signal.moments import gaussian_moments, noise_moments, soft_threshold
from whyconv.lazy import np, optimize

LARGEST_ENUMERATION = 2**21
"""Limit for scenes times nodes in :func:`mixed_risk`."""


def population_risk(law: SignalLaw, filters: Floats, bias: float) -> float:
    """R of f(x) = sum_i phi_b(<w_i, x_i>), ``filters`` = (w_1, ..., w_k), ``bias`` = b >= 0, for every law.

    Cost: k times rolls moments. Error: that of :mod:`.moments`.
    """
    alphas = np.einsum("rij,ij->ir", law.table, filters)
    return float(_risk(law, filters, alphas, np.array([bias]))[0])


def mixed_risk(law: SignalLaw, nodes: Floats, bias: float) -> float | None:
    """R of f(x) = sum_n phi_b(<v_n, x>) for nodes (n, k, d) that see the whole input, scene by scene:

        R = mean over scenes of (y - sum_n m_n)^2 + sum_n (M_n - m_n^2).

    Valid for Gaussian noise, a noisy signal and nodes with uncorrelated noise, which the caller must ensure:
    local nodes of an input rotated as a whole qualify if all patches are equally noisy. None if there are too
    many scenes: C(k, r) rolls^r for r signals (y = -1 mirrors y = 1, f being odd), four times as many for a
    product.
    """
    rolls, patches, _ = law.table.shape
    scenes = comb(patches, law.holders) * rolls**law.holders * (4 if law.product else 1)
    if scenes * len(nodes) > LARGEST_ENUMERATION:
        return None
    seats = [(law.place - 1,)] if law.place is not None else list(combinations(range(patches), law.holders))
    signs = list(product((1, -1), repeat=2)) if law.product else [(1,) * law.holders]
    turns = list(product(range(rolls), repeat=law.holders))
    alone = np.einsum("nij,rij->irn", nodes, law.table)
    s = np.sqrt(np.einsum("nij,i,ij->n", nodes**2, law.sigmas**2, law.live))
    total = 0.0
    for sign in signs:
        label = float(np.prod(sign)) if law.product else 1.0
        for turn in turns:
            where = np.asarray(seats)
            alphas = sum(c * alone[where[:, j], turn[j]] for j, c in enumerate(sign))
            m, square = gaussian_moments(np.asarray(alphas), s, bias)
            risks = (label - m.sum(axis=1)) ** 2 + (square - m**2).sum(axis=1)
            total += float(risks.mean())
    return total / (len(signs) * len(turns))


class Oracle(NamedTuple):
    """R, b and c of the best network whose filters are w_i = c u_i."""

    risk: float
    bias: float
    scale: float


def oracle(law: SignalLaw, projections: Floats | None = None) -> Oracle:
    """The least R over b >= 0 and c in [0, 1] for filters along the signals, w_i = c u_i.

    phi_b(c z) = c phi_{b/c}(z), so the best c for a given b/c is E[y g] / E[g^2], g being f at c = 1, but at
    most 1: the ball |w_i| <= 1. It is 1 for one signal at the paper's noise levels.

    ``projections[rho, i]`` = <u_i, u_i rolled by rho>; from the law's table if not given. A grid of b, fine
    on the scale of the noise and of the signal, then Brent's method around each of its local minima. If no b
    beats f = 0 (a product), R = 1 with a b that nothing passes.
    """
    filters = law.table[0]
    alphas = (_projections(law) if projections is None else projections).T
    s = law.sigmas * np.linalg.norm(filters * law.live, axis=1)
    top = max(1.0, float(alphas.max())) + 40 * float(s.max())
    noise = np.outer(np.geomspace(s.min(), s.max(), 1 + 3 * (s.max() > s.min())), np.linspace(0, 10, 21))
    grid = np.unique(np.concatenate([noise.ravel(), np.linspace(0, 1.5, 61), [top]]))
    apart = np.diff(grid, prepend=-1.0) > 0.01 * s.min()
    grid = grid[apart & (grid <= top)]

    def shrunk(biases: Floats) -> tuple[Floats, Floats]:
        mean, square = _parts(law, filters, alphas, biases)
        c = np.clip(mean / np.where(square > 0, square, 1.0), 0.0, 1.0)
        return 1 - 2 * c * mean + c**2 * square, c

    values, _ = shrunk(grid)
    edges = np.concatenate([[np.inf], values, [np.inf]])
    lowest = np.flatnonzero((values < edges[:-2]) & (values <= edges[2:]) & (values <= values.min() + 0.05))
    best = (float(values.min()), float(grid[values.argmin()]))
    for at in lowest:
        bounds = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)])
        found = optimize.minimize_scalar(
            lambda b: float(shrunk(np.array([b]))[0][0]),
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-10},
        )
        best = min(best, (float(found.fun), float(found.x)))
    scale = float(shrunk(np.array([best[1]]))[1][0])
    return Oracle(best[0], scale * best[1], scale)


def linear_risk(law: SignalLaw, projections: Floats | None = None) -> float:
    """The least R of f = c sum_i <u_i, x_i> over c: 1 - E[y g]^2 / E[g^2], g the sum; the threshold b = 0.

    sigma^2 k / (1 + sigma^2 k) for the paper's own law. ``projections`` as in :func:`oracle`.
    """
    filters = law.table[0]
    alphas = (_projections(law) if projections is None else projections).T
    variance = law.sigmas**2 * (filters**2 * law.live).sum(axis=1)
    held = (alphas**2).mean(axis=1) + (variance if law.noisy_signal else 0.0)
    mean = alphas.mean(axis=1)
    square = float(law.share @ held + (1 - law.share) @ variance + law.pair * _pairs(mean[:, None])[0])
    return 1.0 if law.product else 1 - float(law.share @ mean) ** 2 / square


def _projections(law: SignalLaw) -> Floats:
    """<u_i, u_i rolled by rho>, (rolls, k)."""
    return np.einsum("rij,ij->ri", law.table, law.table[0])


def _risk(law: SignalLaw, filters: Floats, alphas: Floats, biases: Floats) -> Floats:
    """R at every b of ``biases``; ``alphas`` (k, rolls) = <w_i, rolled signal>."""
    mean, square = _parts(law, filters, alphas, biases)
    return 1 - 2 * mean + square


def _parts(law: SignalLaw, filters: Floats, alphas: Floats, biases: Floats) -> tuple[Floats, Floats]:
    """E[y f] and E[f^2] at every b of ``biases``, as in :func:`_risk`. Equal patches count once."""
    weights = filters * law.sigmas[:, None] * law.live
    rows = np.concatenate([alphas, np.sort(np.abs(weights), axis=1)], axis=1)
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    alphas, weights = alphas[first], weights[first]
    moments = noise_moments(law.noise_law, weights, np.zeros((len(first), 1)), biases)
    noise = moments[1][kind.ravel()]
    if law.noisy_signal:
        m, square = noise_moments(law.noise_law, weights, alphas[:, :, None], biases)
    else:
        m = soft_threshold(alphas[:, :, None], biases)
        square = m**2
    m, square = m.mean(axis=1)[kind.ravel()], square.mean(axis=1)[kind.ravel()]
    mean = np.zeros(len(biases)) if law.product else law.share @ m
    return mean, law.share @ square + (1 - law.share) @ noise + law.pair * _pairs(m)


def _pairs(m: Floats) -> Floats:
    """sum over i != j of m_i m_j, along the first axis."""
    return m.sum(axis=0) ** 2 - (m**2).sum(axis=0)
