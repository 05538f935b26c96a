"""Brutzkus & Globerson, section 4: max-pooling networks can fit almost anything, and fit it badly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import generator
from whyconv.exact import pattern_sets
from whyconv.exact.rank import rank_modulo
from whyconv.exact.transcription import DIFFER, differing
from whyconv.lazy import Ints, NDArray, np
from whyconv.papers.brutzkus.claims.seeds import seeds
from whyconv.papers.brutzkus.exact import first_layer, max_pooling, printed, shattering
from whyconv.verdict import Evidence, Verdict


class Theorem42(Claim, name="brutzkus.thm4.2"):
    """2^(n-1) inputs are shattered by a max-pooling network when d = 2n, so VCdim >= 2^(d/2 - 1).

    n = ``positions``, d = ``pattern_dim`` = 2n. All labellings for n = 2, 3, 4, one per seed for n = 5..10.
    Routes: the coefficients alpha by solving Eq. 5 and by the closed form alpha_I = sum(y)/(N-1) - y_{I^c};
    then Eq. 1 on the inputs themselves, vectors in a random orthonormal basis, must return the labels.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 4.2"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "complement": "alpha_I takes the label of I in place of the label of its complement",
        "pattern": "one pattern too few, l = 2n - 1: o_2n is o_2n-1",
    }

    def decide(self, broken: str) -> Evidence:
        rng = generator(42)
        tried, largest, miss, gap = 0, 0, 0.0, 0.0
        for positions in range(2, 11):
            size = 2 ** (positions - 1)
            if size <= 8:
                labellings = 1.0 - 2 * ((np.arange(2**size) >> np.arange(size)[:, None]) & 1)
            else:
                labellings = np.stack(
                    [np.random.default_rng([42, seed]).choice([1.0, -1.0], size) for seed in seeds()], axis=1
                )
            basis = max_pooling.random_patterns(rng, 2 * positions, 2 * positions)
            if broken == "pattern":
                basis[-1] = basis[-2]
            points = shattering.shattered_points(positions, rng.integers(0, 2, size))
            inputs = max_pooling.embed(points, basis)
            alphas = shattering.coefficients(labellings)
            if broken == "complement":
                alphas = labellings.sum(axis=0) / (size - 1) - labellings
            gap = max(gap, float(np.abs(alphas - shattering.coefficients_by_solving(labellings)).max()))
            for alpha, labels in zip(alphas.T, labellings.T, strict=True):
                scores, readout = shattering.shattering_network(alpha, positions)
                values = max_pooling.forward(scores @ basis, readout, inputs)
                miss = max(miss, float(np.abs(values - labels).max()))
            tried, largest = tried + labellings.shape[1], size
        differ = differing(
            *((len(shattering.corners(n)), printed.theorem_4_2_points(n)) for n in (2, 5)),
            *((len(shattering.corners(n)), printed.theorem_4_2_dimension(2 * n)) for n in (2, 5)),
            *((2 * len(shattering.corners(n)), printed.theorem_4_2_channels(n)) for n in (2, 5)),
        )
        holds = miss <= 1e-9 and gap <= 1e-9 and differ == 0
        return Evidence(
            "holds" if holds else "fails",
            {
                "labellings tried": tried,
                "largest shattered set": largest,
                "worst |N(x) - y|": miss,
                "worst |alpha closed - solved|": gap,
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        rng = np.random.default_rng([42, seed])
        positions = int(rng.integers(2, 10))
        size = int(printed.theorem_4_2_points(positions))
        labels = rng.choice([1.0, -1.0], size)
        basis = max_pooling.random_patterns(rng, 2 * positions, 2 * positions)
        inputs = max_pooling.embed(shattering.shattered_points(positions, rng.integers(0, 2, size)), basis)
        scores, readout = shattering.shattering_network(shattering.coefficients(labels), positions)
        values = max_pooling.forward(scores @ basis, readout, inputs)
        right = int((np.where(values.round(6) > 0, 1, -1) == labels).sum())
        few = 2 + seed % 4
        rank, _ = _features(rng, few, 2 * few, _pooled)
        least = float(printed.theorem_4_2_dimension(2 * few))
        return {
            "2^(d/2-1) / inputs with their random label": Instance(size / max(right, 0.5), {"n": positions}),
            "2^(d/2-1) / shattered inputs": Instance(least / rank, {"n": few}),
        }


class ExactDimension(Claim, name="brutzkus.vcdim"):
    """On the support of D the VC dimension is 2 sum_{1<=s<=min(n-1,l-2)} C(l-2,s), far above 2^(d/2 - 1).

    Derived here; it makes Theorem 4.2 exact and shows it is not tight. n = ``positions``, l = ``patterns``,
    d = 2n for the comparison. Routes: the closed form; and Eq. 1 on every input of the support, where the
    number of inputs that some filter tells apart bounds the dimension from above, and the rank (exact, modulo
    a prime) of the features of all 2^l - 1 filters "sum of some patterns" bounds it from below.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 4 (exact value derived)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "empty": "the sum starts at s = 0: inputs without a spurious pattern are counted",
        "sum": "sum-pooling in place of max-pooling",
    }

    def decide(self, broken: str) -> Evidence:
        rng = generator(43)
        pool = _summed if broken == "sum" else _pooled
        numbers: dict[str, int] = {}
        holds, rank, distinct = True, 0, 0
        for positions, patterns in ((3, 5), (5, 4), (4, 3), (2, 7), (2, 4), (3, 6), (4, 8), (5, 10)):
            rank, distinct = _features(rng, positions, patterns, pool)
            closed = shattering.vc_dimension(positions, patterns) + (2 if broken == "empty" else 0)
            holds &= rank == distinct == closed
            if patterns == 2 * positions:
                holds &= closed > printed.theorem_4_2_dimension(patterns)
                numbers[f"closed form, d = {patterns}"] = closed
        numbers |= {
            "rank of features, d = 10": rank,
            "distinct pattern sets, d = 10": distinct,
            "Theorem 4.2, d = 10": int(printed.theorem_4_2_dimension(10)),
        }
        return Evidence("holds" if holds else "fails", numbers)

    def stress(self, seed: int) -> Mapping[str, Instance]:
        rng = np.random.default_rng([43, seed])
        positions, patterns = int(rng.integers(2, 6)), int(rng.integers(3, 10))
        where = {"n": positions, "l": patterns}
        closed = shattering.vc_dimension(positions, patterns)
        rank, _ = _features(rng, positions, patterns, _pooled)
        inputs = max_pooling.embed(max_pooling.support(positions, patterns)[0], np.eye(patterns))
        filters = rng.standard_normal((32, patterns))
        apart = len(np.unique(max_pooling.pooled(filters, inputs).round(9), axis=0))
        return {
            "closed form / shattered inputs": Instance(closed / rank, where),
            "inputs that random filters tell apart / closed form": Instance(apart / closed, where),
        }


def _pooled(filters: NDArray, inputs: NDArray) -> NDArray:
    """Integer activations, pooled by the network's own maximum."""
    return max_pooling.pooled(filters, inputs).round().astype(int)


def _summed(filters: NDArray, inputs: NDArray) -> NDArray:
    """Integer activations, pooled by a sum."""
    return np.maximum(inputs @ filters.T, 0).sum(axis=1).round().astype(int)


def _features(
    rng: np.random.Generator, positions: int, patterns: int, pool: Callable[[NDArray, NDArray], NDArray]
) -> tuple[int, int]:
    """The rank of the features of all filters "sum of some patterns"; how many inputs patterns tell apart.

    As many inputs as the rank are shattered; inputs that no filter tells apart are not.
    """
    basis = max_pooling.random_patterns(rng, patterns, patterns)
    inputs = max_pooling.embed(max_pooling.support(positions, patterns)[0], basis)
    _, first = np.unique(pool(basis, inputs), axis=0, return_index=True)
    subsets = (np.arange(1, 2**patterns)[:, None] >> np.arange(patterns)) & 1
    return rank_modulo(pool(subsets @ basis, inputs[first])), len(first)


class BadErm(Claim, name="brutzkus.bad-erm"):
    """Some networks fit the sample and err almost everywhere else; they need exponentially many examples.

    The paper (sections 4, 5): other empirical risk minimisers "can result in arbitrarily bad test error".
    Built here by inclusion-exclusion: right on the pattern sets of the sample, wrong on all others; n = 4,
    l = d = 8, m = 8 d, on every seed. Its error is then exactly the probability of the sets not in the
    sample. Routes: the law of pattern sets, and Eq. 1 on all inputs of the support. The expected error at m =
    8 d and the examples for expected error 1/4 follow in closed form for every n: the first, also summed over
    the law, tends to 1, the second grows more than twofold when d grows by 2. LW_CNN's filters, trained on
    half of the same sample, are shown beside.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, sections 4 and 5"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "channel": "one channel of the inclusion-exclusion left out",
        "signs": "inclusion-exclusion without its alternating signs",
    }

    def decide(self, broken: str) -> Evidence:
        positions, patterns = 4, 8
        samples = 8 * patterns
        law = pattern_sets.law(positions, patterns)
        truth = np.array([[1.0], [-1.0]]) * (law > 0)
        every, answers = max_pooling.support(positions, patterns)
        train_error, gap, errors, trained_errors = 0.0, 0.0, [], []
        for seed in seeds():
            rng = np.random.default_rng([44, seed])
            indices, labels = max_pooling.sample(rng, samples, positions, patterns)
            counts = pattern_sets.count(indices, labels, patterns)
            scores, readout = shattering.network_of(np.where(counts > 0, truth, -truth))
            if broken == "signs":
                readout = np.append(-np.abs(readout[:-1]), np.abs(readout[:-1]).sum())
            elif broken == "channel":
                readout[np.abs(readout).argmax()] = 0.0
            basis = max_pooling.random_patterns(rng, patterns, patterns)
            train = max_pooling.forward(scores @ basis, readout, max_pooling.embed(indices, basis))
            values = max_pooling.forward(scores @ basis, readout, max_pooling.embed(every, basis))
            error = pattern_sets.exact_error(scores, readout, positions)
            unseen = float((pattern_sets.joint_law(positions, patterns) * (counts == 0)).sum())
            by_inputs = max_pooling.error_rate(values.round(6), answers)
            gap = max(gap, abs(error - by_inputs), abs(error - unseen))
            train_error = max(train_error, max_pooling.error_rate(train.round(6), labels))
            errors.append(error)
            trained_errors.append(_after_training(rng, _counts_of_half(indices, labels, patterns), positions))
        expected = [shattering.unseen_mass(n, 2 * n, 16 * n) for n in (4, 6, 8, 10)]
        by_law = [_missed_mass(n, 2 * n, 16 * n) for n in (4, 6, 8, 10)]
        apart = max(abs(one - other) for one, other in zip(expected, by_law, strict=True))
        needed = [shattering.samples_for_error(n, 2 * n, 0.25) for n in range(3, 11)]
        growth = min(after / before for before, after in pairwise(needed))
        arbitrary = all(before < after for before, after in pairwise(expected)) and expected[-1] > 0.99
        holds = train_error == 0 and max(gap, apart) <= 1e-12 and arbitrary and growth > 2
        return Evidence(
            "holds" if holds else "fails",
            {
                "examples": samples,
                "largest training error": train_error,
                "least exact test error, d = 8": min(errors),
                "largest gap of error, inputs and unseen sets": gap,
                "expected error at m = 8 d, d = 8": expected[0],
                "expected error at m = 8 d, d = 20": expected[-1],
                "expected error, closed form and law differ by": apart,
                "largest error after LW_CNN's first layer": max(trained_errors),
                "examples for error 1/4, d = 10": needed[2],
                "examples for error 1/4, d = 20": needed[-1],
                "least growth when d grows by 2": growth,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        n = 3 + seed % 30
        errors = [shattering.unseen_mass(size, 2 * size, 16 * size) for size in (n, n + 1)]
        needed = [shattering.samples_for_error(size, 2 * size, 0.25) for size in (n, n + 1)]
        where = {"d": 2 * n}
        return {
            "expected error at m = 8 d: of d / of d + 2": Instance(errors[0] / errors[1], where),
            "twice the examples for error 1/4: of d / of d + 2": Instance(2 * needed[0] / needed[1], where),
        }


def _missed_mass(positions: int, patterns: int, samples: int) -> float:
    """Expected probability of what ``samples`` draws miss, over all pattern sets of the law."""
    law = pattern_sets.joint_law(positions, patterns)
    return float((law * (1 - law) ** samples).sum())


def _counts_of_half(indices: Ints, labels: Ints, patterns: int) -> Ints:
    """The pattern sets of the first half of a sample."""
    half = len(labels) // 2
    return pattern_sets.count(indices[:half], labels[:half], patterns)


def _after_training(rng: np.random.Generator, counts: Ints, positions: int) -> float:
    """Exact test error of LW_CNN's first layer with its initial readout; T_1 = 5."""
    patterns = counts.shape[1].bit_length() + 1
    schedule = first_layer.Schedule.of_theorem(patterns, 5)
    start, signs = first_layer.initial(rng, schedule, patterns)
    trained = first_layer.descend_on_sets(counts, start, signs, schedule)[-1]
    return pattern_sets.exact_error(trained, signs, positions)
