"""k-pattern problems set up a second time, from the paper's definitions: labels, law of the inputs, u*.

Python loops over tuples of -1 and 1, integers and fractions; u* by least squares. Nothing is imported from
:mod:`.k_patterns` or :mod:`.window_descent`, so labels that are off by a window, or a law that is another
one, move the plain network (:mod:`.oracle_windows`) away from the compressed one. ``x`` is an input,
``z`` a window's content, ``position`` = j*, counted from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod

from whyconv.lazy import Floats, np

Word = tuple[int, ...]
Pattern = Callable[[Word], int]


def words(length: int) -> list[Word]:
    """All of {-1, 1}^length."""
    return list(product((-1, 1), repeat=length))


def pattern(kind: str | Sequence[float]) -> Pattern:
    """g by its name, as in :func:`.k_patterns.target`; or from a table, the first bit counting most."""
    if not isinstance(kind, str):
        return lambda z: int(kind[int("".join("1" if bit == 1 else "0" for bit in z), 2)])
    return {
        "parity": prod,
        "and": lambda z: 1 if all(bit == 1 for bit in z) else -1,
        "majority": lambda z: 1 if sum(z) > 0 else -1,
        "dictator": lambda z: z[0],
    }[kind]


def label(g: Pattern, x: Word, position: int, k_window: int) -> int:
    """f(x) = g(x_{j*}, ..., x_{j*+k-1}) (Definition 3)."""
    return g(tuple(x[place - 1] for place in range(position, position + k_window)))


def probability(law: str, x: Word) -> Fraction:
    """P(x): *uniform*; *biased*, each bit 1 with probability 3/4; *markov*, a fair first bit, each next one
    like the one before with probability 3/4; *point*, all bits 1."""
    likely, rare = Fraction(3, 4), Fraction(1, 4)
    if law == "uniform":
        return Fraction(1, 2 ** len(x))
    if law == "biased":
        return prod((likely if bit == 1 else rare for bit in x), start=Fraction(1))
    if law == "markov":
        steps = pairwise(x)
        return prod((likely if old == new else rare for old, new in steps), start=Fraction(1, 2))
    return Fraction(all(bit == 1 for bit in x))


def examples(
    g: Pattern, n_bits: int, k_window: int, position: int, law: str
) -> list[tuple[Floats, float, float]]:
    """(x, f(x), P(x)) for every input with P(x) > 0."""
    return [
        (np.array(x, dtype=float), float(label(g, x, position, k_window)), float(share))
        for x in words(n_bits)
        if (share := probability(law, x))
    ]


def least_norm_readout(filters: Floats, g: Pattern) -> Floats:
    """u*^(j*) of Lemma 6 by least squares: the shortest u with <u, clip(W z + 1/k - 1, 0, 1)> nearest g(z).

    ``filters`` = W (q, k). The features of distinct types answer to distinct z, so what types there are is
    fitted exactly, and a z without a filter gets 0.
    """
    k_window = filters.shape[1]
    contents = words(k_window)
    table = np.clip(np.array(contents, dtype=float) @ filters.T + 1 / k_window - 1, 0, 1)
    return np.linalg.pinv(table) @ np.array([g(z) for z in contents], dtype=float)
