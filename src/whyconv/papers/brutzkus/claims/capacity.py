"""Brutzkus & Globerson, section 4: max-pooling networks can fit almost anything, and fit it badly."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from whyconv.claims import Claim
from whyconv.exact import pattern_sets
from whyconv.exact.rank import rank_modulo
from whyconv.lazy import NDArray, np
from whyconv.papers.brutzkus.exact import first_layer, max_pooling, shattering
from whyconv.verdict import Evidence, Verdict


class Theorem42(Claim, name="brutzkus.thm4.2"):
    """2^(n-1) inputs are shattered by a max-pooling network when d = 2n, so VCdim >= 2^(d/2 - 1).

    n = ``positions``, d = ``pattern_dim`` = 2n. All labellings for n = 2, 3, 4, random ones for n = 5..10.
    Routes: the coefficients alpha by solving Eq. 5 and by the closed form alpha_I = sum(y)/(N-1) - y_{I^c};
    then Eq. 1 on the inputs themselves, vectors in a random orthonormal basis, must return the labels.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 4.2"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "alpha_I takes the label of I in place of the label of its complement"

    def decide(self, broken: str) -> Evidence:
        rng = np.random.default_rng(42)
        tried, largest, miss, gap = 0, 0, 0.0, 0.0
        for positions in range(2, 11):
            size = 2 ** (positions - 1)
            if size <= 8:
                labellings = 1.0 - 2 * ((np.arange(2**size) >> np.arange(size)[:, None]) & 1)
            else:
                labellings = rng.choice([1.0, -1.0], (size, 3))
            basis = max_pooling.random_patterns(rng, 2 * positions, 2 * positions)
            points = shattering.shattered_points(positions, rng.integers(0, 2, size))
            inputs = max_pooling.embed(points, basis)
            alphas = shattering.coefficients(labellings)
            if broken:
                alphas = labellings.sum(axis=0) / (size - 1) - labellings
            gap = max(gap, float(np.abs(alphas - shattering.coefficients_by_solving(labellings)).max()))
            for alpha, labels in zip(alphas.T, labellings.T, strict=True):
                scores, readout = shattering.shattering_network(alpha, positions)
                values = max_pooling.forward(scores @ basis, readout, inputs)
                miss = max(miss, float(np.abs(values - labels).max()))
            tried, largest = tried + labellings.shape[1], size
        holds = miss <= 1e-9 and gap <= 1e-9
        return Evidence(
            "holds" if holds else "fails",
            {
                "labellings tried": tried,
                "largest shattered set": largest,
                "worst |N(x) - y|": miss,
                "worst |alpha closed - solved|": gap,
            },
        )


class ExactDimension(Claim, name="brutzkus.vcdim"):
    """On the support of D the VC dimension is 2 sum_{s<=min(n-1,l-2)} C(l-2,s), far above 2^(d/2 - 1).

    Derived here; it makes Theorem 4.2 exact and shows it is not tight. n = ``positions``, l = ``patterns``
    = d = 2n. Routes: the closed form; and Eq. 1 on every input of the support, where the number of
    inputs that some filter tells apart bounds the dimension from above, and the rank (exact, modulo a
    prime) of the features of all 2^l - 1 filters "sum of some patterns" bounds it from below.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 4 (exact value derived)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "sum-pooling in place of max-pooling"

    def decide(self, broken: str) -> Evidence:
        def pool(filters: NDArray, inputs: NDArray) -> NDArray:
            """Integer activations, pooled by the network's own maximum or by a sum."""
            if broken:
                return np.maximum(inputs @ filters.T, 0).sum(axis=1).round().astype(int)
            return max_pooling.pooled(filters, inputs).round().astype(int)

        rng = np.random.default_rng(43)
        numbers: dict[str, int] = {}
        holds, rank, distinct = True, 0, 0
        for positions in (2, 3, 4, 5):
            patterns = 2 * positions
            basis = max_pooling.random_patterns(rng, patterns, patterns)
            inputs = max_pooling.embed(max_pooling.support(positions, patterns)[0], basis)
            singles = pool(basis, inputs)
            _, first = np.unique(singles, axis=0, return_index=True)
            subsets = (np.arange(1, 2**patterns)[:, None] >> np.arange(patterns)) & 1
            table = pool(subsets @ basis, inputs[first])
            rank, distinct = rank_modulo(table), len(first)
            closed = shattering.vc_dimension(positions, patterns)
            holds &= rank == distinct == closed > 2 ** (positions - 1)
            numbers[f"closed form, d = {patterns}"] = closed
        numbers |= {
            "rank of features, d = 10": rank,
            "distinct pattern sets, d = 10": distinct,
            "Theorem 4.2, d = 10": 2**4,
        }
        return Evidence("holds" if holds else "fails", numbers)


class BadErm(Claim, name="brutzkus.bad-erm"):
    """Some networks fit the sample and err almost everywhere else; they need exponentially many examples.

    The paper (sections 4, 5): other empirical risk minimisers "can result in arbitrarily bad test error".
    Built here by inclusion-exclusion: right on the pattern sets of the sample, wrong on all others; n = 5,
    l = d = 10, m = 8 d. Routes for its test error: the law of pattern sets, and Eq. 1 on all 40,960 inputs of
    the support. The examples it needs for expected error 1/4 follow in closed form for every n; LW_CNN's
    filters, trained on half of the same sample, already make no error.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, sections 4 and 5"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "inclusion-exclusion without its alternating signs"

    def decide(self, broken: str) -> Evidence:
        positions, patterns = 5, 10
        samples = 8 * patterns
        rng = np.random.default_rng(44)
        indices, labels = max_pooling.sample(rng, samples, positions, patterns)
        counts = pattern_sets.count(indices, labels, patterns)
        truth = np.array([[1.0], [-1.0]]) * (pattern_sets.law(positions, patterns) > 0)
        scores, readout = shattering.network_of(np.where(counts > 0, truth, -truth))
        if broken:
            readout = np.append(-np.abs(readout[:-1]), np.abs(readout[:-1]).sum())
        basis = max_pooling.random_patterns(rng, patterns, patterns)
        train = max_pooling.forward(scores @ basis, readout, max_pooling.embed(indices, basis))
        every, answers = max_pooling.support(positions, patterns)
        values = max_pooling.forward(scores @ basis, readout, max_pooling.embed(every, basis))
        exact = pattern_sets.exact_error(scores, readout, positions)
        by_inputs = max_pooling.error_rate(values.round(6), answers)
        train_error = max_pooling.error_rate(train.round(6), labels)

        schedule = first_layer.Schedule.of_theorem(patterns, 5)
        start, signs = first_layer.initial(rng, schedule, patterns)
        half = pattern_sets.count(indices[: samples // 2], labels[: samples // 2], patterns)
        trained = first_layer.descend_on_sets(half, start, signs, schedule)[-1]
        needed = [shattering.samples_for_error(n, 2 * n, 0.25) for n in range(3, 11)]
        growth = min(after / before for before, after in pairwise(needed))
        bad = train_error == 0 and exact > 0.5 and abs(exact - by_inputs) <= 1e-12
        return Evidence(
            "holds" if bad and growth > 2 else "fails",
            {
                "examples": samples,
                "training error": train_error,
                "exact test error": exact,
                "test error over all inputs": by_inputs,
                "test error after LW_CNN's first layer": pattern_sets.exact_error(trained, signs, positions),
                "examples for error 1/4, d = 10": needed[2],
                "examples for error 1/4, d = 20": needed[-1],
                "least growth when d grows by 2": growth,
            },
        )
