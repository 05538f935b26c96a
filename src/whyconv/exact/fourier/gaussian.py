"""The squared Fourier coefficient, averaged over Gaussian weights, without sampling.

For w_i ~ N(0, v) independent, E[sin(tw) sin(uw)] = exp(-v (t-u)^2 / 2) (1 - exp(-2vtu)) / 2 =: p(t, u), the
same with cosines and + =: q(t, u), so squaring the integral of :mod:`.trapezoid` gives

    E s'hat(A)^2 = 1/pi^2 int_0^oo int_0^oo Dhat(t) Dhat(u) phi_a(tb) phi_a(ub) p^a q^(n-a) dt du,  a = |A|

(for shat: Dhat / t and a phi of order a - 1). A Monte Carlo mean cannot replace it, because the square is too
skewed: at n = 256, |A| = 8 means of 400 draws were too small by 7 to 18 of their own standard errors.
"""

from __future__ import annotations

from math import log, pi, sqrt

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation
from whyconv.exact.fourier.scaled import Floats, Scaled
from whyconv.exact.fourier.trapezoid import NEGLIGIBLE, front, phases
from whyconv.lazy import np

MOST_POINTS = 2**13
"""Limit for the points in each variable; the cost is their square."""


def expected_square(
    activation: Activation, n_bits: int, size: int, bias: float, std: float, derivative: bool
) -> Scaled:
    """E over w ~ N(0, ``std``^2)^n of shat(A)^2, or of s'hat(A)^2, |A| = ``size``; analytic activations.

    The same rule in both variables, t = (m + 1/2) h. Its aliasing error is E[shat ghat], g = s(. + 2 pi / h),
    at most sqrt(E shat^2 E ghat^2); as E ghat(A)^2 <= E g(z)^2 / C(n, a) with z ~ N(b, n std^2), a period of
    45 + a + |b| + 24 sqrt(n) std makes it negligible beside E shat^2. Cost: a few hundred points squared.
    """
    order = size if derivative else size - 1
    t, step = _points(activation, n_bits, size, bias, std, not derivative)
    log_front, phase = front(activation, t, not derivative), phases(np.array([order]), t * bias)[0]
    doubt = 8 + size + np.abs(t * bias)
    lead, total, error = -np.inf, 0.0, 0.0
    for start in range(0, len(t), rows := max(1, 2**20 // len(t))):
        block = slice(start, start + rows)
        logs = _log_kernel(n_bits, size, std, t[block, None], t) + log_front[block, None] + log_front
        top = max(lead, float(logs.max()))
        with np.errstate(under="ignore"):
            terms = np.exp(logs - top) * phase[block, None] * phase
            fade = np.exp(lead - top)
        total = total * fade + float(terms.sum())
        error = error * fade + float((np.abs(terms) * (doubt[block, None] + doubt + np.abs(logs))).sum())
        lead = top
    share = (step / pi) ** 2
    found = Scaled(share * total, lead, share * np.finfo(np.float64).eps * error)
    if size == 0 and not derivative and activation.centre:
        found = found + 2 * activation.centre * _mean(activation, n_bits, bias, std) + activation.centre**2
    return found


def _log_kernel(n_bits: int, size: int, std: float, t: Floats, u: Floats) -> Floats:
    """log of p^a q^(n-a)."""
    fall = np.expm1(-2 * std * std * t * u) / 2
    far = -n_bits * (std * (t - u)) ** 2 / 2
    return far + (size * np.log(-fall) if size else 0.0) + (n_bits - size) * np.log1p(fall)


def _points(
    activation: Activation, n_bits: int, size: int, bias: float, std: float, over_t: bool
) -> tuple[Floats, float]:
    """The t = (m + 1/2) h whose terms are not negligible, and h.

    p^a q^(n-a) is a covariance, so K(t, u)^2 <= K(t, t) K(u, u) and the diagonal decides. The grid ends where
    a log-concave bound on the diagonal, by p(t, t) <= min(1/2, v t^2) and q <= 1, is negligible.
    """
    step = 2 * pi / (45 + size + abs(bias) + 24 * sqrt(n_bits) * std)
    points = 64
    while True:
        t = step * (0.5 + np.arange(points, dtype=np.float64))
        outer = 2 * front(activation, t, over_t)
        diagonal = _log_kernel(n_bits, size, std, t, t) + outer
        bound = outer[-1] + size * min(log(0.5), 2 * log(std * t[-1]))
        matters = diagonal > diagonal.max() - 2 * NEGLIGIBLE
        ends = bound < diagonal.max() - 2 * NEGLIGIBLE
        if ends and matters.sum() <= MOST_POINTS:
            return t[matters], step
        points *= 2
        if ends or points > 2**9 * MOST_POINTS:
            raise UserError(
                f"Weights of standard deviation {std:.3g} and bias {bias:.3g} were given at n = {n_bits}, "
                "which need too fine a grid; scale the neuron down."
            )


def _mean(activation: Activation, n_bits: int, bias: float, std: float) -> Scaled:
    """E s(z) - s(0) for z ~ N(b, n std^2), by the one-dimensional integral; b = ``bias``."""
    t, step = _points(activation, 1, 0, bias, std * sqrt(n_bits), True)
    damped = np.exp(front(activation, t, True) - n_bits * (std * t) ** 2 / 2)
    terms = step / pi * damped * np.sin(t * bias)
    return Scaled(float(terms.sum()), 0.0, float(np.finfo(np.float64).eps * 8 * np.abs(terms).sum()))
