"""Linear separation of large samples: the path of soft margins. Its end is :func:`.hard_margin.follow`.

``rows`` holds y_i x_i. For a ridge r > 0 the soft margin with squared hinge loss is

    v_r = argmin  r/2 |v|^2 + 1/2 sum_i max(0, 1 - rows_i . v)^2,

and its shortfalls lambda_i = max(0, 1 - rows_i . v_r) satisfy rows.T lambda = r v_r. As r goes to zero,
either v_r approaches the least-norm separator, with multipliers lambda / r; or there is none, and lambda
approaches a non-negative combination of the rows that vanishes (Gordan's theorem). Either case is proved by
weak duality, valid for any v and lambda.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from whyconv.lazy import Floats, NDArray, linalg, np

RIDGES = tuple(10.0**-power for power in range(2, 14, 2))
"""Of the path, for rows of length at most one."""


def path(rows: Floats) -> Iterator[tuple[Floats, Floats]]:
    """v_r and lambda / r for decreasing ridges, until the last or one too small for the arithmetic."""
    margins, vector = SoftMargins(rows), np.zeros(rows.shape[1])
    scale = float(np.linalg.norm(rows, axis=1).max())
    for ridge in (scale**2 * each for each in RIDGES):
        try:
            vector = margins.solve(ridge, vector)
        except (ArithmeticError, np.linalg.LinAlgError):
            return
        yield vector, np.maximum(0.0, 1.0 - rows @ vector) / ridge


class SoftMargins:
    """The soft margins v_r of one sample, by Newton's method with exact line searches.

    A step goes towards the solution for the rows A with rows_i . v < 1, ignoring the others: a system of
    c = min(|A|, columns) equations. It ends after finitely many steps. Columns of zeros are dropped, and the
    matrix over the columns is updated by the rows that enter and leave A.
    Source: Keerthi & DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs.
    Cost of a step: |A| c^2 operations at first, c^3 / 3 once A hardly changes.
    """

    def __init__(self, rows: Floats) -> None:
        self._used: NDArray[np.bool_] = np.any(rows, axis=0)
        self._rows = rows[:, self._used]
        self._known = np.zeros(len(rows), bool)
        self._gram = np.zeros((0, 0))

    def solve(self, ridge: float, start: Floats, steps: int = 200) -> Floats:
        """v_r for r = ``ridge``; ArithmeticError if the gradient is not near zero after ``steps`` steps."""
        rows, vector = self._rows, start[self._used]
        margins = rows @ vector
        for _ in range(steps):
            before = _loss(ridge, vector, margins)
            change = self._goal(margins < 1, ridge) - vector
            slope, curvature = (ridge * float(change @ other) for other in (vector, change))
            length = line_search(slope, curvature, margins, rows @ change)
            vector = vector + length * change
            margins = rows @ vector
            if _loss(ridge, vector, margins) >= before * (1 - 1e-14):
                break
        gradient = ridge * vector - rows.T @ np.maximum(0.0, 1.0 - margins)
        if np.linalg.norm(gradient) > 1e-8 * np.linalg.norm(rows, axis=1).sum():
            raise ArithmeticError(
                f"the soft margin with ridge {ridge:g} was not solved in {steps} Newton steps"
            )
        whole = np.zeros(len(self._used))
        whole[self._used] = vector
        return whole

    def _goal(self, active: NDArray[np.bool_], ridge: float) -> Floats:
        """argmin r/2 |v|^2 + 1/2 sum over the active rows of (1 - rows_i . v)^2."""
        if active.sum() <= self._rows.shape[1]:
            chosen = self._rows[active]
            return chosen.T @ _solved(chosen @ chosen.T, ridge, np.ones(len(chosen)))
        come, gone = self._rows[active & ~self._known], self._rows[self._known & ~active]
        if len(come) + len(gone) < active.sum():
            self._gram += come.T @ come
            self._gram -= gone.T @ gone
        else:
            chosen = self._rows[active]
            self._gram = chosen.T @ chosen
        self._known = active
        return _solved(self._gram.copy(), ridge, active.astype(float) @ self._rows)


def line_search(slope: float, curvature: float, margins: Floats, moved: Floats) -> float:
    """argmin over s >= 0 of  slope s + curvature s^2 / 2 + 1/2 sum_i max(0, 1 - margins_i - s moved_i)^2.

    The derivative is piecewise linear and increasing: bisection among its kinks, then linear interpolation.
    """

    def derivative(s: float) -> float:
        return slope + curvature * s - float(np.maximum(0.0, 1.0 - margins - s * moved) @ moved)

    with np.errstate(divide="ignore", invalid="ignore"):
        bends = (1.0 - margins) / moved
    bends = np.sort(bends[np.isfinite(bends) & (bends > 0)])
    after = bisect_left(bends, 0.0, key=derivative)
    left = float(bends[after - 1]) if after else 0.0
    right = float(bends[after]) if after < len(bends) else left + 1.0
    first, last = derivative(left), derivative(right)
    return left - first * (right - left) / (last - first) if first < min(0.0, last) else left


def _solved(matrix: Floats, ridge: float, right: Floats) -> Floats:
    """(matrix + ridge)^-1 right by a Cholesky factorisation, which overwrites the matrix."""
    matrix.flat[:: len(matrix) + 1] += ridge
    return linalg.cho_solve(linalg.cho_factor(matrix, overwrite_a=True, check_finite=False), right)


def _loss(ridge: float, vector: Floats, margins: Floats) -> float:
    shortfalls = np.maximum(0.0, 1.0 - margins)
    return float(ridge * (vector @ vector) + shortfalls @ shortfalls)
