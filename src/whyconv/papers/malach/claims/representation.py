"""Malach & Shalev-Shwartz, Lemma 6: a random first layer makes every k-pattern linear."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import ClassVar, SupportsFloat

from whyconv.claims import Claim, Instance
from whyconv.claims.errata import Erratum
from whyconv.claims.seeds import draw_seeds, generator
from whyconv.exact.transcription import DIFFER, differing
from whyconv.lazy import np
from whyconv.papers.malach.exact import bounds, k_patterns, oracle_problem, printed, window_features
from whyconv.papers.malach.exact.runs import scarce
from whyconv.papers.malach.exact.window_descent import Ramp
from whyconv.papers.malach.exact.window_features import Activation
from whyconv.verdict import Evidence, Verdict, kept

DELTA = 0.1


class Lemma6(Claim, name="malach.lemma6"):
    """q > 2^(k+3) log(2^k/delta) random filters: readouts of norm 2^(k+1) k/sqrt(q) give every k-pattern.

    W ~ {-1/k, 1/k}^{q x k}, b_i = 1/k - 1; exactly, with probability 1 - delta over W, for all k-patterns
    at once. Corrected in two places. Windows run to n - k + 1: with the printed n - k, a pattern at the
    last window has no readout. And sigma must be 0 below -1/k and 1/k at 1/k, as a ReLU or a clipped one;
    Theorem 4's "|sigma| <= c, |sigma'| <= 1" does not give that (shown: a ramp that is affine on all values
    that occur).

    Routes: tables over types, all 2^(2^k) targets at once for k <= 10, |u*|^2 = k^2 sum 1/|J_z| and the
    exact binomial union bound; and Definition 1 on drawn filters with the least-norm readout from least
    squares, its labels from a definition of its own, all targets for k <= 3, and the probability itself
    counted in integers for k <= 2. The bound on |u*| is not sharp: where all |J_z| >= q 2^(-k-1), as the
    proof has it, |u*| is at most 1/sqrt(2) of it, which a start with the fewest copies allowed nearly
    attains.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Lemma 6"
    expected: ClassVar[Verdict] = "holds as corrected"
    erratum: ClassVar[Erratum | None] = Erratum(
        printed=(
            "Readouts u*^(1), ..., u*^(n-k) give every k-pattern, for an activation of which Theorem "
            "4 asks |sigma| <= c, |sigma'| <= 1."
        ),
        corrected=(
            "Readouts u*^(1), ..., u*^(n-k+1), and sigma that is 0 below -1/k and 1/k at 1/k, as a "
            "(clipped) ReLU."
        ),
        why=(
            "A pattern at the last window has no readout among the printed ones; and a ramp that is "
            "affine on all values that occur meets Theorem 4's hypothesis but its features do not "
            "span parity."
        ),
        breaks=(
            "The sum over windows ends at n - k (Definition 1 and Lemma 6) where there are n - k + 1 "
            "windows of k bits; the proof of Lemma 6 uses sigma(<w, x> + b) = 0 for all filters but "
            "the matching ones."
        ),
    )
    broken: ClassVar = {
        "bias-0": "bias 0 in place of 1/k - 1: filters answer to windows they do not match",
        "bias-step": "bias 3/k - 1: filters also answer to windows that differ in one bit",
        "half": "half of the bound on the norm",
        "width": "an eighth of the filters, q > 2^k log(2^k/delta)",
    }

    def decide(self, broken: str) -> Evidence:
        clipped = Ramp(cap=1.0 if not broken.startswith("bias") else 4.0)

        def bias(k: int) -> float:
            return {"bias-0": 0.0, "bias-step": 3 / k - 1}.get(broken, 1 / k - 1)

        def width(k: int) -> int:
            return bounds.width_needed(k, DELTA) // (8 if broken == "width" else 1)

        limit = 0.5 if broken == "half" else 1.0
        error, low, high, failure, good = 0.0, np.inf, 0.0, 0.0, 0
        for k in range(1, 11):
            error = max(error, window_features.worst_error_over_targets(k, clipped, bias(k)))
            failure = max(failure, bounds.union_failure(width(k), k) / DELTA)
            for seed in draw_seeds():
                counts = np.random.default_rng([6, k, seed]).multinomial(width(k), np.full(2**k, 0.5**k))
                enough = counts.min() >= float(printed.lemma_6_fewest_copies(k, width(k)))
                good += bool(enough)
                if enough:
                    norm = window_features.separator_norm(counts, k) / bounds.separator_bound(width(k), k)
                    low, high = min(low, 2 * norm), max(high, norm / limit)
        scarcest = max(_scarce_share(k) for k in range(1, 11)) / limit
        rate = kept(good, 10 * len(draw_seeds()), 1 - DELTA, "starts with all |J_z| >= q 2^(-k-1)")
        counted = max(
            bounds.failure_by_counting(width(k), k) / max(bounds.union_failure(width(k), k), 1e-300)
            for k in (1, 2)
        )

        residual, off = 0.0, 0.0
        for k, n_bits in ((1, 3), (2, 4), (3, 5), (4, 5)):
            for seed in draw_seeds() if k < 4 else draw_seeds(4):
                worst, gap = _by_least_squares(
                    n_bits, k, bounds.width_needed(k, DELTA), clipped, bias(k), seed
                )
                residual, off = max(residual, worst), max(off, gap)

        last = k_patterns.labels(4, k_patterns.target("parity", 2), 3)[:, None]
        inputs = k_patterns.cube(4)
        filters = k_patterns.cube(2)[generator(6).integers(4, size=200)] / 2
        short = window_features.features(filters, inputs, range(2), clipped, bias(2))
        affine = window_features.features(filters, inputs, range(3), Ramp(cap=2.0, shift=1.5), -0.5)
        as_printed = [window_features.least_norm_readouts(table, last)[1] for table in (short, affine)]

        differ = differing(*_pairs())
        exact = error <= 1e-12 and residual <= 1e-9 and off <= 1e-9 and not differ
        bounded = low >= 1 - 1e-12 and max(high, scarcest) <= 1 and failure <= 1 and counted <= 1 + 1e-12
        verdict: Verdict = "fails"
        if exact and bounded and rate.verdict == "consistent":
            verdict = "holds as corrected" if max(as_printed) > 1e-3 else "holds"
        return Evidence(
            verdict,
            {
                "worst |h - f| over all g, k <= 10": error,
                "worst |h - f|, drawn filters, k <= 4": residual,
                "largest |u*| / (2^(k+1) k / sqrt(q)), drawn": high,
                "the same, fewest copies allowed": scarcest,
                "least |u*| / (2^k k / sqrt(q))": low,
                "|u*| against the least norm, gap": off,
                "largest P(bad start) / delta": failure,
                **rate.numbers,
                "best |h - f| at the last window, n - k windows": as_printed[0],
                "best |h - f|, sigma affine where it counts": as_printed[1],
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        rng = np.random.default_rng([6, seed])
        k = int(rng.integers(1, 9))
        width = bounds.width_needed(k, DELTA) + int(rng.integers(1000))
        least = -(-width // 2 ** (k + 1))
        uneven = rng.dirichlet(np.full(2**k, float(rng.choice([0.01, 1.0]))))
        counts = least + rng.multinomial(width - least * 2**k, uneven)
        ratio = window_features.separator_norm(counts, k) / bounds.separator_bound(width, k)
        return {"|u*| <= 2^(k+1) k / sqrt(q)": Instance(ratio, {"k": k, "q": width})}


def _scarce_share(k: int) -> float:
    """|u*| / bound where all types but one have the fewest copies that the proof allows."""
    width = bounds.width_needed(k, DELTA)
    counts = scarce(k, k, width).counts[0, 0]
    return window_features.separator_norm(counts, k) / bounds.separator_bound(width, k)


def _pairs() -> list[tuple[float, SupportsFloat]]:
    """The width asked for, the bound on the norm, and k/|J_z|, the entries of u*, against the printed
    ones."""
    pairs: list[tuple[float, SupportsFloat]] = []
    for k, root_q, delta in ((1, 3, Fraction(1, 2)), (3, 20, Fraction(1, 10)), (7, 1000, Fraction(1, 300))):
        needed = float(printed.lemma_6_channels(k, delta))
        width = bounds.width_needed(k, float(delta))
        pairs += [
            (bounds.separator_bound(root_q**2, k), printed.lemma_6_norm(k, root_q**2)),
            (sqrt(float(printed.lemma_6_norm_squared(k, root_q**2))), printed.lemma_6_norm(k, root_q**2)),
            (float(width - 1 < needed <= width), 1.0),
            (window_features.separator_norm(np.full(2**k, 5), k), _norm_of_equal(k, 5)),
        ]
    return pairs


def _norm_of_equal(k: int, copies: int) -> float:
    """|u*| from its printed entries k/|J_z|, |J_z| = ``copies`` for every z."""
    return sqrt(2**k * copies * printed.lemma_6_readout(k, copies) ** 2)


def _by_least_squares(
    n_bits: int, k: int, width: int, activation: Activation, bias: float, seed: int
) -> tuple[float, float]:
    """Worst |h - f| of least-norm readouts at j* = n - k + 1, and the worst relative gap of norm to |u*|.

    All targets for k <= 3, 64 drawn ones beyond. Inputs and labels by :mod:`.oracle_problem`.
    """
    rng = np.random.default_rng([60, k, seed])
    signs = rng.choice([-1.0, 1.0], (width, k))
    words, window = oracle_problem.words(n_bits), n_bits - k
    tables = k_patterns.cube(2**k) if k <= 3 else rng.choice([-1.0, 1.0], (64, 2**k))
    patterns = [oracle_problem.pattern(table.tolist()) for table in tables]
    contents = {z: [g(z) for g in patterns] for z in oracle_problem.words(k)}
    values = np.array([contents[x[window:]] for x in words], dtype=float)
    answers = window_features.features(
        signs / k, np.array(words, dtype=float), range(window, window + 1), activation, bias
    )
    readouts, residual = window_features.least_norm_readouts(answers, values)
    _, copies = np.unique(signs, axis=0, return_counts=True)
    exact = window_features.separator_norm(copies, k)
    return residual, float(np.abs(np.linalg.norm(readouts, axis=0) / exact - 1).max())
