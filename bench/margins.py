"""Which solver finds least-norm separators: PIQP, Clarabel, HiGHS, SciPy's NNLS; accuracy and seconds.

    pip install clarabel==0.11.1 highspy==1.15.1
    python bench/margins.py

PIQP is a dependency; a solver that is missing is left out. One thread, as in whyconv's workers.
The problem is min |v|^2 s.t. units @ v >= 1. An answer counts by its duality gap alone, before any polish
(``inf``: not a separator), or, where there is none, by the length of its convex combination of the rows.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from machine import describe
from outcome import Outcome, write

sys.path.append(str(Path(__file__).parent.parent / "tests" / "helpers"))
from margin_samples import DEGENERATE, last_bits, nearly, separable

from whyconv.exact.margins.margin_routes import PRECISION, interior_point

PROVED = 1e-9
"""The duality gap up to which an answer counts as proved."""

Answer = tuple[np.ndarray, np.ndarray]


def piqp(units: np.ndarray) -> Answer:
    """As the package calls it."""
    return interior_point(units, np.ones(len(units)))


def clarabel(units: np.ndarray) -> Answer:
    """An interior point method on the homogeneous embedding, sparse."""
    import clarabel
    from scipy import sparse

    count, width = units.shape
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = PRECISION
    cone = [clarabel.NonnegativeConeT(count)]
    unit, matrix = sparse.eye(width, format="csc"), sparse.csc_matrix(-units)
    found = clarabel.DefaultSolver(unit, np.zeros(width), matrix, -np.ones(count), cone, settings).solve()
    return np.array(found.x), np.array(found.z)


def highs(units: np.ndarray) -> Answer:
    """An active set method."""
    import highspy

    count, width = units.shape
    model = highspy.HighsModel()
    program, square = model.lp_, model.hessian_
    program.num_col_, program.num_row_ = width, count
    program.col_cost_ = np.zeros(width)
    program.col_lower_, program.col_upper_ = np.full(width, -np.inf), np.full(width, np.inf)
    program.row_lower_, program.row_upper_ = np.ones(count), np.full(count, np.inf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(width + 1) * count
    program.a_matrix_.index_ = np.tile(np.arange(count), width)
    program.a_matrix_.value_ = units.T.ravel()
    square.dim_, square.format_ = width, highspy.HessianFormat.kTriangular
    square.start_, square.index_, square.value_ = np.arange(width + 1), np.arange(width), np.ones(width)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", 10.0)
    solver.passModel(model)
    solver.run()
    found = solver.getSolution()
    return np.array(found.col_value), np.array(found.row_dual)


def nnls(units: np.ndarray) -> Answer:
    """Lawson and Hanson's least-distance programming, an active set method."""
    from scipy.optimize import nnls

    system = np.vstack([units.T, np.ones(len(units))])
    target = np.append(np.zeros(units.shape[1]), 1.0)
    weights = nnls(system, target, maxiter=50 * len(units))[0]
    weights = weights / max(1.0 - weights.sum(), 1e-100)
    return units.T @ weights, weights


SOLVERS: dict[str, Callable[[np.ndarray], Answer]] = {"piqp": piqp, "clarabel": clarabel, "highspy": highs}


def cases() -> Iterator[tuple[str, list[np.ndarray], bool]]:
    """Kinds of rows, some of each, and whether they can be separated."""
    rng = np.random.default_rng(0)
    for count, width in ((400, 25), (100, 400), (2560, 200)):
        yield f"separable, {count} x {width}", [separable(rng, count, width) for _ in range(2)], True
    degenerate = [make(np.random.default_rng(seed))[0] for make in DEGENERATE.values() for seed in range(10)]
    yield "degenerate", degenerate, True
    yield "degenerate, last bits", [last_bits(rng, rows) for rows in degenerate], True
    for distance in (1e-3, 1e-5, 1e-6, 1e-7):
        yield f"nearly, {distance:g}", [nearly(rng, distance) for _ in range(10)], True
    for distance in (1e-3, 1e-7):
        yield f"just not, {distance:g}", [nearly(rng, -distance) for _ in range(10)], False
    yield "not separable, 2560 x 200", [rng.standard_normal((2560, 200))], False


def badness(units: np.ndarray, answer: Answer, can: bool) -> float:
    """The duality gap, or the length of the combination; infinite if the answer is no such thing."""
    vector, multipliers = answer[0], np.maximum(answer[1], 0.0)
    if not (np.isfinite(vector).all() and np.isfinite(multipliers).all() and multipliers.any()):
        return np.inf
    size = float(np.linalg.norm(units.T @ multipliers))
    if not can:
        return size / float(multipliers.sum())
    least = float((units @ vector).min())
    upper = (float(np.linalg.norm(vector)) / least) ** 2 if least > 0 else np.inf
    return upper * (size / float(multipliers.sum())) ** 2 - 1


def main() -> None:
    """The table: for every kind of rows the median and the worst answer, and mean milliseconds."""
    found = {name: solve for name, solve in SOLVERS.items() if find_spec(name)} | {"nnls": nnls}
    print(describe())
    print(f"{'':28}" + "".join(f"{name:>30}" for name in found))
    print(f"{'':28}" + f"{'median':>12}{'worst':>9}{'ms':>9}" * len(found))
    rows = []
    for kind, samples, can in cases():
        line = f"{kind:28}"
        for name, solve in found.items():
            begin, bad = time.perf_counter(), []
            for rows in samples:
                units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
                bad.append(badness(units, solve(units), can))
            if name == "piqp" and kind.startswith(("separable", "degenerate")):
                met = max(bad) <= PROVED
                rows.append(Outcome(f"PIQP, {kind}", f"<= {PROVED:g}", f"{max(bad):.0e}", bool(met)))
            seconds = (time.perf_counter() - begin) / len(samples)
            line += f"{np.median(bad):12.0e}{max(bad):9.0e}{1000 * seconds:9.1f}"
        print(line, flush=True)
    write("margins", rows)


if __name__ == "__main__":
    main()
