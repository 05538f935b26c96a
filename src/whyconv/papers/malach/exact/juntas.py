"""Orders of the bits, juntas and parities (Malach & Shalev-Shwartz, section 5), by exact counting.

A *k-junta* is a function g(x_J) of the bits in some set J of size k; a *k-pattern* is one whose J is
consecutive. A CNN that reads the bits in another order sees x_{order(1)}, ..., x_{order(n)}; its windows
are then arbitrary sets of bits. Sets of bits are bit masks: bit i is set where i belongs to the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb, factorial

from whyconv.lazy import Ints, NDArray, linalg, np


def subsets(n_bits: int, size: int) -> Ints:
    """All C(n, size) sets of bits as rows of their members, (C(n, size), size)."""
    return np.array(list(combinations(range(n_bits), size)), dtype=np.int64).reshape(comb(n_bits, size), size)


def masks(sets: Ints) -> Ints:
    """The bit masks of sets given by their members along the last axis."""
    return (1 << np.asarray(sets, dtype=np.int64)).sum(axis=-1)


def all_orders(n_bits: int) -> NDArray[np.int8]:
    """All n! orders of the bits, one per row, built by inserting bit after bit; n = 9 takes 3 MB."""
    orders = np.zeros((1, 1), dtype=np.int8)
    for bit in range(1, n_bits):
        new = np.full((len(orders), 1), bit, dtype=np.int8)
        orders = np.concatenate([np.hstack([orders[:, :i], new, orders[:, i:]]) for i in range(bit + 1)])
    return orders


def rotations(n_bits: int) -> NDArray[np.int8]:
    """The n cyclic shifts of the bits, one per row."""
    return ((np.arange(n_bits)[:, None] + np.arange(n_bits)) % n_bits).astype(np.int8)


def order_for(subset: Sequence[int], n_bits: int, first: int = 0) -> Ints:
    """An order that puts the bits of ``subset`` at positions first, ..., first + k - 1.

    The other bits fill the remaining positions in increasing order.
    """
    rest = [bit for bit in range(n_bits) if bit not in set(subset)]
    return np.array([*rest[:first], *subset, *rest[first:]], dtype=np.int64)


def window_masks(orders: NDArray[np.integer], k_window: int) -> Ints:
    """The masks of the n - k + 1 windows of each order, (number of orders, n - k + 1)."""
    bits = 1 << np.asarray(orders, dtype=np.int64)
    ends = np.cumsum(np.pad(bits, ((0, 0), (1, 0))), axis=1)
    return ends[:, k_window:] - ends[:, :-k_window]


def hit_orders(n_bits: int, k_window: int) -> int:
    """How many of the n! orders have a given k-set as a window: (n - k + 1) k! (n - k)!.

    The windows of one order are different sets, so at most one of them is the given one: the events
    "window j is the set" exclude each other and each has probability 1 / C(n, k). The probability of a
    hit is therefore exactly (n - k + 1) / C(n, k), not just at most that.
    """
    return (n_bits - k_window + 1) * factorial(k_window) * factorial(n_bits - k_window)


def parity_table(sets: Ints, inputs: NDArray) -> NDArray[np.float64]:
    """chi_I(x) = prod_{i in I} x_i, a row per input and a column per set; entries -1.0, 1.0."""
    return inputs[:, sets].prod(axis=2).astype(np.float64)


def walsh_columns(n_bits: int, columns: Ints) -> Ints:
    """The columns of Sylvester's Hadamard matrix of order 2^n that belong to the masks ``columns``.

    Its entry (x, A) is (-1)^|x & A|, the parity of A where bit i of x marks x_i = -1: the same functions as
    `parity_table` on `bit_networks.all_inputs`, from SciPy's recursion instead of products.
    """
    return linalg.hadamard(2**n_bits, dtype=np.int64)[:, columns]


def level_weights(table: NDArray, n_bits: int) -> NDArray[np.float64]:
    """W^m[f] = sum_{|A|=m} f^(A)^2 for m = 0..n, f given by its ``table`` over `bit_networks.all_inputs`.

    By Sylvester's matrix. Cost and memory 4^n; n = 10 takes 8 MB.
    """
    every = np.arange(2**n_bits)
    coefficients = walsh_columns(n_bits, every).T @ table / 2**n_bits
    weights = np.zeros(n_bits + 1)
    np.add.at(weights, np.bitwise_count(every), coefficients**2)
    return weights


def sq_dimension(n_bits: int, k_window: int) -> int:
    """The statistical-query dimension of the k-juntas under uniform bits: sum_{i<=k} C(n, i).

    The dimension is the largest d with d functions of the class whose pairwise correlations are at most
    1/d (Blum et al. 1994, up to the power of d). The parities on at most k bits are orthogonal k-juntas, so
    d is at least the sum; those on exactly k bits give the C(n, k) that the paper's argument uses. It is
    no larger (derived here): k-juntas lie in the span of these parities, and the Gram matrix G of d
    functions with correlations at most 1/d has rank >= (tr G)^2 / tr G^2 >= d^2 / (d + (d-1)/d) > d - 1.
    """
    return sum(comb(n_bits, size) for size in range(k_window + 1))


def junta_tables(n_bits: int, k_window: int) -> Ints:
    """All k-juntas, one per row, as tables of -1, 1 over the 2^n inputs; C(n, k) 2^(2^k) rows."""
    inputs = np.arange(2**n_bits)
    functions = 1 - 2 * ((np.arange(2**2**k_window)[:, None] >> np.arange(2**k_window)) & 1)
    rows = []
    for members in subsets(n_bits, k_window):
        content = ((inputs[:, None] >> members) & 1) @ (1 << np.arange(k_window))
        rows.append(functions[:, content])
    return np.concatenate(rows)
