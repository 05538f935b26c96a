"""Solvers that propose a least-norm separator, or a proof that there is none; proposals are not trusted.

The problem is min |v|^2 s.t. units @ v >= sides > 0 with rows of length one. At its solution
v = units.T lambda with lambda >= 0, and lambda_i > 0 only where units_i . v = sides_i. If there is no
solution, some nonzero lambda >= 0 has units.T lambda = 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from whyconv.exact.margins.margin_path import path
from whyconv.lazy import Floats, np, optimize

Pair = tuple[Floats, Floats]
"""A vector v and multipliers lambda."""
PRECISION = 1e-12
"""The goal of the interior point method, which rounding may prevent."""
CUTOFF = 1e-10
"""Singular values below this share of the largest count as zero: rows may be equal up to their last bits."""


def proposals(units: Floats, sides: Floats) -> Iterator[list[Pair]]:
    """Candidates, the fastest solver first, each followed by its :func:`polished` forms.

    1. An interior point method. 2. The same without its test for infeasibility, which errs for nearly
    separable rows. 3. The path of soft margins, which shares nothing with it. 4. A linear program, for rows
    that cannot be separated: the others may leave a combination that is not short enough to prove it.
    """
    for patient in (False, True):
        pair = interior_point(units, sides, patient)
        yield [pair, *polished(units, sides, *pair)]
    for vector, multipliers in path(units / sides[:, None]):
        pair = vector, multipliers / sides
        yield [pair, *polished(units, sides, *pair)]
    yield [(np.zeros(units.shape[1]), each) for each in vanishing(units)]


def vanishing(units: Floats) -> list[Floats]:
    """Multipliers with sum 1 and units.T lambda = 0, if the simplex method finds any.

    In as many coordinates as the rows have rank, so few of them are positive. Cost: that of a linear program
    with a variable for each row.
    """
    left, values, _ = np.linalg.svd(units, full_matrices=False)
    kept = values > CUTOFF * values[0]
    equations = np.vstack([(left[:, kept] * values[kept]).T, np.ones(len(units))])
    sides = np.append(np.zeros(int(kept.sum())), 1.0)
    found = optimize.linprog(np.zeros(len(units)), A_eq=equations, b_eq=sides, method="highs-ds")
    return [] if found.x is None else [found.x]


def interior_point(units: Floats, sides: Floats, patient: bool = False) -> Pair:
    """v and lambda by PIQP. If there are fewer rows than columns, R of units.T = Q R replaces them.

    Source: Schwan, Jiang, Kuhn & Jones, PIQP: A proximal interior-point quadratic programming solver.
    Chosen by measurement (bench/margins.py). Cost: count x width^2 operations per iteration, 10 to 30
    iterations, 250 at most.
    """
    import piqp

    basis, matrix = None, units
    if len(units) < units.shape[1]:
        basis, triangle = np.linalg.qr(units.T)
        matrix = triangle.T
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, PRECISION)
    if patient:
        solver.settings.infeasibility_threshold = np.inf
    width = matrix.shape[1]
    solver.setup(np.eye(width), np.zeros(width), G=matrix, h_l=sides)
    solver.solve()
    vector, multipliers = np.array(solver.result.x), np.array(solver.result.z_l)
    return vector if basis is None else basis @ vector, multipliers


def polished(units: Floats, sides: Floats, vector: Floats, multipliers: Floats) -> list[Pair]:
    """An approximate solution solved exactly on its active rows, those with lambda_i > units_i . v - sides_i.

    v is the shortest vector with units_i . v = sides_i for these rows. lambda is changed as little as
    possible so that units.T lambda is v, and, in case there is no solution, so that it is 0.
    """
    active = multipliers > units @ vector - sides
    if not active.any():
        return []
    left, values, right = np.linalg.svd(units[active], full_matrices=False)
    kept = values > CUTOFF * values[0]
    left, values, right = left[:, kept], values[kept], right[kept]
    exact = right.T @ (left.T @ sides[active] / values)
    found = []
    for target in (exact, np.zeros_like(exact)):
        moved = np.zeros(len(units))
        short = target - units[active].T @ multipliers[active]
        moved[active] = np.maximum(0.0, multipliers[active] + left @ (right @ short / values))
        found.append((exact, moved))
    return found
