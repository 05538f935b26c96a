"""First and second moment of the soft threshold phi_b(z) = max(0, z-b) - max(0, -z-b) of a noisy number.

With e_p(mu) = E max(0, mu + Z)^p for a symmetric Z of standard deviation s,

    m = E phi_b(alpha + Z)   = e_1(alpha - b) - e_1(-alpha - b),
    M = E phi_b(alpha + Z)^2 = e_2(alpha - b) + e_2(-alpha - b),      b >= 0.

Z Gaussian: closed forms. Z = <v, eps> with independent coordinates of another symmetric law: the closed form
and a correction, an integral over the difference of the two characteristic functions.
"""

from __future__ import annotations

from whyconv import registry
from whyconv.functions import Named
from whyconv.lazy import ArrayLike, Floats, np, special

PERIOD = 64.0
"""Length, in standard deviations, of the interval on which a law is resolved: the step in t is 2 pi / 64."""
LARGEST_GRID = 2**12
"""Limit for the points in t: t up to 402 / s."""
LEVELS = 110
"""Depth of the continued fraction: full precision from 2 standard deviations on."""


def soft_threshold(z: ArrayLike, bias: ArrayLike) -> Floats:
    """phi_b(z), ``bias`` = b: odd, 0 from -b to b, of slope 1 beyond."""
    z, bias = np.asarray(z, float), np.asarray(bias, float)
    return np.maximum(z - bias, 0) - np.maximum(-z - bias, 0)


def gaussian_moments(alpha: ArrayLike, s: ArrayLike, bias: ArrayLike) -> tuple[Floats, Floats]:
    """(m, M) for Z = s N(0, 1); arrays are broadcast, s = 0 gives phi_b(alpha) and its square.

    e_1 = mu Phi(mu/s) + s phi(mu/s), e_2 = (mu^2 + s^2) Phi(mu/s) + mu s phi(mu/s), Phi and phi the normal
    distribution and density. Tails avoid differences: :func:`_tails`. The relative error of M is below
    1e-14 + 4e-16 z^2, z = (b - |alpha|) / s (an exponential of a rounded z^2), while M > 1e-300; that of m,
    too, except for |alpha| << s, where it is a difference of two nearly equal numbers.
    """
    alpha, s, bias = (np.asarray(part, float) for part in (alpha, s, bias))
    if np.any(bias < 0) or np.any(s < 0):
        raise ValueError(
            "a soft threshold needs bias >= 0, and a standard deviation s >= 0; give such numbers"
        )
    up1, up2 = _ramp(alpha - bias, s)
    down1, down2 = _ramp(-alpha - bias, s)
    return up1 - down1, up2 + down2


def noise_moments(law: str, weights: ArrayLike, alpha: ArrayLike, bias: ArrayLike) -> tuple[Floats, Floats]:
    """(m, M) for Z = <v, eps>, a row v of ``weights`` (rows, d) for each row of ``alpha`` (rows, ...).

    ``law`` of the independent coordinates of eps, of variance 1: named as in :mod:`whyconv.tasks.noise_laws`.
    With psi the characteristic function of Z (a product over coordinates, of 1 / (1 + v_j^2 t^2 / 2) for the
    Laplace law) and psi_G that of a Gaussian of the same variance,

        e_1 - e_1^G = (1/pi) int_0^oo (psi_G - psi)(t) cos(t mu) / t^2 dt,
        e_2 - e_2^G = (2/pi) int_0^oo (psi_G - psi)(t) sin(t mu) / t^3 dt,

    by the trapezoid rule, which is exact up to the law's tail beyond 32 s and the truncation in t. The sums
    are taken at mu itself, not interpolated from an FFT's grid. Error, measured against closed forms: below
    1e-11 s (m) and 1e-13 s^2 (M) for weights spread over three coordinates or more (1e-14 from six on), below
    2e-8 s and 2e-9 s^2 for one or two.
    Cost: t-points (128 to 4096) times entries; rows that are equal up to order and sign are computed once.
    """
    weights, alpha, bias = (np.asarray(part, float) for part in (weights, alpha, bias))
    s = np.linalg.norm(weights, axis=1).reshape((-1,) + (1,) * (alpha.ndim - 1))
    m, square = gaussian_moments(alpha, s, bias)
    if law == "gaussian":
        return m, square
    named = registry.find("noise law", law)
    m, square = m.copy(), square.copy()
    up, down = np.broadcast_arrays(alpha - bias, -alpha - bias)
    kinds, kind = np.unique(np.sort(np.abs(weights), axis=1), axis=0, return_inverse=True)
    for number, row in enumerate(kinds):
        length = float(np.linalg.norm(row))
        if length == 0:
            continue
        mine = np.flatnonzero(kind.ravel() == number)
        first_up, second_up = _corrections(named, row / length, up[mine] / length)
        first_down, second_down = _corrections(named, row / length, down[mine] / length)
        m[mine] += length * (first_up - first_down)
        square[mine] += length**2 * (second_up + second_down)
    return m, square


