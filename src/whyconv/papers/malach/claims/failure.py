"""Malach & Shalev-Shwartz, after Theorem 12: what the small first gradient of an FCN is said to imply.

The first version of the paper: "unless q = n^Omega(log n), GD will be 'stuck' upon initialization, and will
fail on the k-pattern problem". The later one: "with overwhelming probability over the randomness of the
initialization, the gradient is extremely small". Sizes, steps and thresholds here were fixed before the
claims were first run, from these sentences; that FCNs learn parities of 3 of 8 bits had been seen before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb, expm1, log, log1p
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.climbing import climb
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.fourier.front import expected_square, partials
from whyconv.exact.transcription import DIFFER, differing
from whyconv.lazy import Floats, np
from whyconv.measure.intervals import Interval, rate_interval
from whyconv.papers.malach.exact import initial_gradient as exact
from whyconv.papers.malach.exact import oracle_problem, printed
from whyconv.papers.malach.exact.bit_networks import BitNetwork, all_inputs, balanced
from whyconv.papers.malach.exact.juntas import subsets
from whyconv.papers.malach.exact.oracle_gradient import gradient_squares
from whyconv.verdict import Evidence, Verdict, kept

STARTS = 80
"""Networks that are trained: enough to decide a control in which a quarter learns in 996 of 1000 sets of
seeds. With 20 it was not decided in 8 of 20 sets."""
STEPS = (0.01, 0.03, 0.1)
EPS = 0.1


class Stuck(Claim, name="malach.stuck"):
    """Unless q = n^Omega(log n), GD on an FCN is stuck at its start and fails on the k-pattern problem.

    The first version says so; the later one has dropped it. What is proved is that the first population
    gradient is small on average; nothing is said about the second step. Here parities of k = log2 n bits, n
    = 4 and 8, FCNs of q = n^2 neurons (n^log2(n) is 16 and 512) that meet all conditions of Theorem 12
    (Gaussian weights, each neuron twice with u = 1 and -1, so h = 0), GD on all 2^n inputs for at most n^3
    steps. It learns if the error falls to eps = 0.1 at some t, as in Corollary 5. The step is the one of
    0.01, 0.03 and 0.1 with which most tuning seeds learn. Judged at n = 8
    alone, since n^2 = n^log2(n) at n = 4: if most starts learn (the whole interval above 1/2), the sentence
    *fails* there; if few do, the runs are *consistent* with it. It is
    meant for large n, which these runs do not reach; `malach.separation` goes on to n = 64. Second route:
    the error counted in loops, from a definition of the labels of its own.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, first version, after Theorem 12"
    expected: ClassVar[Verdict] = "fails"
    broken: ClassVar = {
        "tiny": "steps 100 times smaller",
        "first": "the first step alone, which Theorem 12 is about",
    }
    unsearched: ClassVar[str] = (
        "the sentence fails as recorded: the starts that learn are counterexamples, and no bound is left"
    )

    def decide(self, broken: str) -> Evidence:
        learned: dict[int, Interval] = {}
        tuning = draw_seeds(3, first=1000)
        slowest, first, same = 0, 0.0, True
        for n, k in ((4, 2), (8, 3)):
            steps = 1 if broken == "first" else n**3
            step = _best_step(n, k, tuning) / (100 if broken == "tiny" else 1)
            runs = [_train(n, k, step, steps, seed) for seed in draw_seeds(STARTS)]
            learned[n] = rate_interval(sum(error <= EPS for _, error, _, _ in runs), len(runs))
            slowest = max(slowest, *(t for t, error, _, _ in runs if error <= EPS), 0)
            first = max(norm for _, _, norm, _ in runs) if n == 8 else 0.0
            same &= all(agree for *_, agree in runs)
        verdict: Verdict = "undecided"
        if not same:
            verdict = "error"
        elif learned[8].low > 0.5:
            verdict = "fails"
        elif learned[8].high < 0.5:
            verdict = "consistent"
        return Evidence(
            verdict,
            {
                "starts that learn, n = 4, k = 2": learned[4],
                "starts that learn, n = 8, k = 3": learned[8],
                "steps of the slowest that learns": slowest,
                "step size, n = 4": _best_step(4, 2, tuning),
                "step size, n = 8": _best_step(8, 3, tuning),
                "largest |first gradient|^2, n = 8, q = 64": first,
                "Theorem 12's bounds on its mean": 64
                * float(exact.paper_bound(8, 3) + exact.readout_bound(8, 3)),
                "errors by both routes equal": same,
            },
        )


def _sum_of_bounds(n: int, k: int, q: int | Fraction) -> float:
    """Theorem 12's bound on E |gradient|^2 of all weights of q neurons, c = 1."""
    return float(q * (exact.paper_bound(n, k) + exact.readout_bound(n, k)))


