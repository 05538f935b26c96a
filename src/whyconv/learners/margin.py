"""The linear support vector machine: hard margin where the sample is separable, else a tuned soft one."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import np
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.networks import Network

SEPARABLE = 1e-6
"""The LP's optimum above which a sample counts as separable (HiGHS works to 1e-7)."""
SMALL = 1e7
"""m * inputs^1.5 up to which the linear program is solved; about a second."""
NOT_FOUND = "not found"


class LinearSVM(Learner, name="svm"):
    """Linear SVM on the whole input: hard margin if the sample is separable, else a tuned soft one.

    1. Separability:  max t  s.t.  y_i w.x_i >= t,  |w_j| <= 1,  0 <= t <= 1.  Always feasible and
       bounded; the sample is separable exactly if t > 0.
    2. If separable, the hard margin, min |w|^2 s.t. y_i w.x_i >= 1, solved exactly by
       least-distance programming (:func:`whyconv.exact.max_margin.least_norm`).
    3. If not, the soft margin with squared hinge loss, its C chosen from ``grid`` on the last fifth
       of the sample and refitted on all of it.

    On large samples (m * inputs^1.5 above 10^7) all three by Newton's method instead
    (:mod:`whyconv.exact.margin_path`): t is not computed, but proved to lie above or below the same
    threshold, by a separating vector or by a combination of the examples that vanishes, and the hard margin
    is accepted with a duality gap of at most 10^-6. Where neither proof is found the soft margin is taken,
    and ``separable`` says *not found*.

    No bias, like the networks. A solver that does not converge makes the trial fail; its stopped
    iterate is never counted as a result (libsvm with C = 10^6 stopped at .296 where the solution
    has .19).
    """

    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (hard-margin SVM)"
    needs_network: ClassVar[bool] = False

    grid: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    iterations: int = Field(10_000, ge=1)

    @field_validator("grid")
    @classmethod
    def _positive(cls, grid: tuple[float, ...]) -> tuple[float, ...]:
        if not grid or min(grid) <= 0:
            raise ValueError("grid must hold at least one C, and only positive ones")
        return grid

    def start(self, job: Job) -> np.ndarray:
        """The weights, not a number until there are any."""
        return np.full(math.prod(job.shape) + 2, np.nan)

    def advance(self, job: Job, state: np.ndarray) -> np.ndarray:
        """Everything in one go: [weights, whether separable (not a number: not found), C]."""
        del state
        x = np.asarray(job.sample.x[: job.m], np.float64).reshape(job.m, -1)
        y = np.asarray(job.sample.y[: job.m], np.float64)
        if not small(*x.shape):
            rows = y[:, None] * x
            del x  # as large as the rows
            return self._along_the_path(rows)
        if separation(x, y) > SEPARABLE:
            from whyconv.exact.max_margin import least_norm

            return np.append(least_norm(y[:, None] * x).vector, [1.0, math.inf])
        weights, chosen = self._soft(x, y)
        return np.append(weights, [0.0, chosen])

    def _along_the_path(self, rows: np.ndarray) -> np.ndarray:
        """The same for a large sample, ``rows`` = y_i x_i."""
        from whyconv.exact.margin_path import SoftMargins, follow

        end = follow(rows, SEPARABLE)
        if end.separator is not None:
            return np.append(end.separator.vector, [1.0, math.inf])
        if end.low > SEPARABLE:
            raise ArithmeticError("the sample is separable, and its hard margin was not solved")
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
            raise ValueError("the sample holds one class only, so a soft margin cannot be tuned on it")
        accuracy = {c: fitted(c, kept).score(x[kept:], y[kept:]) for c in self.grid}
        best = max(self.grid, key=lambda c: accuracy[c])
        return fitted(best, len(y)).coef_[0], best

    def progress(self, state: np.ndarray) -> float:
        """Done once there are weights."""
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
            scores=lambda x: np.asarray(x, np.float64).reshape(len(x), -1) @ weights,
            facts=facts,
            trace={},
            params=weights,
        )

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """The simplex method's pivots dominate, measured to grow like m * inputs^1.5; or Newton's steps."""
        del network
        inputs = math.prod(shape)
        work = 2e3 * m * inputs**1.5 if small(m, inputs) else 10.0 * m * min(m, inputs) ** 2
        return Cost(work, 10 * work, 8.0 * 6 * m * inputs)


def small(m: int, inputs: int) -> bool:
    """Whether the linear program takes about a second at most."""
    return m * inputs**1.5 <= SMALL


def separation(x: np.ndarray, y: np.ndarray) -> float:
    """The optimum t of the linear program in :class:`LinearSVM`: positive exactly if separable."""
    from scipy.optimize import linprog

    rows = y[:, None] * x
    count, inputs = rows.shape
    answer = linprog(
        np.append(np.zeros(inputs), -1.0),
        A_ub=np.hstack([-rows, np.ones((count, 1))]),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * inputs + [(0, 1)],
        method="highs",
    )
    if answer.status != 0:
        raise ArithmeticError(f"the separability program was not solved: {answer.message}")
    return -float(answer.fun)
