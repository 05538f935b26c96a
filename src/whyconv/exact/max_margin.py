"""Least-norm separators: min |v|^2 subject to rows @ v >= 1, and the certificate that it is the least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Separator:
    """A least-norm separator v = rows.T @ multipliers, its multipliers >= 0, and its squared norm."""

    vector: Floats
    multipliers: Floats
    norm2: float


def least_norm(rows: Floats) -> Separator:
    """min |v|^2 s.t. rows @ v >= 1 by Lawson and Hanson's least-distance programming.

    ``rows`` holds y_i z_i. One non-negative least-squares problem, min |E u - f| over u >= 0 with
    E = [rows.T; 1 ... 1] and f = (0, ..., 0, 1), gives the residual r, and v = -r[:-1] / r[-1]. Rows are
    first scaled to length at most one, and R of rows.T = Q R replaces rows.T when there are fewer rows
    than columns. Raises ValueError if no vector separates the rows. Cost: one QR and one NNLS.
    """
    from scipy.optimize import nnls

    scale = float(np.linalg.norm(rows, axis=1).max())
    scaled = rows / scale
    square = np.linalg.qr(scaled.T, mode="r") if len(rows) < rows.shape[1] else scaled.T
    system = np.vstack([square, np.ones(len(rows))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, _ = nnls(system, target, maxiter=50 * system.shape[1])
    slack = 1.0 - weights.sum()
    multipliers = weights / slack if slack > 1e-12 else weights
    vector = scaled.T @ multipliers
    if slack <= 1e-12 or (scaled @ vector).min() < 1 - 1e-6:
        raise ValueError("no vector separates these rows")
    return Separator(vector / scale, multipliers / scale**2, float(vector @ vector) / scale**2)


def certified_range(rows: Floats, separator: Separator) -> tuple[float, float]:
    """Lower and upper bound on the least squared norm, from weak duality; how they came about is no matter.

    Upper: |v|^2 / (min_i rows_i . v)^2, the norm of v scaled to be feasible. Lower: for any lambda >= 0
    and scale c >= 0 the dual 2 c sum(lambda) - c^2 |rows.T lambda|^2 is below the optimum; the best c
    gives sum(lambda)^2 / |rows.T lambda|^2. Negative multipliers are cut to zero first.
    """
    margin = float((rows @ separator.vector).min())
    upper = float(separator.vector @ separator.vector) / margin**2 if margin > 0 else np.inf
    multipliers = np.maximum(separator.multipliers, 0.0)
    combined = rows.T @ multipliers
    return float(multipliers.sum() ** 2 / (combined @ combined)), upper


def margin(rows: Floats, vector: Floats) -> float:
    """min_i rows_i . v / |v|, the margin of the direction v (negative if it errs)."""
    return float((rows @ vector).min() / np.linalg.norm(vector))
