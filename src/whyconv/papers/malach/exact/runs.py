"""Many k-pattern problems of one size, descended side by side, for the claims on gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whyconv.lazy import Floats, Ints, np
from whyconv.papers.malach.exact import k_patterns, window_descent
from whyconv.papers.malach.exact.window_descent import Path, Ramp

COUNTEREXAMPLE = Ramp(cap=6.0, shift=5.0)
"""sigma(z) = clip(5 + z, 0, 6): with the start of Theorem 4 its values are near 5, so |u| grows faster than
eta T sqrt(q). The clipped ReLU starts at values of at most 1/k and cannot show that Lemma 8 lacks the c."""


@dataclass(frozen=True)
class Batch:
    """Problems of one size, the filters drawn for them, and u* of Lemma 6.

    ``labels``, ``weights`` (runs, 2^n); ``counts`` (runs, banks, 2^k); ``star`` (runs, banks, windows per
    bank, 2^k).
    """

    n_bits: int
    k_window: int
    labels: Floats
    weights: Floats
    counts: Ints
    star: Floats

    @property
    def width(self) -> int:
        """q, the number of filters per window."""
        return int(self.counts[0, 0].sum())

    def norms(self, readout: Floats) -> Floats:
        """|u^(j)| of all q copies, (runs, ..., windows), of readouts shaped like ``star`` or like probes."""
        between = (slice(None),) + (None,) * (readout.ndim - 4)
        squares = self.counts[between][..., None, :] * readout**2
        return np.sqrt(squares.sum(axis=-1)).reshape(*readout.shape[:-3], -1)

    def descend(self, step: float, steps: int, **options: Any) -> Path:
        """:func:`.window_descent.descend` on these problems."""
        return window_descent.descend(self.labels, self.weights, self.counts, step, steps, **options)


def batch(
    n_bits: int,
    k_window: int,
    width: int,
    kinds: tuple[str, ...],
    positions: tuple[int, ...],
    laws: tuple[str, ...] = ("uniform",),
    *,
    shared: bool = True,
    seed: int = 0,
) -> Batch:
    """Every target at every position under every distribution, each with its own random filters."""
    windows = k_patterns.window_count(n_bits, k_window)
    problems = [(kind, at, law) for kind in kinds for at in positions for law in laws]
    rng = np.random.default_rng(seed)
    counts = window_descent.draw_counts(rng, width, k_window, len(problems), 1 if shared else windows)
    tables = [k_patterns.target(kind, k_window, seed) for kind, _, _ in problems]
    places = [at for _, at, _ in problems]
    each = list(zip(counts, tables, places, strict=True))
    return Batch(
        n_bits,
        k_window,
        np.stack([k_patterns.labels(n_bits, table, at) for _, table, at in each]),
        np.stack([k_patterns.distribution(law, n_bits) for _, _, law in problems]),
        counts,
        np.concatenate([window_descent.separator(c[None], table, at, windows) for c, table, at in each]),
    )


KINDS = ("parity", "and", "majority", "dictator", "random")
LAWS = ("uniform", "biased", "markov", "point")


def drawn(n_bits: int, k_window: int, width: int, seeds: Sequence[int], *, shared: bool = True) -> Batch:
    """A problem for each seed: target, position, distribution and filters are drawn from it."""
    each = []
    for seed in seeds:
        rng = np.random.default_rng([n_bits, k_window, seed])
        position = int(rng.integers(k_patterns.window_count(n_bits, k_window))) + 1
        kind, law = str(rng.choice(KINDS)), str(rng.choice(LAWS))
        target_seed, filter_seed = (int(seed) for seed in rng.integers(2**31, size=2))
        table = k_patterns.target(kind, k_window, target_seed)
        one = _one(n_bits, k_window, width, table, position, law, shared, filter_seed)
        each.append(one)
    parts = zip(*each, strict=True)
    return Batch(n_bits, k_window, *(np.concatenate(part) for part in parts))


def scarce(n_bits: int, k_window: int, width: int, *, shared: bool = True) -> Batch:
    """The parity at the last window, uniform bits, and the start with the largest |u*| that Lemma 6 allows.

    All types but one have q 2^(-k-1) filters, half of their mean.
    """
    windows, types = k_patterns.window_count(n_bits, k_window), 2**k_window
    counts = np.full((1, 1 if shared else windows, types), -(-width // (2 * types)))
    counts[..., 0] += width - counts[0, 0].sum()
    table = k_patterns.target("parity", k_window)
    labels, weights = k_patterns.labels(n_bits, table, windows), k_patterns.distribution("uniform", n_bits)
    star = window_descent.separator(counts, table, windows, windows)
    return Batch(n_bits, k_window, labels[None], weights[None], counts, star)


def together(*parts: Batch) -> Batch:
    """Problems of one size and width side by side."""
    arrays = ("labels", "weights", "counts", "star")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in arrays)
    return Batch(parts[0].n_bits, parts[0].k_window, *joined)


def _one(
    n_bits: int, k_window: int, width: int, table: Floats, at: int, law: str, shared: bool, seed: int
) -> tuple[Floats, Floats, Ints, Floats]:
    """Labels, weights, counts and u* of one problem, with an axis of length 1 in front."""
    windows = k_patterns.window_count(n_bits, k_window)
    rng = np.random.default_rng(seed)
    counts = window_descent.draw_counts(rng, width, k_window, 1, 1 if shared else windows)
    labels, weights = k_patterns.labels(n_bits, table, at), k_patterns.distribution(law, n_bits)
    return labels[None], weights[None], counts, window_descent.separator(counts, table, at, windows)
