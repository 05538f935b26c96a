"""How many filters are lucky at the start (Brutzkus & Globerson, Lemma 5.2), exactly.

A filter is *positively lucky* if o_1 excites it most among all patterns but o_2, positively, and its
readout weight is +1; *negatively lucky* with o_2 for o_1 and -1. The two exclude each other and the k
filters are independent, so the two counts are trinomial (k; p, p, 1 - 2p).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor, log

from whyconv.lazy import NDArray, np, special
from whyconv.papers.brutzkus.exact import bounds


def luck(patterns: int) -> Fraction:
    """p = (1 - 2^(1-l)) / (2 (l-1)): the probability that one filter is positively lucky.

    The l - 1 products with O without o_2 are exchangeable and symmetric; with probability 1 - 2^(1-l)
    one is positive, then the first is the largest with probability 1/(l-1); the readout sign halves it.
    The paper prints d for l; the two differ when there are fewer patterns than dimensions.
    """
    return Fraction(2 ** (patterns - 1) - 1, 2 ** (patterns - 1) * 2 * (patterns - 1))


def count_range(channels: int, size: int) -> tuple[int, int]:
    """The integers between the bounds of Lemma 5.2, both ends included; ``channels`` = k."""
    low, high = bounds.lucky_range(channels, size)
    return ceil(low), floor(high)


def failure(channels: int, p: float, low: int, high: int) -> float:
    """P(not both counts in [low, high]) for (N_+, N_-) trinomial (channels; p, p, 1 - 2p).

    P(N_+ outside) + sum_{a inside} P(N_+ = a) P(Bin(k - a, p / (1-p)) outside): all terms are positive, so
    even a failure of 1e-13 is accurate. Cost high - low binomial tails.
    """

    def outside(trials: NDArray[np.int64], q: float) -> NDArray[np.float64]:
        """P(Bin(trials, q) < low or > high); SciPy's tails need 0 <= count < trials."""
        below = (
            np.where(trials >= low, special.bdtr(low - 1, np.maximum(trials, low), q), 1.0) if low else 0.0
        )
        return below + np.where(trials > high, special.bdtrc(high, np.maximum(trials, high + 1), q), 0.0)

    inside = np.arange(low, min(high, channels) + 1)
    ways = (
        special.gammaln(channels + 1) - special.gammaln(inside + 1) - special.gammaln(channels - inside + 1)
    )
    mass = np.exp(ways + inside * log(p) + (channels - inside) * np.log1p(-p))
    return float(outside(np.array(channels), p) + mass @ outside(channels - inside, p / (1 - p)))


def failure_by_counting(channels: int, p: Fraction, low: int, high: int) -> float:
    """The same probability in integers, rounded once at the end.

    With p = a/b: success * b^k = sum_t C(k,t) a^t (b-2a)^(k-t) * #{splits of t lucky filters with both
    counts in range}, where the splits are sums of C(t, n_+). Cost (high - low)^2 integer additions.
    """
    a, b = p.numerator, p.denominator
    success = 0
    for lucky in range(2 * low, min(2 * high, channels) + 1):
        first, last = max(low, lucky - high), min(high, lucky - low)
        term = comb(lucky, first)
        splits = 0
        for count in range(first, last + 1):
            splits += term
            term = term * (lucky - count) // (count + 1)
        success += comb(channels, lucky) * a**lucky * (b - 2 * a) ** (channels - lucky) * splits
    total = b**channels
    return (total - success) / total


def class_share_failure(samples: int) -> Fraction:
    """P(a class has less than its share of S_1, Eq. 14), ``samples`` = m_1 examples with fair labels.

    The paper bounds it by 4 e^(-m/36), m = 2 m_1 (Hoeffding gives half of that).
    """
    least = bounds.CLASS_SHARE * samples
    few = sum(comb(samples, count) for count in range(samples + 1) if min(count, samples - count) < least)
    return Fraction(few, 2**samples)
