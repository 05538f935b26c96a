"""Malach & Shalev-Shwartz, after Theorem 12: what rounding leaves of an FCN's first step, by dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.errata import Erratum
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.fourier.front import partials
from whyconv.lazy import NDArray, np
from whyconv.measure.intervals import Interval, rate_interval
from whyconv.papers.malach.exact.bit_networks import tanh_slope
from whyconv.papers.malach.exact.initial_gradient import gaussian_square, normal_partials
from whyconv.verdict import Evidence, Verdict

DTYPES: tuple[str, ...] = ("float16", "float32", "float64")
SIZES = (1024, 8192)
CLOSE = 0.1
"""The two routes may differ by this share of a gradient; they differ by 0.05 at most."""


class FinitePrecision(Claim, name="malach.finite-precision"):
    """In finite precision an FCN's first gradient is as good as zero: at n = 1024 in float32, not in float64.

    "If we run GD on a finite-precision machine, the true population gradient is effectively zero", no
    precision named. Here tanh, weights N(0, 1/n), u = 1, b = 0.3, step 1, k = log2 n. Gradients of drawn
    neurons are actually subtracted from their weights, dtype by dtype. A neuron's step is *lost* if no weight
    changes by a bit, *kept* if most weights of I change, *partly* otherwise; a dtype's word is that of most
    neurons, the interval of its share above 1/2, else *mixed*. At n = 1024 float16 and float32 lose the step
    and float64 keeps it; at n = 8192 float64 loses it, too. Routes: the exact integral for each neuron, and a
    normal law in place of <w, x>; they must be close for every weight, and give the same words.

    The words are about drawn neurons. The root mean square over all of them, which Theorem 12 bounds, is
    dominated by rare ones and is nearly a thousand times the median; half a unit in the last place of a
    weight 1/32 is 2e-9 in float32 and 3e-18 in float64. It is the *sum* that rounds: 1e-16 is a float32
    like any other, so methods that rescale the gradient (Adam) are not stopped; and it is the first
    population step, not training, that is lost.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 4, after Theorem 12"
    expected: ClassVar[Verdict] = "holds as corrected"
    erratum: ClassVar[Erratum | None] = Erratum(
        printed=(
            "'If we run GD on a finite-precision machine, the true population gradient is effectively "
            "zero' (no precision named)."
        ),
        corrected=(
            "At n = 1024, k = 10 a first step of size 1 is lost in float16 and float32 and kept in "
            "float64; at n = 8192, k = 13 float64 loses it, too."
        ),
        why=(
            "Gradients of drawn neurons were subtracted from their weights, dtype by dtype: in "
            "float64 most weights of I change at n = 1024."
        ),
        breaks=(
            "A remark after Theorem 12 without proof: it does not say at which n, and in which precision."
        ),
    )
    broken: ClassVar = "a parity of half as many bits, log2(n) / 2"

    def decide(self, broken: str) -> Evidence:
        sizes = {n: (n.bit_length() - 1) // (2 if broken else 1) for n in SIZES}
        words, shares, medians, gap, same = {}, {}, {}, 0.0, True
        for n in SIZES:
            weights, exact, normal = _gradients(n, sizes[n], draw_seeds())
            for dtype in DTYPES:
                words[dtype, n], shares[dtype, n] = _word(weights, exact, sizes[n], dtype)
                same &= words[dtype, n] == _word(weights, normal, sizes[n], dtype)[0]
            gap = max(gap, float(np.abs(normal / exact - 1).max()))
            medians[n] = float(np.median(np.abs(exact[:, : sizes[n]])))
        places = [*((dtype, 1024) for dtype in DTYPES), ("float64", 8192)]
        verdict: Verdict = "fails"
        if same and gap <= CLOSE:
            found = [words[place] for place in places]
            if found == ["lost", "lost", "kept", "lost"]:
                verdict = "holds as corrected"
            elif set(found) == {"lost"}:
                verdict = "holds"
        return Evidence(
            verdict,
            {
                **{f"{dtype}, n = {n}": words[dtype, n] for dtype, n in places},
                "median |dL/dw_j|, j in I, n = 1024": medians[1024],
                "root mean square of dL/dw_j, j in I, n = 1024": _root_mean_square(1024, sizes[1024]),
                "median |dL/dw_j|, j in I, n = 8192": medians[8192],
                "least share of neurons that a word stands for": min(
                    (shares[place] for place in places), key=lambda share: share.mean
                ),
                "largest relative gap of the two routes": gap,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Neurons that no check draws; the words are about most neurons, so half may have another."""
        words = {"float16": "lost", "float32": "lost", "float64": "kept"}
        found = {}
        for n, count, expected in ((1024, 20, words), (8192, 8, {"float64": "lost"})):
            first, k = 10**6 + 20 * seed, n.bit_length() - 1
            weights, exact, _ = _gradients.__wrapped__(n, k, range(first, first + count))
            for dtype, word in expected.items():
                others = sum(each != word for each in _words(weights, exact, k, dtype))
                name = f"neurons whose step is not {word} / half of them, {dtype}, n = {n}"
                found[name] = Instance(2 * others / count, {"neurons": count, "others": others})
        return found


@cache
def _gradients(n_bits: int, k_window: int, seeds: Sequence[int]) -> tuple[NDArray, NDArray, NDArray]:
    """Weights of a neuron for each seed, dL/dw by the exact integral, and by the normal law; rows are
    neurons."""
    weights = np.stack(
        [np.random.default_rng([15, n_bits, seed]).normal(0, n_bits**-0.5, n_bits) for seed in seeds]
    )
    exact = np.stack([np.asarray(partials("tanh", row, 0.3, range(k_window)).value) for row in weights])
    normal = np.stack([normal_partials(tanh_slope, row, 0.3, k_window) for row in weights])
    return weights, -exact, -normal


def _word(weights: NDArray, gradient: NDArray, k_window: int, dtype: str) -> tuple[str, Interval]:
    """What a step of size 1 is in this dtype for most neurons, and their share."""
    words = _words(weights, gradient, k_window, dtype)
    word, count = Counter(words).most_common(1)[0]
    share = rate_interval(count, len(words))
    return (word if share.low > 0.5 else "mixed"), share


def _words(weights: NDArray, gradient: NDArray, k_window: int, dtype: str) -> list[str]:
    """What a step of size 1 is in this dtype for each neuron."""
    before = weights.astype(dtype)
    moved = before - gradient.astype(dtype) != before
    return ["lost" if not row.any() else "kept" if row[:k_window].mean() > 0.5 else "partly" for row in moved]


def _root_mean_square(n_bits: int, k_window: int) -> float:
    """sqrt(E (dL/dw_j)^2) for j in I, weights N(0, 1/n), by the Hermite series."""
    return gaussian_square(tanh_slope, n_bits, k_window - 1, 0.3) ** 0.5
