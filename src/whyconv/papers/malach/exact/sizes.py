"""Corollary 5 of Malach & Shalev-Shwartz as a calculator: the q, T, eta and m that Theorem 4 requires.

The corollary hides constants and, for k = log n, prints too few logarithms: the second term of the bound,
2 (2^k k)^2 / sqrt(q n), is at most eps only for q >= 4 eps^-2 n^3 log^4 n, not log^2 n, and T then needs
log^2 n, not log n. Symbols as in :mod:`.bounds`; ``eps`` is the accuracy, ``delta`` the
probability of failure, half of it for the start and half for the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, log, log2, sqrt

from whyconv.errors import UserError
from whyconv.papers.malach.exact.bounds import Terms, stated_terms, step_size, width_needed
from whyconv.papers.malach.exact.k_patterns import require_sizes, window_count


@dataclass(frozen=True)
class Sizes:
    """Sufficient sizes of training and sample, and the three terms of Theorem 4 for them (sum <= eps/2)."""

    width: int
    steps: int
    step: float
    samples: int
    terms: Terms


def sizes(n_bits: int, k_window: int, eps: float, delta: float, cap: float = 1.0) -> Sizes:
    """Sufficient q, T, eta, m for some iterate to have an error of at most eps, with probability 1 - delta.

    q: the first two terms together at most eps/4, and q > 2^(k+3) log(2^(k+1) / delta). T: the third term at
    most eps/4. Then the average training loss is at most eps/2, so the iterate of least training loss is; m
    (:func:`samples_needed`) keeps its error within eps/2 of that. Equal halves make T nearly least, as T
    grows like 1 / (second term * third term).
    """
    require_sizes(n_bits, k_window)
    _require_rates(eps, delta, cap, k_window)
    try:
        first, second, _ = stated_terms(n_bits, k_window, 1, 1, cap)
        root = (second + sqrt(second**2 + eps * first)) / (eps / 2)
        width = max(ceil(root**2), width_needed(k_window, delta / 2))
        steps = ceil(stated_terms(n_bits, k_window, width, 1, cap)[2] / (eps / 4))
        samples = samples_needed(n_bits, k_window, width, eps / 2, delta / 2)
    except OverflowError:
        raise UserError(
            f"n = {n_bits}, k = {k_window}, eps = {eps} need numbers above 1e308; "
            "take a smaller k or a larger eps."
        ) from None
    terms = stated_terms(n_bits, k_window, width, steps, cap)
    return Sizes(width, steps, step_size(n_bits, width, steps), samples, terms)


def log_growth(samples: float, n_bits: int, k_window: int, width: int) -> float:
    """log of a bound on the number of ways trained networks can label ``samples`` inputs.

    First layer: 2 q m (n-k+1) kinks, linear in the q k filter weights; within one region of these the output
    is a polynomial of degree 2 in all P = q k + q (n-k+1) parameters. N polynomials of degree d in p <= N
    variables have at most 2 (2 e N d / p)^p sign patterns (Anthony & Bartlett, Theorem 8.3), so

        2 (4 e m (n-k+1) / k)^(q k) * 2 (4 e m / P)^P.

    Written for the clipped ReLU (two kinks); it replaces the O(P log P) that the paper cites for ReLU.
    """
    windows = window_count(n_bits, k_window)
    parameters = width * (k_window + windows)
    first = width * k_window * (1 + log(4 * samples) + log(windows / k_window))
    return 2 * log(2) + first + parameters * (1 + log(4 * samples / parameters))


def samples_needed(n_bits: int, k_window: int, width: int, gap: float, delta: float) -> int:
    """A sufficient m: 4 Pi(2m) exp(-gap^2 m / 8) <= delta, Pi as in :func:`log_growth`.

    With probability 1 - ``delta``, error and training error of every network then differ by at most ``gap``
    (Anthony & Bartlett, Theorem 4.3). This is about 0-1 error: hinge loss is unbounded, and the paper's VC
    argument does not apply to it. Found by doubling and bisection, to a relative 1e-9.
    """

    def enough(samples: float) -> bool:
        return log(4) + log_growth(2 * samples, n_bits, k_window, width) - gap**2 * samples / 8 <= log(delta)

    low = high = float(width * (k_window + window_count(n_bits, k_window)))
    while not enough(high):
        low, high = high, 2 * high
        if not isfinite(high):
            raise OverflowError("m is beyond floating point")
    while high - low > max(1.0, 1e-9 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return ceil(high)


def corollary_sizes(n_bits: int, eps: float, ratio: float = 1, *, printed: bool) -> tuple[float, float]:
    """q and T of Corollary 5 with every hidden constant 1, k = a log2 n, a = ``ratio``, log = log2.

    Printed, for any a: eps^-2 n^3 log^2 n and eps^-2 n^3 log n; corrected, for a >= 1: eps^-2 n^(4a-1) (a log
    n)^4 and eps^-2 n^(2a+1) (a log n)^2.
    """
    bits = log2(n_bits)
    if printed:
        return n_bits**3 / eps**2 * bits**2, n_bits**3 / eps**2 * bits
    k_window = ratio * bits
    return (
        n_bits ** (4 * ratio - 1) / eps**2 * k_window**4,
        n_bits ** (2 * ratio + 1) / eps**2 * k_window**2,
    )


def corollary_samples(n_bits: int, k_window: int, width: int, eps: float, delta: float) -> float:
    """m of Corollary 5 with the hidden constant 1: eps^-2 n k q log(n k q / delta)."""
    weights = n_bits * k_window * width
    return weights * log(weights / delta) / eps**2


def _require_rates(eps: float, delta: float, cap: float, k_window: int) -> None:
    if not 0 < eps <= 1:
        raise UserError(f"eps = {eps}: the accuracy lies between 0 and 1; give, say, 0.1.")
    if not 0 < delta < 1:
        raise UserError(f"delta = {delta}: a probability of failure lies between 0 and 1; give, say, 0.1.")
    if not (isfinite(cap) and cap >= 1 / k_window):
        raise UserError(
            f"c = {cap}: Lemma 6 needs an activation that reaches 1/k; give c of at least {1 / k_window:g}."
        )