def _ramp(mu: Floats, s: Floats) -> tuple[Floats, Floats]:
    """(e_1, e_2) of mu + s N; above 0 from e_1(mu) = mu + e_1(-mu), e_2(mu) = mu^2 + s^2 - e_2(-mu)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.where(s > 0, np.abs(mu) / s, np.where(mu == 0, 0.0, np.inf))
    first, second = _tails(far)
    above = mu > 0
    return (
        np.where(above, mu, 0.0) + s * first,
        np.where(above, mu**2 + s**2 - s**2 * second, s**2 * second),
    )


def _tails(z: Floats) -> tuple[Floats, Floats]:
    """E max(0, N - z) and E max(0, N - z)^2 for z >= 0, to full relative precision.

    They are I_1(x) / sqrt(2) and 2 I_2(x), x = z / sqrt(2), I_n the n-th repeated integral of erfc, and
    I_{n-1} = 2 x I_n + 2 (n+1) I_{n+1} makes the ratio I_n / I_{n-1} a continued fraction; used for z > 2.
    """
    near = np.minimum(z, 2.0)
    tail, density = special.ndtr(-near), np.exp(-(near**2) / 2) / (2 * np.pi) ** 0.5
    first, second = density - near * tail, (near**2 + 1) * tail - near * density
    x = np.maximum(z, 2.0) / 2**0.5
    ratio, before = np.zeros_like(x), np.zeros_like(x)
    for n in range(LEVELS, 0, -1):
        ratio, before = 1 / (2 * x + 2 * (n + 1) * ratio), ratio
    far = special.erfc(x) * ratio
    return np.where(z <= 2, first, far / 2**0.5), np.where(z <= 2, second, 2 * far * before)


def _corrections(law: Named, unit: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """e_1 - e_1^G and e_2 - e_2^G at ``mu`` for a row of length one; 0 beyond half a period."""
    characteristic, envelope = law.companion("characteristic"), law.companions["envelope"]
    step, size = 2 * np.pi / PERIOD, 128 if envelope else LARGEST_GRID
    while size < LARGEST_GRID and np.prod(envelope(unit, size * step)) > 1e-16 * (size * step) ** 2:
        size *= 2
    t = step * np.arange(1, size + 1)
    psi = np.ones(size)
    for v in unit[unit > 0]:
        psi *= characteristic(v, t)
    difference = (np.exp(-(t**2) / 2) - psi) * step / np.pi
    flat = mu.ravel()
    first, second = np.zeros_like(flat), np.zeros_like(flat)
    inside = np.flatnonzero(np.abs(flat) < PERIOD / 2)
    for part in np.array_split(inside, -(-inside.size * size // 2**22) or 1):
        angle = np.outer(flat[part], t)
        first[part] = np.cos(angle) @ (difference / t**2)
        second[part] = np.sin(angle) @ (2 * difference / t**3)
    return first.reshape(mu.shape), second.reshape(mu.shape)
