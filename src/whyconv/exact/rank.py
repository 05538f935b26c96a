"""Ranks of matrices of whole numbers, decided without rounding."""

from __future__ import annotations

from whyconv.lazy import Ints, np


def rank_modulo(matrix: Ints, prime: int = 2_147_483_629) -> int:
    """Rank of an integer matrix modulo a prime: never above its rank over the rationals.

    So full rank modulo the prime proves full rank, without a tolerance. Row elimination; products stay below
    2^62. Cost rows^2 * columns.
    """
    rows = matrix.astype(np.int64) % prime
    rank = 0
    for column in range(rows.shape[1]):
        pivots = np.nonzero(rows[rank:, column])[0]
        if len(pivots) == 0:
            continue
        rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, column]), -1, prime) % prime
        below = rank + 1 + np.nonzero(rows[rank + 1 :, column])[0]
        rows[below] = (rows[below] - rows[below, column, None] * rows[rank]) % prime
        rank += 1
        if rank == len(rows):
            break
    return rank
