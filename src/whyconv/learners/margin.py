"""The linear support vector machine: hard margin if the sample is separable, else a tuned soft one."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar

from pydantic import Field, field_validator

from whyconv.exact.margins.hard_margin import follow
from whyconv.exact.margins.margin_path import SoftMargins
from whyconv.exact.margins.max_margin import NotSeparable, Undecidable, least_norm
from whyconv.lazy import np
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.networks import Network

SEPARABLE = 1e-6
"""A large sample counts as separable if t is above this."""
SMALL = 1e7
"""The quadratic program is solved up to this m * inputs^1.5; that takes about a second."""
NOT_FOUND = "not found"
NO_SCORE = 1e-9
"""A score below this fraction of |w| |x| counts as 0. Inputs orthogonal to w do occur (patterns never seen at
their position), and the sign of a rounding error differs between processors."""


class LinearSVM(Learner, name="svm"):
    """Linear SVM on the whole input: hard margin if the sample is separable, else a tuned soft one.

    1. The hard margin, min |w|^2 s.t. y_i w.x_i >= 1, with a proof that |w| is least up to a relative 10^-9;
       or a proof that no w has y_i w.x_i > 0 for every i: a convex combination of the y_i x_i that vanishes
       (:func:`.max_margin.least_norm`).
    2. If not separable, the soft margin with squared hinge loss; C is chosen from ``grid`` on the last fifth
       of the sample, and the machine refitted on all of it.

    Large samples (m * inputs^1.5 above 10^7) use Newton's method for both (:mod:`.margin_path`): separable
    means that t = max min_i y_i w.x_i over |w_j| <= 1 is proved to be above 10^-6, not separable that it is
    proved to be below, and the hard margin is accepted with a duality gap of at most 10^-6.

    If neither is proved, the soft margin is used and ``separable`` is *not found*. If the sample is proved
    separable but the hard margin is not solved, the trial fails.

    No bias, like the networks; a score that is 0 up to rounding is 0 and predicts -1. If a solver does not
    converge the trial fails; its last iterate is never a result (libsvm with C = 10^6 stopped at .296 where
    the solution has .19).
    """

    version: ClassVar[int] = 4
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (hard-margin SVM)"
    needs_network: ClassVar[bool] = False

    grid: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    iterations: int = Field(10_000, ge=1)

    @field_validator("grid")
    @classmethod
    def _positive(cls, grid: tuple[float, ...]) -> tuple[float, ...]:
        if not grid or min(grid) <= 0:
            raise ValueError("grid must hold at least one C, all of them positive")
        return grid

    def start(self, job: Job) -> np.ndarray:
        """The weights, NaN until they are found."""
        return np.full(math.prod(job.shape) + 2, np.nan)

    def advance(self, job: Job, state: np.ndarray, steps: int) -> np.ndarray:
        """Everything in one step: [weights, whether separable (NaN: not found), C]."""
        del state, steps
        x = np.asarray(job.sample.x)[: job.m].astype(np.float64).reshape(job.m, -1)
        y = np.asarray(job.sample.y)[: job.m].astype(np.float64)
        if not small(*x.shape):
            rows = y[:, None] * x
            del x  # as large as the rows
            return self._along_the_path(rows)
        weights, decided, chosen = self._at_once(x, y)
        return np.append(weights, [decided, chosen])

    def _at_once(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Weights, whether separable, C."""
        try:
            return least_norm(y[:, None] * x).vector, 1.0, math.inf
        except NotSeparable:
            decided = 0.0
        except Undecidable as unknown:
            if unknown.separable:
                raise
            decided = math.nan
        weights, chosen = self._soft(x, y)
        return weights, decided, chosen

    def _along_the_path(self, rows: np.ndarray) -> np.ndarray:
        """The same for a large sample, ``rows`` = y_i x_i."""
        end = follow(rows, SEPARABLE)
        if end.separator is not None:
            return np.append(end.separator.vector, [1.0, math.inf])
        if end.low > SEPARABLE:
            raise ArithmeticError("the sample is separable, but its hard margin was not solved")
        kept = len(rows) * 4 // 5
        margins, weights, accuracy = SoftMargins(rows[:kept]), np.zeros(rows.shape[1]), {}
        for c in sorted(self.grid):
            weights = margins.solve(1 / (2 * c), weights, self.iterations)
            accuracy[c] = np.mean(rows[kept:] @ weights > 0)
        best = max(self.grid, key=lambda c: accuracy[c])
        weights = SoftMargins(rows).solve(1 / (2 * best), weights, self.iterations)
        return np.append(weights, [0.0 if end.high <= SEPARABLE else math.nan, best])

    def _soft(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        def fitted(c: float, count: int) -> LinearSVC:
            solver = LinearSVC(C=c, dual=False, fit_intercept=False, max_iter=self.iterations)
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                return solver.fit(x[:count], y[:count])

        kept = max(1, len(y) * 4 // 5)
        if len(np.unique(y[:kept])) < 2:
            raise ValueError("the sample has only one class, so no soft margin can be tuned on it")
        accuracy = {c: fitted(c, kept).score(x[kept:], y[kept:]) for c in self.grid}
        best = max(self.grid, key=lambda c: accuracy[c])
        return fitted(best, len(y)).coef_[0], best

    def progress(self, state: np.ndarray) -> float:
        return 0.0 if np.isnan(state[0]) else 1.0

    def finish(self, job: Job, state: np.ndarray) -> Fit:
        """The linear predictor, with its separability and squared norm."""
        weights, decided, chosen = state[:-2], float(state[-2]), float(state[-1])
        facts = {
            "separable": NOT_FOUND if math.isnan(decided) else bool(decided),
            "norm2": float(weights @ weights),
            "parameters": len(weights),
        }
        if decided != 1:
            facts["soft_margin_C"] = chosen
        return Fit(
            scores=lambda x: scores(weights, np.asarray(x, np.float64).reshape(len(x), -1)),
            facts=facts,
            trace={},
            params=weights,
        )

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Iterations of m * min(m, inputs)^2 operations; the longest run includes a soft margin."""
        del network
        inputs = math.prod(shape)
        rounds, copies = (20, 10) if small(m, inputs) else (10, 6)
        work = float(rounds * m * min(m, inputs) ** 2)
        return Cost(work, 10 * work, 8.0 * copies * m * inputs)


def scores(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """w.x for every row of ``x``, 0 where it is only rounding error."""
    found = x @ weights
    possible = np.linalg.norm(weights) * np.linalg.norm(x, axis=1)
    return np.where(np.abs(found) <= NO_SCORE * possible, 0.0, found)


def small(m: int, inputs: int) -> bool:
    """Whether the quadratic program takes about a second at most."""
    return m * inputs**1.5 <= SMALL
