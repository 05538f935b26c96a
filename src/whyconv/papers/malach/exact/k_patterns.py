"""k-patterns (Malach & Shalev-Shwartz, Definition 3) on all of {-1,1}^n, as tables over codes.

A word z of {-1,1}^k has the *code* sum_i 2^(k-i) [z_i = 1]: a binary number with -1 as 0 and the first bit as
the leading one. The window j of an input x, x_j..x_{j+k-1}, then has the code (code of x >> (n - k + 1 - j))
mod 2^k, and functions of windows are tables of 2^k numbers. ``n_bits`` = n, ``k_window`` = k, ``position`` =
j*, counted from 1 as in the paper.

There are n - k + 1 windows. The paper's sums end at n - k, which omits the last one: a pattern at
j* = n - k + 1 could then not be represented at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from whyconv.errors import UserError
from whyconv.lazy import Floats, Ints, np


def require_sizes(n_bits: int, k_window: int) -> None:
    """Refuse sizes without a window: 1 <= k <= n is needed."""
    if not 1 <= k_window <= n_bits:
        raise UserError(f"k = {k_window}, n = {n_bits}: a pattern has 1 <= k <= n bits; give such k and n.")


def window_count(n_bits: int, k_window: int) -> int:
    """n - k + 1."""
    require_sizes(n_bits, k_window)
    return n_bits - k_window + 1


def cube(length: int) -> Floats:
    """All of {-1,1}^length, the word of code c in row c; shape (2^length, length)."""
    return 2.0 * ((np.arange(2**length)[:, None] >> np.arange(length)[::-1]) & 1) - 1


def window_codes(n_bits: int, k_window: int) -> Ints:
    """The code of every window of every input, shape (2^n, n - k + 1)."""
    after = np.arange(window_count(n_bits, k_window))[::-1]
    return (np.arange(2**n_bits)[:, None] >> after) & (2**k_window - 1)


def target(kind: str | Sequence[float], k_window: int, seed: int = 0) -> Floats:
    """g: {-1,1}^k -> {-1,1} as a table over codes.

    *parity* prod z_i; *and* 1 only at the word of ones; *majority* the sign of sum z_i, -1 at a tie;
    *dictator* z_1; *random* fair signs from ``seed``; or any table of 2^k signs.
    """
    words = cube(k_window)
    if kind == "parity":
        return words.prod(axis=1)
    if kind == "and":
        return np.where(words.min(axis=1) > 0, 1.0, -1.0)
    if kind == "majority":
        return np.where(words.sum(axis=1) > 0, 1.0, -1.0)
    if kind == "dictator":
        return words[:, 0].copy()
    if kind == "random":
        return np.random.default_rng(seed).choice([1.0, -1.0], 2**k_window)
    if isinstance(kind, str):
        names = "parity, and, majority, dictator, random"
        raise UserError(f"Target {kind!r} is not one of {names}; name one of them or give a table.")
    table = np.array(kind, dtype=float)
    if table.shape != (2**k_window,) or not np.isin(table, (-1.0, 1.0)).all():
        raise UserError(
            f"A target table of shape {table.shape} was given; it must have 2^k = {2**k_window} entries, "
            "each -1 or 1."
        )
    return table


def labels(n_bits: int, table: Floats, position: int) -> Floats:
    """f(x) = g(x_{j*}, ..., x_{j*+k-1}) for all inputs, shape (2^n,); g = ``table``, j* = ``position``."""
    k_window = len(table).bit_length() - 1
    windows = window_count(n_bits, k_window)
    if not 1 <= position <= windows:
        raise UserError(f"j* = {position}: windows are numbered from 1 to n - k + 1 = {windows}.")
    return table[window_codes(n_bits, k_window)[:, position - 1]]


def distribution(law: str, n_bits: int) -> Floats:
    """P(x) for all inputs, shape (2^n,). Theorem 4 allows any distribution; these differ widely.

    *uniform*; *biased* independent bits of mean 1/2; *markov* a fair first bit, each next one equal to the
    one before with probability 3/4; *point* all mass on the input of ones, where all windows agree.
    """
    inputs = cube(n_bits)
    if law == "uniform":
        return np.full(2**n_bits, 0.5**n_bits)
    if law == "biased":
        return np.where(inputs > 0, 0.75, 0.25).prod(axis=1)
    if law == "markov":
        return 0.5 * np.where(inputs[:, 1:] == inputs[:, :-1], 0.75, 0.25).prod(axis=1)
    if law == "point":
        return np.where(inputs.min(axis=1) > 0, 1.0, 0.0)
    raise UserError(f"Distribution {law!r} is not one of uniform, biased, markov, point; name one of them.")
