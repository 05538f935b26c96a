"""The bounds of Malach & Shalev-Shwartz, section 3, with every constant written out.

Symbols everywhere: ``n_bits`` = n, ``k_window`` = k, ``width`` = q filters, ``steps`` = T, ``step`` = eta,
``cap`` = c (|sigma| <= c, |sigma'| <= 1), ``delta`` = the probability of a bad start. log is natural.
"""

from __future__ import annotations

from math import comb, floor, log, sqrt
from typing import Literal

from whyconv.lazy import stats

Reading = Literal["printed", "corrected"]
Terms = tuple[float, float, float]


def width_needed(k_window: int, delta: float) -> int:
    """The smallest q with q > 2^(k+3) log(2^k / delta), the condition of Theorem 4 and Lemma 6."""
    return floor(2 ** (k_window + 3) * log(2**k_window / delta)) + 1


def union_failure(width: int, k_window: int) -> float:
    """2^k P[Bin(q, 2^-k) < q 2^(-k-1)]: the exact union bound on "some |J_z| is below half its mean".

    The proof of Lemma 6 bounds each tail by Chernoff's e^(-q 2^-k / 8).
    """
    few = -(-width // 2 ** (k_window + 1)) - 1
    return float(2**k_window * stats.binom.cdf(few, width, 0.5**k_window))


def failure_by_counting(width: int, k_window: int) -> float:
    """P(some |J_z| < q 2^(-k-1)) exactly, by counting the words of length q over 2^k letters in integers.

    Letter by letter, ways[s] = number of ways to fill s places of q with enough copies of each letter so
    far. Cost 2^k q^2 / 2 products of long integers.
    """
    least = -(-width // 2 ** (k_window + 1))
    ways = [1] + [0] * width
    for _ in range(2**k_window):
        ways = [
            sum(ways[total - copies] * comb(total, copies) for copies in range(least, total + 1))
            for total in range(width + 1)
        ]
    words = 2 ** (k_window * width)
    return (words - ways[width]) / words


def separator_bound(width: int, k_window: int) -> float:
    """2^(k+1) k / sqrt(q), Lemma 6's bound on |u*|; the exact range is [2^k k / sqrt(q), sqrt(2) times it].

    |u*|^2 = k^2 sum_z 1/|J_z|, least at equal counts; |J_z| >= q 2^(-k-1) at most doubles it.
    """
    return 2 ** (k_window + 1) * k_window / sqrt(width)


def readout_bound(step: float, steps: int, width: int, cap: float) -> float:
    """c eta T sqrt(q) >= |u^(T,j)|, Lemma 8. The lemma is printed without c; its proof (appendix) has it."""
    return cap * step * steps * sqrt(width)


def drift_bound(step: float, steps: int, n_bits: int, k_window: int, width: int, cap: float) -> float:
    """c eta^2 T^2 n sqrt(q k) >= |W^(T) - W^(0)|_F, Lemma 8."""
    return cap * (step * steps) ** 2 * n_bits * sqrt(width * k_window)


def sharp_drift_bound(step: float, steps: int, windows: int, k_window: int, width: int, cap: float) -> float:
    """c eta^2 T (T-1)/2 * windows * sqrt(q k): Lemma 8 without slack in its proof.

    The t-th gradient is at most windows * |u^(t)| sqrt(k), and sum_{t<T} t = T (T-1)/2. ``windows`` is
    n - k + 1 for a CNN, and 1 for an LCN, where the gradient of W^(j) comes from its own window only.
    """
    return cap * step**2 * steps * (steps - 1) / 2 * windows * sqrt(width * k_window)


def loss_drift_bound(
    step: float, steps: int, n_bits: int, k_window: int, width: int, cap: float, norms: float
) -> float:
    """c eta^2 T^2 n k sqrt(q) sum_j |u*^(j)| >= |L(u*, W^(T)) - L(u*, W^(0))|, Lemma 9.

    ``norms`` = sum_j |u*^(j)|.
    """
    return cap * (step * steps) ** 2 * n_bits * k_window * sqrt(width) * norms


def sharp_loss_drift_bound(
    step: float, steps: int, windows: int, k_window: int, width: int, cap: float, norms: float
) -> float:
    """Lemma 9 with :func:`sharp_drift_bound` in its proof: that times sqrt(k) sum_j |u*^(j)|."""
    return sharp_drift_bound(step, steps, windows, k_window, width, cap) * sqrt(k_window) * norms


def step_size(n_bits: int, width: int, steps: int, reading: Reading = "corrected") -> float:
    """eta of Theorem 4: corrected sqrt(n) / (sqrt(q) T), printed sqrt(n) / sqrt(q T).

    Only the former gives the stated terms; the earlier version of the paper has it in the proof.
    """
    if reading == "printed":
        return sqrt(n_bits / (width * steps))
    return sqrt(n_bits / width) / steps


def derived_terms(n_bits: int, k_window: int, width: int, steps: int, step: float, cap: float = 1.0) -> Terms:
    """The proof's last line before eta is chosen, for any eta = ``step``:

    2 c eta^2 T^2 n k^2 2^k,  2 (2^k k)^2 / (q eta T),  c^2 eta n q.
    """
    travel = step * steps
    return (
        2 * cap * travel**2 * n_bits * k_window**2 * 2**k_window,
        2 * (2**k_window * k_window) ** 2 / (width * travel),
        cap**2 * step * n_bits * width,
    )


def stated_terms(n_bits: int, k_window: int, width: int, steps: int, cap: float = 1.0) -> Terms:
    """Theorem 4's bound on the average loss, as printed:

    2 c n^2 k^2 2^k / q,  2 (2^k k)^2 / sqrt(q n),  c^2 n^1.5 sqrt(q) / T.
    """
    return (
        2 * cap * n_bits**2 * k_window**2 * 2**k_window / width,
        2 * (2**k_window * k_window) ** 2 / sqrt(width * n_bits),
        cap**2 * n_bits**1.5 * sqrt(width) / steps,
    )


def local_terms(n_bits: int, k_window: int, width: int, steps: int, cap: float = 1.0) -> Terms:
    """The same for a locally connected network (section 3.1), with a first term smaller by the factor n.

    The gradient of W^(j) involves u^(j) only, so Lemmas 8 and 9 hold for it without n: 2 c n k^2 2^k / q.
    """
    first, second, third = stated_terms(n_bits, k_window, width, steps, cap)
    return first / n_bits, second, third


def better_travel(n_bits: int, k_window: int, width: int, cap: float = 1.0) -> float:
    """tau = eta T = (2^k / (2 c n q))^(1/3), which minimises the first two terms (T large enough).

    The bound then falls like q^(-2/3), where the paper's tau = sqrt(n/q) gives q^(-1/2).
    """
    return (2**k_window / (2 * cap * n_bits * width)) ** (1 / 3)
