"""Step one of the two-step algorithm in closed form: the mean alignment of filters, with nothing neglected.

From w_0 ~ N(0, I / (10 k d)^2), b = 0, a step of size 1 on the correlation -y f with m examples gives

    LCN: w_i = w_0 + (N_i / m) w* + (sigma / sqrt(m)) xi,    N_i ~ Binomial(m, 1/k),
    CNN: w   = w_0 + w* + sigma sqrt(k / m) xi,              xi ~ N(0, I_d),

as long as no |z| is 0: one Gaussian vector around a multiple of w*, whose mean cosine is known. The formula
1/sqrt(1 + sigma^2 k^2 d / m) of :mod:`.rates` puts N_i = m/k and replaces lengths by their means.
Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``, ``m``.
"""

from __future__ import annotations

from whyconv.lazy import Floats, np, special, stats


def mean_cosine(distance: Floats, dim: int) -> Floats:
    """E <e, X> / |X| for X ~ N(u e, I), |e| = 1, u = ``distance``, in ``dim`` dimensions.

    u Gamma((d+1)/2) / (sqrt(2) Gamma(d/2 + 1)) 1F1(1/2; d/2 + 1; -u^2/2).
    """
    scale = np.exp(special.gammaln((dim + 1) / 2) - special.gammaln(dim / 2 + 1)) / 2**0.5
    return distance * scale * special.hyp1f1(0.5, dim / 2 + 1, -(np.asarray(distance) ** 2) / 2)


def mean_alignment(network: str, patches: int, patch_dim: int, sigma: float, m: int) -> float:
    """E <w_i, w*> / |w_i| after step one, for ``network`` = lcn or cnn."""
    start = 1 / (10 * patches * patch_dim) ** 2
    if network == "cnn":
        return float(mean_cosine(1 / np.sqrt(start + sigma**2 * patches / m), patch_dim))
    count = np.arange(m + 1)
    chance = stats.binom.pmf(count, m, 1 / patches)
    return float(chance @ mean_cosine(count / m / np.sqrt(start + sigma**2 / m), patch_dim))