@cache
def _best_step(n: int, k: int, tuning: Sequence[int]) -> float:
    """The step size with which most tuning seeds learn within n^3 steps; of several, the one soonest done."""

    def merit(step: float) -> tuple[int, int]:
        runs = [_train(n, k, step, n**3, seed) for seed in tuning]
        return sum(error <= EPS for _, error, _, _ in runs), -sum(t for t, _, _, _ in runs)

    return max(STEPS, key=merit)


@cache
def _train(n: int, k: int, step: float, steps: int, seed: int) -> tuple[int, float, float, bool]:
    """Steps until the error is at most eps, the error then, |first gradient|^2, and whether errors agree."""
    rng = np.random.default_rng([19, n, seed])
    half = n**2 // 2
    weights, bias = rng.normal(0, 1, (half, n)), rng.normal(0, 0.5, half)
    network = BitNetwork(
        np.arange(n)[None],
        np.concatenate([weights, weights])[None],
        np.concatenate([bias, bias])[None],
        np.repeat([[1.0, -1.0]], half)[None],
    )
    inputs = all_inputs(n)
    labels = inputs[:, :k].prod(axis=1)
    norm = sum(float((part**2).sum()) for part in network.gradient(inputs, labels))
    error, t = 1.0, 0
    for t, now in enumerate(network.descend(inputs, labels, step, steps)):
        network = now
        error = float((now.values(inputs) * labels <= 0).mean())
        if t and error <= EPS:
            break
    return t, error, norm, error == _error_in_loops(network, n, k)


def _error_in_loops(network: BitNetwork, n: int, k: int) -> float:
    """The share of inputs with h(x) f(x) <= 0, labels by Definition 3 and h one input at a time."""
    g = oracle_problem.pattern("parity")
    wrong = sum(
        float(network.values(np.array([x], dtype=float))[0]) * oracle_problem.label(g, x, 1, k) <= 0
        for x in oracle_problem.words(n)
    )
    return wrong / 2**n


class Overwhelming(Claim, name="malach.overwhelming"):
    """Unless q = n^Omega(log n), an FCN's first gradient is tiny with probability 1 - n^-Omega(log n).

    "With overwhelming probability over the randomness of the initialization, the gradient is extremely
    small." Theorem 12 bounds the mean of |gradient|^2 by B; Markov's inequality turns this into
    P(|gradient|^2 > sqrt(B)) <= sqrt(B). k = log2 n, q = n^2, n = 64 to 1024: sqrt(B) falls faster than any
    power of n, n^-2.4 at 2^10, n^-7 at 2^20. Exactly, where the law of the gradient is known: for the
    extremal start of Theorem 12 (weights 1_A, A random) it is 0 unless some A lies in I with one bit less,
    and 1 or more otherwise; the paper's signs +-1/k all have the same norm. For Gaussian weights the mean
    is exact, and 20 drawn networks of 16 neurons at n = 64 are measured. Second route: the extremal start's
    chance counted over all sets at n = 8 by backpropagation. Also seen: "unless" is needed, since with C(n,
    k-1)/k neurons the extremal start has a gradient of 1 or more with probability 1 - 1/e.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 4, after Theorem 12"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "constant": "parities of 5 bits at every n",
        "wide": "q = C(n, k-1) / k neurons",
        "square": "sqrt(B)/n^2 for the probability",
    }

    def decide(self, broken: str) -> Evidence:
        powers, worst, mean_share, signs = {}, 0.0, 0.0, True
        for bits in (6, 7, 8, 9, 10, 20):
            n, k = 2**bits, 5 if broken == "constant" else bits
            q = Fraction(comb(n, k - 1), k) if broken == "wide" else Fraction(n**2)
            root = _sum_of_bounds(n, k, q) ** 0.5
            powers[bits] = -log(root) / log(n)
            promised = root / n**2 if broken == "square" else root
            chance = -expm1(float(q) * log1p(-float(_inside(n, k))))
            worst = max(worst, chance / promised)
            if bits <= 10:
                signs &= float(q * sum(gradient_squares(n, k))) <= root
                mean_share = max(mean_share, float(q) * _gaussian_mean(n, k) / root / promised)
        rate, reached = _measured(draw_seeds())
        counted = _counted(8, 3)
        differ = differing(*_pairs())
        small = powers[10] >= 2 and powers[20] >= 2 * powers[10]
        holds = small and max(worst, mean_share) <= 1 and signs and counted == _inside(8, 3) and not differ
        return Evidence(
            "holds" if holds and rate.verdict == "consistent" else "fails",
            {
                "sqrt(B) = 1/n to the power, n = 2^10": powers[10],
                "sqrt(B) = 1/n to the power, n = 2^20": powers[20],
                "P(gradient >= 1) / promised, extremal start": worst,
                "Markov's P / promised, Gaussian start": mean_share,
                "the paper's start below sqrt(B)": signs,
                **rate.numbers,
                "largest |gradient|^2 / sqrt(B) of these": reached,
                "sets A with a gradient, n = 8, k = 3": float(counted),
                "P(gradient >= 1), q = C(n,k-1)/k, n = 1024": _hit_chance(1024, 10),
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Any n, k and q, since Markov's inequality asks for no relation between them."""

        def at(point: Floats) -> tuple[int, int, int]:
            n = round(2 ** (2 + 8 * point[0]))
            k = 2 + round((min(n - 1, 20) - 2) * point[1])
            return n, k, round(2 ** (60 * point[2]))

        largest, hit = climb(seed, 3, lambda point: _markov_share(*at(point)))
        mean, normal = climb(seed, 2, lambda point: _mean_share(*at(np.append(point, 0.0))[:2]), trials=5)
        return {
            "P(gradient >= 1) <= sqrt(B), extremal start": Instance(
                largest, dict(zip("nkq", at(hit), strict=True))
            ),
            "E|gradient|^2 <= B, Gaussian start": Instance(
                mean, dict(zip("nk", at(np.append(normal, 0.0))[:2], strict=True))
            ),
        }


