"""Brutzkus & Globerson, section 6: what the same distribution costs a learner without pooling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import ClassVar

from whyconv.claims import Claim
from whyconv.exact import pattern_sets
from whyconv.exact.margins import max_margin
from whyconv.lazy import NDArray, np
from whyconv.papers.brutzkus.exact import first_layer, fully_connected, layerwise, max_pooling
from whyconv.papers.brutzkus.exact.bounds import proved_norm_product
from whyconv.papers.brutzkus.exact.fully_connected import linear_certificate
from whyconv.verdict import Evidence, Verdict


class Proposition61(Claim, name="brutzkus.prop6.1"):
    """A linear separator of D with margin 1 has |w|^2 >= n; the least value is exactly 2n.

    The proposition holds and is not tight: its |w . (o_1 - o_2)| <= 2|w| can be sqrt(2)|w|. (Section 7
    calls n a bound on the norm; it is one on the squared norm.) Routes: quadratic programming over all
    inputs of the support, vectors in a random orthonormal basis; and an integer certificate, one feasible
    point and one dual point of equal value, for n up to 50. n = ``positions``, l = ``patterns``.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Proposition 6.1"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "the discriminative pattern stays at the first position"

    def decide(self, broken: str) -> Evidence:
        sizes = ((2, 3), (3, 3), (3, 4), (4, 4), (5, 4), (6, 4))
        places = {n: range(1 if broken else n) for n in range(2, 51)}
        proved = {n: linear_certificate(n, places[n]) for n in places}
        tight = all(lower == upper == 2 * n for n, (lower, upper) in proved.items())
        solved = {size: _least_linear(*size, places[size[0]]) for size in sizes}
        gap = max(abs(solved[size] - float(proved[size[0]][0])) for size in sizes)
        above = min(float(lower) / n for n, (lower, _) in proved.items())
        holds = tight and gap <= 1e-7 and above >= 1 and min(solved[n, p] / n for n, p in sizes) >= 1
        return Evidence(
            "holds" if holds else "fails",
            {
                "least |w|^2 by QP, n = 2": solved[2, 3],
                "least |w|^2 by QP, n = 6": solved[6, 4],
                "proved least |w|^2, n = 6": float(proved[6][0]),
                "proved least |w|^2 / n, over n <= 50": above,
                "dual = primal = 2n for all n": tight,
                "largest |QP - proved|": gap,
            },
        )


def _least_linear(positions: int, patterns: int, places: Sequence[int]) -> float:
    """min |w|^2 s.t. y w . x >= 1 over the inputs whose discriminative pattern is at one of ``places``."""
    indices, labels = max_pooling.support(positions, patterns)
    allowed = np.isin((indices < 2).argmax(axis=1), list(places))
    basis = max_pooling.random_patterns(np.random.default_rng(61), patterns, patterns + 1)
    inputs = max_pooling.embed(indices[allowed], basis).reshape(int(allowed.sum()), -1)
    return max_margin.least_norm(labels[allowed, None] * inputs).norm2


class FullyConnectedBound(Claim, name="brutzkus.fc-bound"):
    """Bounds for fully connected nets and linear SVMs scale with |w*|^2 R^2 = 2n^2; the CNN's ignores n.

    Only bounds are compared: the paper leaves a lower bound for fully connected networks open. But n^2 is no
    artefact: SGD on the leaky-ReLU network does make that many updates (the exponent of n is fitted), within
    the proved number |w*|^2 (R^2 + 2/eta) / slope^2. For the CNN, B^2 R^2 of the trained features is bounded
    by 51,200 d and measured, for n = 3..24 and d = 3..7, near 2 throughout.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 6"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "the CNN's features pooled by a sum in place of a maximum"

    def decide(self, broken: str) -> Evidence:
        exact = all(abs(_least_linear(n, 4, range(n)) * n - 2 * n**2) <= 1e-6 for n in (2, 3, 4, 5))
        sizes = (2, 4, 8, 16)
        updates, spare = [], []
        for n in sizes:
            runs = [fully_connected.count_updates(np.random.default_rng([61, n, s]), n, 5) for s in range(3)]
            updates.append(float(np.mean(runs)))
            allowed = fully_connected.update_bound(2 * n, n, slope=0.5, step=100.0, start=1e-3)
            spare.append(max(runs) / allowed)
        exponent = float(np.polyfit(np.log(sizes), np.log(updates), 1)[0])
        by_n = {n: _feature_product(4, n, sum_pooling=bool(broken)) for n in (3, 6, 12, 24)}
        by_d = {d: _feature_product(d, 6, sum_pooling=bool(broken)) for d in (3, 4, 5, 6, 7)}
        spread = max(by_n.values()) / min(by_n.values())
        linear = all(product <= proved_norm_product(d) for d, product in by_d.items())
        holds = exact and max(spare) <= 1 and linear and spread <= 2 and exponent > 1.5
        return Evidence(
            "holds" if holds else "fails",
            {
                "|w*|^2 R^2 = 2n^2 by QP": exact,
                "SGD updates, n = 16": updates[-1],
                "largest updates / proved number": max(spare),
                "updates grow like n to the power": exponent,
                "CNN's B^2 R^2, n = 3": by_n[3],
                "CNN's B^2 R^2, n = 24": by_n[24],
                "CNN's B^2 R^2, d = 7": by_d[7],
                "2n^2, n = 24": 2 * 24**2,
            },
        )


def _feature_product(dim: int, positions: int, sum_pooling: bool) -> float:
    """B^2 R^2 of the features of a first layer trained on 500 examples; l = d = ``dim``.

    B by quadratic programming, its optimality certified by duality to 1e-9 (else an error).
    """
    rng = np.random.default_rng([62, dim])
    schedule = first_layer.Schedule.of_theorem(dim, 10)
    start, readout = first_layer.initial(rng, schedule, dim)
    counts = pattern_sets.draw_counts(rng, 500, positions, dim)
    scores = first_layer.descend_on_sets(counts, start, readout, schedule)[-1]
    rows = _summed_rows(scores, positions) if sum_pooling else layerwise.support_rows(scores, positions)
    return max_margin.least_norm(rows).norm2 * float(np.max((rows**2).sum(axis=1)))


def _summed_rows(scores: NDArray, positions: int) -> NDArray:
    """y z(x) with z_i = sum_j ReLU(w_i . x[j]), for every multiset of n - 1 spurious patterns."""
    spurious = range(2, scores.shape[1])
    chosen = np.array(list(combinations_with_replacement(spurious, positions - 1)))
    active = np.maximum(scores, 0).T
    sums = active[chosen].sum(axis=1)
    return np.concatenate([active[0] + sums, -(active[1] + sums)])
