"""Rows to separate: degenerate ones whose least norm is known, nearly separable ones; and a reference."""

import numpy as np
from scipy.optimize import linprog

from whyconv.papers.brutzkus.exact import max_pooling


def separation(rows):
    """max t s.t. rows @ w >= t, |w_j| <= 1, t <= 1, by HiGHS: positive exactly if the rows are separable."""
    count, inputs = rows.shape
    answer = linprog(
        np.append(np.zeros(inputs), -1.0),
        A_ub=np.hstack([-rows, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * inputs + [(0, 1)],
        method="highs",
    )
    assert answer.status == 0
    return -float(answer.fun)


def separable(rng, count, width):
    rows = rng.standard_normal((count, width))
    return rows * np.sign(rows @ rng.standard_normal(width))[:, None]


def rotated(rng, rows, width):
    """The same rows in another basis, in a space of ``width`` dimensions."""
    return rows @ np.linalg.qr(rng.standard_normal((width, rows.shape[1])))[0].T


def detection(rng, positions, patterns, places=None):
    """Every input of the detection task with its discriminative pattern at one of ``places``."""
    indices, labels = max_pooling.support(positions, patterns)
    allowed = np.isin((indices < 2).argmax(axis=1), range(positions) if places is None else places)
    basis = max_pooling.random_patterns(rng, patterns, patterns + 1)
    return labels[allowed, None] * max_pooling.embed(indices[allowed], basis).reshape(int(allowed.sum()), -1)


def drawn(rng):
    """1000 examples of the detection task, n = l = d = 5. All its inputs need 2n."""
    indices, labels = max_pooling.support(5, 5)
    chosen = rng.integers(len(labels), size=1000)
    basis = max_pooling.random_patterns(rng, 5, 5)
    return labels[chosen, None] * max_pooling.embed(indices[chosen], basis).reshape(1000, -1)


def signs(size):
    """(1, s) for every vector s of signs: all of them tie, and the separator is the first coordinate."""
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * size)).reshape(size, -1).T
    return np.hstack([np.ones((len(cube), 1)), cube])


DEGENERATE = {
    # rows and their least squared norm
    "Proposition 6.1, n=6": lambda rng: (detection(rng, 6, 4), 12),
    "Proposition 6.1, n=3": lambda rng: (detection(rng, 3, 4), 6),
    "Proposition 6.1, its control, n=6": lambda rng: (detection(rng, 6, 4, [0]), 2),
    "Proposition 6.1, its control, n=4": lambda rng: (detection(rng, 4, 4, [0]), 2),
    "detection, 1000 examples": lambda rng: (drawn(rng), None),
    "an orthonormal basis, repeated": lambda rng: (np.repeat(rotated(rng, np.eye(7), 7), 9, axis=0), 7),
    "all signs": lambda rng: (rotated(rng, signs(6), 7), 1),
    "all signs in a larger space": lambda rng: (rotated(rng, signs(5), 90), 1),
    "rank 4 in 20 dimensions": lambda rng: (rotated(rng, separable(rng, 60, 4), 20), None),
    "every row five times": lambda rng: (np.repeat(separable(rng, 40, 12), 5, axis=0), None),
}


def last_bits(rng, rows):
    """Every number moved to one of its neighbours."""
    return np.nextafter(rows, rng.choice([-np.inf, np.inf], rows.shape))


def nearly(rng, distance, count=200, width=15):
    """Rows of which about half have the same product with a hidden unit vector, namely ``distance``.

    If it is negative they cannot be separated, else the least squared norm is its square's inverse.
    """
    hidden = rng.standard_normal(width)
    hidden /= np.linalg.norm(hidden)
    rows = rng.standard_normal((count, width))
    product = rows @ hidden
    rows -= np.outer(product, hidden)
    return rows + np.outer(np.where(np.abs(product) < 1, distance, np.abs(product)), hidden)
