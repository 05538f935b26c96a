"""The paper's own law of signals, implemented directly: a second route beside :mod:`whyconv.exact.signal`.

Lahoti et al. 2024 (reconstructed): x = (x_1, ..., x_k), x_i = sigma N(0, I_d) + y w* [i = t], y fair, t
uniform. Shares no code with whyconv.exact.signal. Symbols: ``signal`` = w*, ``sigma``, ``filters`` =
(w_1, ..., w_k), ``bias`` = b.
"""

from __future__ import annotations

from functools import cache

from whyconv.lazy import Floats, np, special

REACH = 12.0
"""Range of Gaussian integrals in standard deviations; the rest is below 1e-30."""


def draw(
    signal: Floats, patches: int, sigma: float, count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """``count`` inputs (count, k, d) and their labels."""
    x = sigma * rng.standard_normal((count, patches, len(signal)))
    y = rng.choice([-1.0, 1.0], count)
    x[np.arange(count), rng.integers(patches, size=count)] += y[:, None] * signal
    return x, y


def network(filters: Floats, bias: float, x: Floats) -> Floats:
    """f(x) = sum_i phi_b(<w_i, x_i>), phi_b(z) = max(0, z - b) - max(0, -z - b), for inputs (count, k, d)."""
    z = (x * filters).sum(axis=2)
    return (np.maximum(z - bias, 0) - np.maximum(-z - bias, 0)).sum(axis=1)


def sampled_risk(filters: Floats, bias: float, x: Floats, y: Floats) -> tuple[float, float]:
    """The mean of (y - f)^2 over drawn inputs, and its standard error."""
    losses = (y - network(filters, bias, x)) ** 2
    return float(losses.mean()), float(losses.std(ddof=1) / len(losses) ** 0.5)


def moments(alpha: float, s: float, bias: float) -> tuple[float, float]:
    """(m, M): the mean of phi_b(alpha + s N) and of its square, by quadrature.

    Gauss-Legendre with 200 points on each of the three pieces between the kinks. Error: about 1e-15.
    """
    nodes, weights = _points()
    kinks = np.clip([(-bias - alpha) / s, (bias - alpha) / s], -REACH, REACH)
    m = square = 0.0
    for low, high in zip([-REACH, *kinks], [*kinks, REACH], strict=True):
        u = (low + high) / 2 + (high - low) / 2 * nodes
        z = alpha + s * u
        phi = np.sign(z) * np.maximum(np.abs(z) - bias, 0)
        density = weights * (high - low) / 2 * np.exp(-(u**2) / 2) / (2 * np.pi) ** 0.5
        m, square = m + float(phi @ density), square + float(phi**2 @ density)
    return m, square


@cache
def _points() -> tuple[Floats, Floats]:
    """Gauss-Legendre points and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(200)


def stated_risk(
    filters: Floats, bias: float, signal: Floats, sigma: float, noise_patches: int | None = None
) -> float:
    """R = 1 - (2/k) sum_i m(a_i, s_i) + (1/k) [sum_i M(a_i, s_i) + (k-1) sum_i M(0, s_i)].

    a_i = <w_i, w*>, s_i = sigma |w_i|; moments by quadrature. ``noise_patches`` other than k-1 breaks it.
    """
    k = len(filters)
    others = k - 1 if noise_patches is None else noise_patches
    total = 0.0
    for w in filters:
        s = sigma * float(np.linalg.norm(w))
        m, square = moments(float(w @ signal), s, bias)
        total += square - 2 * m + others * moments(0.0, s, bias)[1]
    return 1 + total / k


def scene_posterior(x: Floats, signal: Floats, sigma: float) -> Floats:
    """E[y | x] by Bayes' rule over the 2k scenes (y, t): the density of x is that of N(y mu_t, sigma^2 I)."""
    logs = []
    for y in (1.0, -1.0):
        for t in range(x.shape[1]):
            centre = np.zeros(x.shape[1:])
            centre[t] = y * signal
            logs.append(-((x - centre) ** 2).sum(axis=(1, 2)) / (2 * sigma**2))
    half = x.shape[1]
    up, down = special.logsumexp(logs[:half], axis=0), special.logsumexp(logs[half:], axis=0)
    return np.tanh((up - down) / 2)


def sinh_posterior(x: Floats, signal: Floats, sigma: float) -> Floats:
    """sum_t sinh(u_t) / sum_t cosh(u_t), u_t = <w*, x_t> / sigma^2; both divided by the largest term."""
    u = x @ signal / sigma**2
    top = np.abs(u).max(axis=1, keepdims=True)
    up, down = np.exp(u - top), np.exp(-u - top)
    return (up - down).sum(axis=1) / (up + down).sum(axis=1)


def largest_posterior(x: Floats, signal: Floats, sigma: float) -> Floats:
    """tanh(u_t) for the t with the largest |u_t|: what E[y | x] would be if that patch were the holder."""
    u = x @ signal / sigma**2
    return np.tanh(np.take_along_axis(u, np.abs(u).argmax(axis=1)[:, None], axis=1)[:, 0])


def linear_posterior(x: Floats, signal: Floats, sigma: float) -> Floats:
    """tanh(sum_t <w*, x_t> / sigma^2), which would be E[y | x] if every patch held the signal."""
    return np.tanh((x @ signal).sum(axis=1) / sigma**2)
