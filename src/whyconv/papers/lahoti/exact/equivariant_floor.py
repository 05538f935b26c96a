"""The least risk that an equivariant algorithm can have, with m examples: computed, as far as it can be.

Let an algorithm be equivariant under a group G of orthogonal maps (Lahoti et al. for CNN, LCN and FCN under
gradient descent: a common O(d), O(d)^k, O(kd)). Its expected risk is then the same on the data rotated by any
U in G, so it equals the mean over U drawn from the Haar measure; and that is at least what the best predictor
reaches that knows the law, but not U:

    R >= E Var(y | x, S) = 1 - E E[y | x, S]^2,     S = m labelled examples, x an input, U ~ Haar.

Under G the means mu_t of the examples whose signal is in patch t become

- O(d): (w, ..., w), w uniform on the sphere of R^d;
- O(d)^k: (w_1, ..., w_k), independent and uniform on it;
- O(kd): a uniformly random orthonormal k-frame of R^{kd}.

To know more can only lower the risk. The predictor is therefore told the place of the signal in every
*training* example; for O(d) and O(d)^k all integrals are then those of a von Mises-Fisher law: with z the sum
of y x_t over the examples of a direction, and psi_D(c) the mean of exp(c u_1) over the sphere of R^D,

    p(z, x | y) is proportional to psi_D(|z + y x| / sigma^2).

For O(kd) frames are not independent and the integral is a hypergeometric function of a k x k matrix, which is
not computed here. There the predictor is also told the place in x and all other directions: the last one is
uniform on the sphere of R^{kd-k+1}. This loses much: the paper's sigma^2 k^2 d does not follow from it. Since
O(d)^k is contained in O(kd), the floor of the LCN is one for the FCN, too; the larger of both counts.

Only x and S are sampled, by their few coordinates that matter (the distribution is that of D dimensions, the
cost is not). Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``, ``m``, ``dim`` = D.
"""

from __future__ import annotations

from typing import Any

from whyconv.lazy import Floats, np, special
from whyconv.measure.intervals import Interval, mean_interval

TERMS = 60
"""Terms of the series of psi where the Bessel function underflows; they fall like (c^2 / (2 D))^j / j!."""


def log_mean(concentration: Floats, dim: int) -> Floats:
    """log psi_D(c) = log E exp(c u_1), u uniform on the unit sphere of R^D, c = ``concentration`` >= 0.

    psi_D(c) = Gamma(D/2) (2/c)^(D/2-1) I_{D/2-1}(c) = sum_j (c^2/4)^j / (j! (D/2)_j); cosh for D = 1.
    """
    c, half = np.asarray(concentration, float), dim / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = special.ive(half - 1, c)
        found = special.gammaln(half) + (half - 1) * np.log(2 / c) + np.log(bessel) + c
    small = ~((bessel > 1e-290) & (c > 1e-3))
    j = np.arange(TERMS)
    scale = special.gammaln(j + 1) + special.gammaln(half + j) - special.gammaln(half)
    power = 2 * j * np.log(np.maximum(c[small], 1e-300)[:, None] / 2)
    found[small] = special.logsumexp(power - scale, axis=1)
    return found


def posterior(plus: Floats, minus: Floats) -> Floats:
    """E[y | x, S] from the logarithms of p(z, x | y, t) for both signs, summed over patches t (last axis)."""
    up, down = special.logsumexp(plus, axis=-1), special.logsumexp(minus, axis=-1)
    return np.tanh((up - down) / 2)


def static_floor(dim: int, m: int, sigma: float, draws: int = 4000, seed: int = 0) -> Interval:
    """The floor for a signal that stays, its place known: a direction in ``dim`` dimensions, m examples.

    d for a common O(d) and O(d)^k, kd for O(kd). Exact up to the interval: the best rule is equivariant.
    """
    rng = np.random.default_rng([seed, dim, m])
    lengths, terms = _patch(rng, dim, np.full((draws, 1), float(m)), sigma, True)
    return _floor(posterior(*_likelihoods(lengths, terms, dim, sigma)))


def floor(
    network: str, patches: int, patch_dim: int, sigma: float, m: int, draws: int = 4000, seed: int = 0
) -> Interval:
    """The floor for a signal that moves; ``network`` = cnn, lcn or fcn stands for its group."""
    rng = np.random.default_rng([seed, patches, patch_dim, m])
    if network == "cnn":
        return _floor(_shared(rng, patches, patch_dim, sigma, m, draws))
    local = _floor(_separate(rng, patches, patch_dim, sigma, m, draws))
    if network == "lcn":
        return local
    dim = patches * patch_dim - patches + 1
    count = rng.binomial(m, 1 / patches, (draws, 1)).astype(float)
    told = _floor(posterior(*_likelihoods(*_patch(rng, dim, count, sigma, True), dim, sigma)))
    return max(local, told, key=lambda interval: interval.mean)