def _markov_share(n: int, k: int, q: int) -> float:
    """P(|gradient|^2 >= 1) over sqrt(B), for the extremal start of q neurons."""
    return -expm1(q * log1p(-float(_inside(n, k)))) / _sum_of_bounds(n, k, q) ** 0.5


def _mean_share(n: int, k: int) -> float:
    """E |gradient|^2 of a Gaussian start over its bound; q cancels."""
    return _gaussian_mean(n, k) / _sum_of_bounds(n, k, 1)


def _inside(n: int, k: int) -> Fraction:
    """k / C(n, k-1): the share of the sets of k - 1 bits that lie in I, whose neurons get a gradient."""
    return Fraction(k, comb(n, k - 1))


def _hit_chance(n: int, k: int) -> float:
    """1 - (1 - p)^(1/p), p the share of :func:`_inside`."""
    p = float(_inside(n, k))
    return -expm1(log1p(-p) / p)


@cache
def _gaussian_mean(n: int, k: int) -> float:
    """E |gradient|^2 of a tanh neuron, weights N(0, 1/n), b = 0.3, |u| = 1, by the integral."""
    squares = [
        float(expected_square("tanh", n, size, 0.3, derivative=size != k).value) for size in (k - 1, k, k + 1)
    ]
    return k * squares[0] + squares[1] + (n - k) * squares[2]


@cache
def _measured(seeds: Sequence[int]) -> tuple[Evidence, float]:
    """How many drawn networks of 16 tanh neurons at n = 64, k = 6 have |dL/dW|^2 <= sqrt(B), and the
    largest."""
    n, k, q = 64, 6, 16
    root = _sum_of_bounds(n, k, q) ** 0.5
    squares: list[float] = []
    for seed in seeds:
        rows: Floats = np.random.default_rng([20, seed]).normal(0, n**-0.5, (q, n))
        squares.append(
            sum(float((np.asarray(partials("tanh", row, 0.3, range(k)).value) ** 2).sum()) for row in rows)
        )
    good = sum(square <= root for square in squares)
    evidence = kept(good, len(squares), 1 - root, "drawn networks with a gradient below sqrt(B), n = 64")
    return evidence, max(squares) / root


@cache
def _counted(n: int, k: int) -> Fraction:
    """The share of sets A of k-1 bits whose neuron (w = 1_A) gets a gradient from the parity of k bits."""
    sets = subsets(n, k - 1)
    weights = np.zeros((len(sets), n))
    np.put_along_axis(weights, sets, 1.0, axis=1)
    inputs = all_inputs(n)
    network = balanced(weights, 0.0, *exact.detector(k - 1))
    gradient = network.gradient(inputs, inputs[:, :k].prod(axis=1))[0][0, : len(sets)]
    return Fraction(int(((gradient**2).sum(axis=1) > 0.5).sum()), len(sets))


def _pairs() -> list[tuple[Fraction, Fraction]]:
    return [
        pair
        for n, k in ((64, 6), (1024, 10), (10, 7))
        for pair in (
            (exact.paper_bound(n, k), printed.theorem_12_first_layer(1, n, k)),
            (exact.readout_bound(n, k), printed.theorem_12_second_layer(1, 1, n, k)),
        )
    ]
