"""Random first layers on windows of bits (Malach & Shalev-Shwartz, Lemma 6): what their readouts can express.

At W ~ {-1/k, 1/k}^{q x k}, b_i = 1/k - 1, a filter of sign pattern z gives 1/k on the window z and 0 on all
others: <w, z'> + b = (1 - 2 * Hamming(z, z')) / k. So a readout at one window can express any g as a table.
"""

from __future__ import annotations

from collections.abc import Callable

from whyconv.lazy import Floats, Ints, np
from whyconv.papers.malach.exact.k_patterns import cube

Activation = Callable[[Floats], Floats]


def worst_error_over_targets(k_window: int, activation: Activation, bias: float) -> float:
    """max over all g and windows z' of |h_{u*}(z') - g(z')|, u*_i = k g(z) / |J_z| for i in J_z.

    h(z') = sum_z g(z) k sigma(<z, z'>/k + b) is linear in g, so the worst of the 2^(2^k) targets has the
    error max_z' sum_z |k sigma(<z, z'>/k + b) - [z = z']|. Cost 4^k.
    """
    words = cube(k_window)
    answers = k_window * activation(words @ words.T / k_window + bias)
    return float(np.abs(answers - np.eye(2**k_window)).sum(axis=0).max())


def separator_norm(counts: Ints, k_window: int) -> float:
    """|u*| = k sqrt(sum_z 1/|J_z|), exactly, for ``counts`` = |J_z| > 0.

    Also the least norm of any exact readout at one window, since types respond to disjoint windows.
    """
    return float(k_window * np.sqrt((1 / counts).sum()))


def features(filters: Floats, inputs: Floats, windows: range, activation: Activation, bias: float) -> Floats:
    """sigma(W x_{j..j+k-1} + b) for the given windows j (from 0), side by side; (inputs, windows * q).

    Directly from Definition 1; ``filters`` = W, shape (q, k).
    """
    k_window = filters.shape[1]
    return np.hstack([activation(inputs[:, j : j + k_window] @ filters.T + bias) for j in windows])


def least_norm_readouts(table: Floats, values: Floats) -> tuple[Floats, float]:
    """The least-norm least-squares readouts of ``values`` (inputs, targets) and their worst residual."""
    readouts = np.linalg.lstsq(table, values, rcond=1e-9)[0]
    return np.asarray(readouts, dtype=float), float(np.abs(table @ readouts - values).max())