def least_examples(network: str, patches: int, patch_dim: int, sigma: float, risk: float, cap: int) -> int:
    """The smallest m up to ``cap`` whose floor (lower end) is at most ``risk``; by bisection."""
    low, high = 0, cap
    while high - low > 1:
        middle = (low + high) // 2
        reached = floor(network, patches, patch_dim, sigma, middle, 2000).low <= risk
        low, high = (low, middle) if reached else (middle, high)
    return high


def linear_risk(dim: int, m: int, sigma: float, lean: float = 0.0, weight: float = 0.0) -> float:
    """The risk of c <z + a u, x> with the best c, for a signal that stays; z the sum of y x, u a unit vector.

    1 - E[y g]^2 / E[g^2]. With ``weight`` a = 0 it is equivariant: a step of gradient descent from 0. The
    cosine ``lean`` of u to the signal is what a start that leans towards it would know.
    """
    toward = m + weight * lean
    square = toward**2 + sigma**2 * m
    length = m**2 + sigma**2 * m * dim + 2 * weight * lean * m + weight**2
    return 1 - toward**2 / (square + sigma**2 * length)


def _floor(known: Floats) -> Interval:
    return mean_interval(1 - known**2)


def _patch(
    rng: Any, dim: int, count: Floats, sigma: float, holds: bool
) -> tuple[Floats, tuple[Floats, Floats]]:
    """|z|^2, and (|x|^2, <z, x>), for patches with ``count`` examples; x holds +signal, or only noise.

    Along the signal: z_1 = count + sigma sqrt(count) N, x_1 = 1 + sigma N. Across it z has the squared length
    sigma^2 count chi^2_{D-1}, x a part along z's and a rest sigma^2 chi^2_{D-2}.
    """
    normal = rng.standard_normal((4, *count.shape))
    spread = sigma * np.sqrt(count)
    along = count + spread * normal[0]
    across = spread * np.sqrt(_chi2(rng, dim - 1, count.shape))
    first = float(holds) + sigma * normal[1]
    second = sigma * normal[2] if dim > 1 else np.zeros(count.shape)
    rest = sigma**2 * _chi2(rng, dim - 2, count.shape)
    return along**2 + across**2, (first**2 + second**2 + rest, along * first + across * second)


def _chi2(rng: Any, freedom: int, shape: tuple[int, ...]) -> Floats:
    return rng.chisquare(freedom, shape) if freedom > 0 else np.zeros(shape)


def _likelihoods(
    square: Floats, terms: tuple[Floats, Floats], dim: int, sigma: float
) -> tuple[Floats, Floats]:
    """log p(z, x | y) / p(z) for y = 1 and -1: log psi(|z + y x| / sigma^2) - log psi(|z| / sigma^2)."""
    own, inner = terms
    before = log_mean(np.sqrt(square) / sigma**2, dim)
    plus, minus = (
        log_mean(np.sqrt(np.maximum(square + own + 2 * sign * inner, 0)) / sigma**2, dim) - before
        for sign in (1, -1)
    )
    return plus, minus


def _separate(rng: Any, patches: int, dim: int, sigma: float, m: int, draws: int) -> Floats:
    """E[y | x, S] for directions of their own; the signal of x is in the first patch."""
    count = rng.multinomial(m, np.full(patches, 1 / patches), draws).astype(float)
    first = _patch(rng, dim, count[:, :1], sigma, True)
    others = _patch(rng, dim, count[:, 1:], sigma, False)
    square, own, inner = (
        np.concatenate(pair, axis=1)
        for pair in ((first[0], others[0]), (first[1][0], others[1][0]), (first[1][1], others[1][1]))
    )
    return posterior(*_likelihoods(square, (own, inner), dim, sigma))


def _shared(rng: Any, patches: int, dim: int, sigma: float, m: int, draws: int) -> Floats:
    """E[y | x, S] for one direction; patches without signal are noise, of which |x|^2 and <z, x> matter."""
    square, (own, inner) = _patch(rng, dim, np.full((draws, 1), float(m)), sigma, True)
    toward = sigma * rng.standard_normal((draws, patches - 1))
    rest = sigma**2 * _chi2(rng, dim - 1, toward.shape)
    own = np.concatenate([own, toward**2 + rest], axis=1)
    inner = np.concatenate([inner, np.sqrt(square) * toward], axis=1)
    return posterior(*_likelihoods(np.broadcast_to(square, own.shape), (own, inner), dim, sigma))
