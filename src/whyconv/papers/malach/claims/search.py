"""Malach & Shalev-Shwartz, sections 4 and 5: who can use the order of the bits.

A fully connected network cannot see it, a convolutional network must be given it, and a search for it gets no
signal. ``n_bits`` = n, ``k_window`` = k; I is the set of bits that the label depends on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from math import comb, log
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.rank import rank_modulo
from whyconv.lazy import NDArray, np
from whyconv.papers.malach.exact import juntas, window_signal
from whyconv.papers.malach.exact.bit_networks import (
    BitNetwork,
    all_inputs,
    consecutive,
    descend_in_fractions,
    hinge,
)
from whyconv.verdict import Evidence, Verdict

ROUNDING = 1e-12
"""Means of 2^n numbers below 1, n <= 10, that are 0 stay below this, in whatever order they are summed."""


class Permutation(Claim, name="malach.permutation"):
    """Training an FCN is blind to a permutation of the bits; training a CNN or an LCN is not.

    Full gradient descent on the hinge loss, n = 6, parity of 3 consecutive bits, all 64 inputs, 20 starts,
    each with a permutation of its own; the FCN's
    initial weights are permuted with the bits, which leaves their law as it is. At every step predictions
    and parameters are then the same, up to the rounding of sums taken in another order. Second route: a
    clipped-ReLU FCN in rational arithmetic, n = 4, where all 24 permutations must give *equal* fractions.
    For the CNN and the LCN no coupling can help: after the permutation no window holds the three bits, so
    E[y h] = 0 and the loss is at least 1 whatever the parameters; in the given order it falls to 0.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 4 (the key for proving Theorem 12)"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "uncoupled": "the FCN's initial weights are not permuted with the bits",
        "swap": "two of the FCN's initial weights are swapped after the permutation",
    }

    def decide(self, broken: str) -> Evidence:
        apart, parameters, learned = 0.0, 0.0, 0.0
        for seed in draw_seeds():
            found = _coupled(seed, broken)
            apart, parameters, learned = (
                max(pair) for pair in zip((apart, parameters, learned), found, strict=True)
            )
        local = _local_losses(draw_seeds())
        orders = permutations(range(4))
        equal = sum(_equal_in_fractions(each, broken) for each in orders)
        blind = apart <= 1e-12 and parameters <= 1e-12 and learned < 0.5 and equal == 24
        sees = all((loss < 0.5) if "given" in name else (loss >= 1 - 1e-12) for name, loss in local.items())
        return Evidence(
            "holds" if blind and sees else "fails",
            {
                "starts drawn": len(draw_seeds()),
                "FCN predictions apart, all steps": apart,
                "FCN parameters apart, all steps": parameters,
                "FCN loss at the end, worst": learned,
                "permutations with equal fractions, of 24": equal,
                **local,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Another start and order; and losses of CNN and LCN where no window holds the three bits."""
        apart, parameters, _ = _coupled(10**6 + seed, "")
        rng = np.random.default_rng([43, seed])
        inputs, step = all_inputs(6), float(rng.uniform(0.1, 2))
        order = rng.permutation(6)
        while np.ptp(np.flatnonzero((order >= 2) & (order < 5))) == 2:
            order = rng.permutation(6)
        labels = inputs[:, 2:5].prod(axis=1)
        losses = [
            hinge(now.values(inputs[:, order]), labels)
            for kind in ("cnn", "lcn")
            for now in _network(kind, 6, 3, 10**6 + seed).descend(inputs[:, order], labels, step, 60)
        ]
        return {
            "FCN and its twin apart / rounding": Instance(max(apart, parameters) / ROUNDING, {"start": seed}),
            "1 / loss of a local network": Instance(1 / max(min(losses), ROUNDING), {"step": step}),
        }


def _coupled(seed: int, broken: str) -> tuple[float, float, float]:
    """Largest distance of predictions and of parameters of an FCN and its twin, and the loss at the end."""
    order = np.random.default_rng([17, seed]).permutation(6)
    inputs = all_inputs(6)
    labels = inputs[:, 2:5].prod(axis=1)
    network = _network("fcn", 6, 3, seed)
    weights = network.filters if broken == "uncoupled" else network.filters[:, :, order]
    if broken == "swap":
        weights = weights[:, :, [1, 0, 2, 3, 4, 5]]
    twin = BitNetwork(network.windows, weights, network.bias, network.readout)
    apart, parameters, last = 0.0, 0.0, network
    walks = (network.descend(inputs, labels, 0.5, 60), twin.descend(inputs[:, order], labels, 0.5, 60))
    for plain, permuted in zip(*walks, strict=True):
        gap = plain.values(inputs) - permuted.values(inputs[:, order])
        apart = max(apart, float(np.abs(gap).max()))
        moved = (plain.filters[:, :, order] - permuted.filters, plain.readout - permuted.readout)
        parameters = max(parameters, *(float(np.abs(part).max()) for part in moved))
        last = plain
    return apart, parameters, hinge(last.values(inputs), labels)


@cache
def _local_losses(seeds: Sequence[int]) -> dict[str, float]:
    """Losses after 60 steps by network and order: the worst in the given order, the least in a permuted one.

    Permuted, bits 2 to 4 are the first, the last and one between: no window of 3 of 6 bits holds them.
    """
    inputs, order = all_inputs(6), np.array([2, 0, 3, 1, 5, 4])
    labels = inputs[:, 2:5].prod(axis=1)
    found = {}
    for kind in ("cnn", "lcn"):
        for what, bits, pick in (("given", inputs, max), ("permuted", inputs[:, order], min)):
            losses = []
            for seed in seeds:
                *_, trained = _network(kind, 6, 3, seed).descend(bits, labels, 0.5, 60)
                losses.append(hinge(trained.values(bits), labels))
            found[f"{kind.upper()} loss, {what} order"] = pick(losses)
    return found


def _network(kind: str, n_bits: int, k_window: int, seed: int) -> BitNetwork:
    """A tanh network of 32 filters; readouts +-1/32, so that both layers move."""
    rng = np.random.default_rng([12, seed])
    windows = np.arange(n_bits)[None] if kind == "fcn" else consecutive(n_bits, k_window)
    banks = len(windows) if kind == "lcn" else 1
    size = windows.shape[1]
    filters = rng.normal(0, size**-0.5, (banks, 32, size))
    return BitNetwork(
        windows, filters, rng.normal(0, 0.5, (banks, 32)), rng.choice([-1.0, 1.0], (len(windows), 32)) / 32
    )


def _equal_in_fractions(order: Sequence[int], broken: str) -> bool:
    """Whether six steps on permuted bits give the same fractions at every step, predictions included."""
    import random

    draw = random.Random(12)
    weights = [[Fraction(draw.randint(-32, 32), 32) for _ in order] for _ in range(3)]
    bias = [Fraction(draw.randint(0, 16), 32) for _ in range(3)]
    readout = [Fraction(draw.choice((-1, 1)), 4) for _ in range(3)]
    examples = [(x, x[1] * x[2]) for x in product((1, -1), repeat=4)]
    permuted = [(tuple(x[i] for i in order), y) for x, y in examples]
    start = weights if broken == "uncoupled" else [[row[i] for i in order] for row in weights]
    if broken == "swap":
        start = [[row[1], row[0], *row[2:]] for row in start]
    plain = descend_in_fractions(weights, bias, readout, examples, Fraction(1, 2), 6)
    twin = descend_in_fractions(start, bias, readout, permuted, Fraction(1, 2), 6)
    expected = [([[row[i] for i in order] for row in w], u, values) for w, u, values in plain]
    return twin == expected and plain[-1][:2] != plain[0][:2]


class Junta(Claim, name="malach.junta"):
    """With the order of the bits unknown, k-patterns are k-juntas; these have SQ dimension >= C(n, k).

    For every k-set an order is built that makes it consecutive, at every place, and the junta is compared
    with the pattern on all inputs (n <= 6, all k); second route: the windows of all n! orders are all C(n, k)
    sets. The C(n, k) parities are orthogonal by an integer Gram matrix and, second route, are columns of
    Sylvester's matrix. C(n, log2 n) is n to a power that keeps growing. Derived here: the dimension of the
    k-juntas is exactly sum_{i<=k} C(n, i), the rank of all of them together (n = 6, k = 2; n = 5, k = 3).
    That no faster algorithm than n^O(log n) is known is a remark on the literature, not decided here.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "rotations": "rotations in place of all orders of the bits",
        "first": "orders that leave the first bit in its place",
    }

    def decide(self, broken: str) -> Evidence:
        tried, wrong, missed = 0, 0, 0
        for n_bits in range(2, 7):
            every = juntas.rotations(n_bits) if broken == "rotations" else juntas.all_orders(n_bits)
            if broken == "first":
                every = every[every[:, 0] == 0]
            for k_window in range(1, n_bits + 1):
                seen = np.unique(juntas.window_masks(every, k_window))
                missed += comb(n_bits, k_window) - len(seen)
                for subset in juntas.subsets(n_bits, k_window):
                    for first in range(n_bits - k_window + 1):
                        order = juntas.order_for(subset, n_bits, first)
                        if broken == "rotations":
                            order = every[(subset[0] - first) % n_bits]
                        if broken == "first":
                            order = np.array([0, *(bit for bit in order if bit)])
                        tried += 1
                        wrong += not _pattern_is_junta(order, subset, first, n_bits)
        orthogonal = all(_parities_orthogonal(n, k) for n, k in ((8, 3), (8, 4), (10, 3), (10, 5)))
        ranks = {(n, k): rank_modulo(juntas.junta_tables(n, k)) for n, k in ((6, 2), (5, 3))}
        exact = all(rank == juntas.sq_dimension(*size) for size, rank in ranks.items())
        powers = [log(comb(2**k, k)) / log(2**k) for k in range(2, 21)]
        growing = all(before < after for before, after in pairwise(powers))
        return Evidence(
            "holds" if wrong == missed == 0 and orthogonal and exact and growing else "fails",
            {
                "sets and places tried": tried,
                "juntas that no pattern gives": wrong,
                "k-sets that are no window of any order": missed,
                "C(n, k) parities orthogonal, by both routes": orthogonal,
                "rank of all 2-juntas of 6 bits": ranks[6, 2],
                "sum of C(6, i), i <= 2": juntas.sq_dimension(6, 2),
                "C(n, log2 n) = n to the power, n = 16": powers[2],
                "C(n, log2 n) = n to the power, n = 1024": powers[8],
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Sets of up to 10 bits, beyond those that the check goes through, and ranks of all k-juntas."""
        rng = np.random.default_rng([44, seed])
        n = int(rng.integers(7, 11))
        k = int(rng.integers(1, n + 1))
        subset, first = rng.permutation(n)[:k], int(rng.integers(n - k + 1))
        wrong = not _pattern_is_junta(juntas.order_for(subset.tolist(), n, first), subset, first, n)
        small = [
            (bits, size) for size, most in ((1, 9), (2, 7), (3, 6)) for bits in range(size + 1, most + 1)
        ]
        bits, size = small[seed % len(small)]
        rank = rank_modulo(juntas.junta_tables(bits, size))
        return {
            "2 x juntas that their pattern is not": Instance(2.0 * wrong, {"n": n, "k": k, "first": first}),
            "C(n, k) <= dimension of the k-juntas": Instance(comb(bits, size) / rank, {"n": bits, "k": size}),
        }


def _pattern_is_junta(order: NDArray, subset: NDArray, first: int, n_bits: int) -> bool:
    """Whether g on bits first..first+k-1 of reordered inputs is g on the bits of ``subset``, for all inputs.

    g numbers its 2^k arguments, so equality for it is equality for every g.
    """
    inputs = all_inputs(n_bits)
    digits = 2.0 ** np.arange(len(subset))
    pattern = inputs[:, order][:, first : first + len(subset)] @ digits
    return bool(np.array_equal(pattern, inputs[:, subset] @ digits))


def _parities_orthogonal(n_bits: int, k_window: int) -> bool:
    """2^n I is the Gram matrix of the parities' tables, and these are columns of Sylvester's matrix.

    The Gram matrix is exact: its entries are sums of 2^n terms +-1, integers far below 2^53.
    """
    sets = juntas.subsets(n_bits, k_window)
    table = juntas.parity_table(sets, all_inputs(n_bits))
    columns = juntas.walsh_columns(n_bits, juntas.masks(sets))
    gram = table.T @ table
    return np.array_equal(gram, 2**n_bits * np.eye(len(sets))) and np.array_equal(table, columns)


class ArchitectureSearch(Claim, name="malach.nas"):
    """A search over orders of the bits gets no signal: dL/du^(j) = 0 exactly unless window j contains I.

    f = chi_I, uniform bits, CNN at u = 0 (where dL/dW = 0 as well). What a window sees depends on its set
    only, so all orders are covered by all C(n, w) sets of w bits, n <= 10. Routes: backpropagation through
    a tanh CNN with Gaussian filters; and, for the paper's own filters +-1/k, integers: the labels summed
    over the inputs with a given window content. A random order shows a signal with probability exactly
    (n-k+1)/C(n, k), as an order's windows are different sets; counted over all 40,320 orders of 8 bits.
    It is the parity that is flat: a majority is seen by every window that meets I, hence in every order.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "majority": "the majority of the bits of I in place of their parity",
        "nearly": "a parity that is wrong for one content of I",
    }

    def decide(self, broken: str) -> Evidence:
        targets = {"majority": window_signal.majority, "nearly": window_signal.nearly_parity}
        target = targets.get(broken, window_signal.parity)
        tried, unaligned, aligned, in_integers, agree = 0, 0.0, 1.0, 0, True
        drawn = draw_seeds(1, first=13)[0]
        for n_bits, width, k_window in ((6, 2, 2), (8, 3, 3), (8, 4, 3), (10, 3, 3), (10, 4, 4)):
            windows, subset = juntas.subsets(n_bits, width), np.arange(1, k_window + 1)
            inside = (juntas.masks(windows) & juntas.masks(subset)) == juntas.masks(subset)
            signal = window_signal.by_backpropagation(target, subset, windows, n_bits, drawn)
            counted = window_signal.in_integers(target, subset, windows, n_bits)
            tried += len(windows)
            unaligned = max(unaligned, float(signal[~inside].max()))
            aligned = min(aligned, float(signal[inside].min()))
            in_integers = max(in_integers, int(counted[~inside].max()))
            agree &= bool(np.array_equal(signal > ROUNDING, counted > 0))
        subset = np.arange(1, 4)
        showing, hits = window_signal.orders_that_show(target, subset, 8, 3), juntas.hit_orders(8, 3)
        flat = unaligned <= ROUNDING and in_integers == 0 and aligned > 1e-3 and agree
        contrast = window_signal.in_integers(window_signal.majority, subset, juntas.subsets(10, 3), 10)
        return Evidence(
            "holds" if flat and showing == hits else "fails",
            {
                "window sets tried": tried,
                "largest signal of an unaligned window": unaligned,
                "the same in integers": in_integers,
                "least signal of an aligned window": aligned,
                "orders of 8 bits with a signal, k = 3": showing,
                "(n-k+1) k! (n-k)!": hits,
                "a random order hits, n = 10, k = 3": (10 - 3 + 1) / comb(10, 3),
                "windows that see a majority, n = 10, k = 3": float(np.mean(contrast > 0)),
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Another I, anywhere, of any size, and windows of any width."""
        rng = np.random.default_rng([45, seed])
        n = int(rng.integers(4, 10))
        width, k = int(rng.integers(1, n)), int(rng.integers(1, n + 1))
        windows, subset = juntas.subsets(n, width), np.sort(rng.permutation(n)[:k])
        inside = (juntas.masks(windows) & juntas.masks(subset)) == juntas.masks(subset)
        unaligned, size = windows[~inside], {"n": n, "window": width, "k": k}
        if not len(unaligned):
            return {}
        parity = window_signal.parity
        signal = window_signal.by_backpropagation(parity, subset, unaligned, n, 10**6 + seed).max()
        counted = window_signal.in_integers(parity, subset, unaligned, n).max()
        return {
            "|dL/du| of an unaligned window / rounding": Instance(float(signal) / ROUNDING, size),
            "the same in integers, at most 0": Instance(float(counted), size),
        }
