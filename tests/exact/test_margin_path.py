"""The path of soft margins against two programs and scikit-learn; its proofs of either end."""

import numpy as np
import pytest
from margin_samples import separation
from scipy.optimize import minimize_scalar
from sklearn.svm import LinearSVC

from whyconv.exact.margins import margin_path, max_margin
from whyconv.exact.margins.hard_margin import GAP, bracket, follow
from whyconv.exact.margins.margin_path import SoftMargins, line_search

THRESHOLD = 1e-6


def rows_of(seed, count, width, noise=0.0, rank=None):
    """y_i x_i with y the sign of x_1 and some noise; ``rank`` makes the columns dependent."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, rank or width))
    y = np.sign(x[:, 0] + noise * rng.standard_normal(count))
    if rank:
        x = x @ rng.standard_normal((rank, width))
    return y[:, None] * x


@pytest.mark.parametrize(
    ("seed", "count", "width", "noise", "rank"),
    [
        (0, 30, 40, 3.0, None), (1, 60, 40, 3.0, None), (2, 400, 40, 3.0, None), (3, 400, 40, 0.0, None),
        (4, 90, 40, 0.5, None), (5, 100, 40, 0.5, 20),
    ],
)  # fmt: skip
def test_either_end_is_the_linear_programs(seed, count, width, noise, rank):
    rows = rows_of(seed, count, width, noise, rank)
    t, end = separation(rows), follow(rows, THRESHOLD)
    assert end.low - 1e-6 <= max(t, end.low * (t == 1)) and t <= end.high + 1e-6
    assert (end.low > THRESHOLD) == (t > THRESHOLD) == (end.separator is not None)
    assert (end.high <= THRESHOLD) == (t <= THRESHOLD)
    if end.separator is not None:
        exact = max_margin.least_norm(rows)
        assert end.separator.norm2 == pytest.approx(exact.norm2, rel=2 * GAP, abs=0)
        np.testing.assert_allclose(end.separator.vector, exact.vector, atol=1e-4 * exact.norm2**0.5)
        built = rows.T @ end.separator.multipliers
        np.testing.assert_allclose(built, exact.vector, atol=1e-3 * exact.norm2**0.5)
        least, most = max_margin.certified_range(rows, end.separator)
        assert least <= most <= (1 + 2 * GAP) * least


def test_both_ends_occur():
    ends = [follow(rows_of(seed, 85, 40, 3.0), THRESHOLD) for seed in range(8)]
    assert {end.separator is None for end in ends} == {True, False}
    assert all((end.high <= THRESHOLD) == (end.separator is None) for end in ends)


def test_repeated_and_opposite_examples():
    rows = rows_of(0, 30, 10)
    once, twice = follow(rows, THRESHOLD).separator, follow(np.vstack([rows, rows]), THRESHOLD).separator
    np.testing.assert_allclose(once.vector, twice.vector, rtol=1e-4)
    opposite = follow(np.vstack([rows, -rows[:1]]), THRESHOLD)
    assert opposite.separator is None and opposite.high <= THRESHOLD


def test_a_tiny_margin_is_told_from_none():
    rows = np.array([[1.0, 0.0], [-1.0, 1e-9]] * 5)
    assert separation(rows) <= THRESHOLD and follow(rows, THRESHOLD).high <= THRESHOLD
    assert follow(rows, 1e-12).low == pytest.approx(5e-10, rel=1e-6, abs=0)


@pytest.mark.parametrize("seed", range(6))
def test_a_path_that_ends_early_leaves_it_open_and_is_never_wrong(seed, monkeypatch):
    rows = rows_of(seed, 20, 40, 3.0, rank=10)  # more inputs than examples, and still not separable
    t = separation(rows)
    end = follow(rows, THRESHOLD)
    assert end.low <= t + 1e-9 and t <= end.high
    monkeypatch.setattr(margin_path, "RIDGES", (1e-2,))
    early = follow(rows, THRESHOLD)
    assert early.separator is None and early.low <= max(t, 0) + 1e-9 and early.high > THRESHOLD


def test_the_bracket_holds_for_any_vector_and_multipliers():
    rng = np.random.default_rng(0)
    rows = rows_of(7, 50, 12)
    t = separation(rows / 10) * 10  # the program stops at one
    for _ in range(50):
        low, high = bracket(rows, rng.standard_normal(12), rng.exponential(size=50) ** 4)
        assert low <= t <= high
    assert bracket(rows, np.zeros(12), np.zeros(50)) == (0.0, np.inf)


@pytest.mark.parametrize("shape", [(60, 8), (8, 60), (60, 60)])
def test_the_soft_margin_is_scikit_learns(shape):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape)
    x[:, 3] = 0.0
    y = np.where(rng.random(shape[0]) < 0.5, -1.0, 1.0)
    margins, vector = SoftMargins(y[:, None] * x), np.zeros(shape[1])
    for c in (1e-3, 1.0, 30.0, 0.1):  # the matrix is kept from one to the next
        vector = margins.solve(1 / (2 * c), vector)
        solver = LinearSVC(C=c, dual=False, fit_intercept=False, tol=1e-8, max_iter=10_000)
        np.testing.assert_allclose(vector, solver.fit(x, y).coef_[0], rtol=1e-4, atol=1e-5)
        assert vector[3] == 0


def test_a_soft_margin_that_is_not_solved_is_an_error():
    rows = rows_of(2, 400, 40, 0.5)
    with pytest.raises(ArithmeticError, match="1 Newton steps"):
        SoftMargins(rows).solve(1e-6, np.zeros(40), steps=1)


def test_the_line_search_finds_the_minimum():
    rng = np.random.default_rng(2)
    for _ in range(20):
        margins, moved = rng.standard_normal(30), rng.standard_normal(30)
        slope, curvature = -5 * rng.random(), rng.random()

        def value(s, margins=margins, moved=moved, slope=slope, curvature=curvature):
            return slope * s + curvature * s**2 / 2 + np.sum(np.maximum(0, 1 - margins - s * moved) ** 2) / 2

        best = line_search(slope, curvature, margins, moved)
        reference = minimize_scalar(value, bounds=(0, 100), method="bounded", options={"xatol": 1e-10})
        assert value(best) <= reference.fun + 1e-9 and best >= 0
