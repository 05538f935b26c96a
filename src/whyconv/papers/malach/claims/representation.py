"""Malach & Shalev-Shwartz, Lemma 6: a random first layer makes every k-pattern linear."""

from __future__ import annotations

from typing import ClassVar

from whyconv.claims import Claim
from whyconv.lazy import np
from whyconv.papers.malach.exact import bounds, k_patterns, window_features
from whyconv.papers.malach.exact.window_descent import Ramp
from whyconv.papers.malach.exact.window_features import Activation
from whyconv.verdict import Evidence, Verdict


class Lemma6(Claim, name="malach.lemma6"):
    """q > 2^(k+3) log(2^k/delta) random filters: readouts of norm 2^(k+1) k/sqrt(q) give every k-pattern.

    W ~ {-1/k, 1/k}^{q x k}, b_i = 1/k - 1; exactly, with probability 1 - delta over W, for all k-patterns
    at once. Corrected in two places. Windows run to n - k + 1: with the printed n - k, a pattern at the
    last window has no readout. And sigma must be 0 below -1/k and 1/k at 1/k, as a ReLU or a clipped one;
    Theorem 4's "|sigma| <= c, |sigma'| <= 1" does not give that (shown: a ramp that is affine on all values
    that occur).

    Routes: tables over types, all 2^(2^k) targets at once for k <= 10, |u*|^2 = k^2 sum 1/|J_z| and the exact
    binomial union bound; and Definition 1 on drawn filters with the least-norm readout from least squares,
    all targets for k <= 3, and the probability itself counted in integers for k <= 2.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Lemma 6"
    expected: ClassVar[Verdict] = "holds as corrected"
    broken: ClassVar = "bias 0 in place of 1/k - 1: filters answer to windows they do not match"

    def decide(self, broken: str) -> Evidence:
        delta, clipped = 0.1, Ramp(cap=1.0)

        def bias(k: int) -> float:
            return 0.0 if broken else 1 / k - 1

        rng = np.random.default_rng(6)
        error, low, high, failure = 0.0, np.inf, 0.0, 0.0
        for k in range(1, 11):
            width = bounds.width_needed(k, delta)
            counts = rng.multinomial(width, np.full(2**k, 0.5**k))
            norm = window_features.separator_norm(counts, k) / bounds.separator_bound(width, k)
            low, high = min(low, 2 * norm), max(high, norm)
            error = max(error, window_features.worst_error_over_targets(k, clipped, bias(k)))
            failure = max(failure, bounds.union_failure(width, k) / delta)
        counted = max(
            bounds.failure_by_counting(width, k) / bounds.union_failure(width, k)
            for k, width in ((k, bounds.width_needed(k, delta)) for k in (1, 2))
        )

        residual, off = 0.0, 0.0
        for k, n_bits in ((1, 3), (2, 4), (3, 5), (4, 6), (5, 7)):
            worst, gap = _by_least_squares(n_bits, k, bounds.width_needed(k, delta), clipped, bias(k))
            residual, off = max(residual, worst), max(off, gap)

        last = k_patterns.labels(4, k_patterns.target("parity", 2), 3)[:, None]
        inputs, filters = k_patterns.cube(4), k_patterns.cube(2)[rng.integers(4, size=200)] / 2
        short = window_features.features(filters, inputs, range(2), clipped, bias(2))
        affine = window_features.features(filters, inputs, range(3), Ramp(cap=2.0, shift=1.5), bias(2))
        printed = [window_features.least_norm_readouts(table, last)[1] for table in (short, affine)]

        exact = error <= 1e-12 and residual <= 1e-9 and off <= 1e-9
        bounded = low >= 1 - 1e-12 and high <= 1 / np.sqrt(2) and failure <= 1 and counted <= 1 + 1e-12
        verdict: Verdict = "fails"
        if exact and bounded:
            verdict = "holds as corrected" if max(printed) > 1e-3 else "holds"
        return Evidence(
            verdict,
            {
                "worst |h - f| over all g, k <= 10": error,
                "worst |h - f|, drawn filters, k <= 5": residual,
                "largest |u*| / (2^(k+1) k / sqrt(q))": high,
                "least |u*| / (2^k k / sqrt(q))": low,
                "|u*| against the least norm, gap": off,
                "largest P(bad start) / delta": failure,
                "best |h - f| at the last window, n - k windows": printed[0],
                "best |h - f|, sigma affine where it counts": printed[1],
            },
        )


def _by_least_squares(
    n_bits: int, k: int, width: int, activation: Activation, bias: float
) -> tuple[float, float]:
    """Worst |h - f| of least-norm readouts at j* = n - k + 1, and the worst relative gap of norm to |u*|.

    All targets for k <= 3, 64 drawn ones beyond.
    """
    rng = np.random.default_rng(60 + k)
    signs = rng.choice([-1.0, 1.0], (width, k))
    inputs, window = k_patterns.cube(n_bits), n_bits - k
    tables = k_patterns.cube(2**k) if k <= 3 else rng.choice([-1.0, 1.0], (64, 2**k))
    values = np.stack([k_patterns.labels(n_bits, table, window + 1) for table in tables], axis=1)
    answers = window_features.features(signs / k, inputs, range(window, window + 1), activation, bias)
    readouts, residual = window_features.least_norm_readouts(answers, values)
    _, copies = np.unique(signs, axis=0, return_counts=True)
    exact = window_features.separator_norm(copies, k)
    return residual, float(np.abs(np.linalg.norm(readouts, axis=0) / exact - 1).max())
