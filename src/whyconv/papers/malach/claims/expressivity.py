"""Malach & Shalev-Shwartz, introduction: what CNNs and FCNs can express."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.rank import rank_modulo
from whyconv.lazy import NDArray, np
from whyconv.papers.malach.exact.bit_networks import BitNetwork, all_inputs, consecutive
from whyconv.papers.malach.exact.oracle_problem import Word, words
from whyconv.verdict import Evidence, Verdict

SIZES = ((4, 2), (5, 2), (6, 3), (6, 5))
ROUNDING = 1e-12
"""How far outputs of equal networks may be apart in float64."""


class Expressivity(Claim, name="malach.expressivity"):
    """Any CNN can be expressed as an FCN, and FCNs express a strictly larger family of functions.

    Inside: a CNN of q filters on windows of k of n bits is an FCN of q (n-k+1) neurons, each filter once
    for every window, with zeros on the other bits. Drawn CNNs and their FCNs are compared on all inputs: in
    float64 through :mod:`.bit_networks`, tanh; and as fractions, clip(z, 0, 1), by loops over the
    definitions, where they must be equal.

    Strictly, for k < n: whatever the activation, a CNN is a sum of functions of windows. These span a space
    of dimension 2^k + (n-k) 2^(k-1) below 2^n (by rank, and by counting the sets of bits that fit into a
    window), which x_1 x_n is orthogonal to (in integers), so no CNN of any width is x_1 x_n or has its sign
    everywhere; an FCN of three neurons is x_1 x_n. With windows of all n bits a CNN is an FCN, and the
    inclusion is not strict. The sentence does not speak of size: as parameters go the CNN is the smaller
    one.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 1"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "one-less": "an FCN with one neuron less",
        "shifted": "the zeros of the last window's neurons are one bit off",
        "whole": "windows of all n bits: the inclusion is not strict",
    }

    def decide(self, broken: str) -> Evidence:
        apart, unequal = 0.0, 0
        for n, k in SIZES:
            for seed in draw_seeds():
                apart = max(apart, _embedding_gap(n, k, seed, broken))
        for seed in draw_seeds():
            unequal += not _equal_in_fractions(*SIZES[seed % len(SIZES)], seed, broken)
        sizes = [(n, n if broken == "whole" else k) for n, k in SIZES]
        ranks = [rank_modulo(_window_functions(n, k)) for n, k in sizes]
        counts = [_sets_inside(n, k) for n, k in sizes]
        formula = [2**k + (n - k) * 2 ** (k - 1) if k < n else 2**n for n, k in sizes]
        overlap = max(int(np.abs(_window_functions(n, k) @ _ends(n)).max()) for n, k in sizes)
        expressed = all(_three_neurons(x) == x[0] * x[-1] for n, _ in sizes for x in words(n))
        inside = apart <= ROUNDING and unequal == 0
        strict = all(rank < 2**n for rank, (n, _) in zip(ranks, sizes, strict=True)) and overlap == 0
        agree = ranks == counts == formula
        return Evidence(
            "holds" if inside and strict and agree and expressed else "fails",
            {
                "CNNs drawn": len(SIZES) * len(draw_seeds()),
                "CNN and FCN apart, tanh": apart,
                "CNNs whose FCN differs, fractions": unequal,
                "dimension of CNNs, n = 6, k = 3": ranks[2],
                "dimension of FCNs, n = 6": 2**6,
                "largest sum of x_1 x_n over a window's content": overlap,
                "x_1 x_n by three neurons, all inputs": expressed,
                "weights and biases, CNN, n = 6, k = 3, q = 4": 4 * (3 + 1 + 4),
                "the same, FCN": 4 * 4 * (6 + 1 + 1),
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        rng = np.random.default_rng([42, seed])
        n = int(rng.integers(2, 9))
        k = int(rng.integers(1, n))
        gap = max(_embedding_gap(n, k, 10**6 + 20 * seed + i, "") for i in range(20))
        size = {"n": n, "k": k}
        return {
            "|CNN - its FCN| / rounding": Instance(gap / ROUNDING, size),
            "dimension of CNNs <= 2^n - 1": Instance(rank_modulo(_window_functions(n, k)) / (2**n - 1), size),
        }


def _drawn(n: int, k: int, seed: int) -> tuple[list[list[Fraction]], list[Fraction], list[list[Fraction]]]:
    """W (q, k), b (q,) and u (windows, q) in eighths, q = 4."""
    rng = np.random.default_rng([18, n, k, seed])

    def eighths(*shape: int) -> NDArray:
        return np.vectorize(lambda number: Fraction(int(number), 8))(rng.integers(-12, 13, shape))

    filters = eighths(4, k)
    while not filters.all():
        filters = eighths(4, k)
    readout = eighths(n - k + 1, 4) + Fraction(1, 16)
    return filters.tolist(), eighths(4).tolist(), readout.tolist()


def _embedded(n: int, k: int, seed: int, broken: str) -> tuple[list[list[Fraction]], list[Fraction], list]:
    """The FCN's w, b, u: filter i at window j has its weights on bits j..j+k-1 and zeros elsewhere."""
    filters, bias, readout = _drawn(n, k, seed)
    neurons = []
    for j, row in enumerate(readout):
        at = j - 1 if broken == "shifted" and j == n - k else j
        for weights, b, u in zip(filters, bias, row, strict=True):
            neurons.append(([Fraction(0)] * at + weights + [Fraction(0)] * (n - k - at), b, u))
    if broken == "one-less":
        neurons.pop()
    w, b, u = zip(*neurons, strict=True)
    return list(w), list(b), list(u)


def _embedding_gap(n: int, k: int, seed: int, broken: str) -> float:
    """The largest |CNN - FCN| over all inputs; tanh, float64."""
    filters, bias, readout = _drawn(n, k, seed)
    cnn = BitNetwork(
        consecutive(n, k),
        np.array(filters, float)[None],
        np.array(bias, float)[None],
        np.array(readout, float),
    )
    w, b, u = (np.array(part, float)[None] for part in _embedded(n, k, seed, broken))
    fcn = BitNetwork(np.arange(n)[None], w, b, u)
    inputs = all_inputs(n)
    return float(np.abs(cnn.values(inputs) - fcn.values(inputs)).max())


def _clip(z: Fraction) -> Fraction:
    return min(max(z, Fraction(0)), Fraction(1))


def _equal_in_fractions(n: int, k: int, seed: int, broken: str) -> bool:
    """Whether CNN and FCN are equal on all inputs; Definitions 1 and 2 in loops, clip(z, 0, 1)."""
    filters, bias, readout = _drawn(n, k, seed)
    neurons = list(zip(*_embedded(n, k, seed, broken), strict=True))

    def neuron(weights: list[Fraction], b: Fraction, bits: Word) -> Fraction:
        return _clip(sum((w * bit for w, bit in zip(weights, bits, strict=True)), b))

    for x in words(n):
        local = sum(
            u * neuron(weights, b, x[j : j + k])
            for j, row in enumerate(readout)
            for weights, b, u in zip(filters, bias, row, strict=True)
        )
        if local != sum(u * neuron(weights, b, x) for weights, b, u in neurons):
            return False
    return True


def _window_functions(n: int, k: int) -> NDArray:
    """[window j has content z] for all j and z, a row for each, over all inputs; they span every CNN."""
    every = words(n)
    rows = [[int(x[j : j + k] == z) for x in every] for j in range(n - k + 1) for z in words(k)]
    return np.array(rows, dtype=np.int64)


def _ends(n: int) -> NDArray:
    """x_1 x_n for all inputs."""
    return np.array([x[0] * x[-1] for x in words(n)], dtype=np.int64)


def _sets_inside(n: int, k: int) -> int:
    """How many sets of bits lie inside a window: their parities are a basis of what windows express."""
    return len({s for j in range(n - k + 1) for m in range(k + 1) for s in combinations(range(j, j + k), m)})


def _three_neurons(x: Word) -> Fraction:
    """2 clip(s - 1) + 2 clip(-s - 1) - clip(1), s = x_1 + x_n: an FCN that is x_1 x_n."""
    s = Fraction(x[0] + x[-1])
    return 2 * _clip(s - 1) + 2 * _clip(-s - 1) - _clip(Fraction(1))
