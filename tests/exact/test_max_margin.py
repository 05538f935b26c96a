"""Least-norm separators against scikit-learn, against duality, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from whyconv.exact.margins import max_margin


def _separable(seed, count, width):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, width))
    return rows * np.sign(rows @ rng.standard_normal(width))[:, None]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 12), width=st.integers(2, 12))
def test_duality_certifies_the_norm(seed, count, width):
    rows = _separable(seed, count, width)
    separator = max_margin.least_norm(rows)
    lower, upper = max_margin.certified_range(rows, separator)
    assert lower == pytest.approx(upper, rel=1e-6)
    assert separator.norm2 == pytest.approx(separator.vector @ separator.vector, rel=1e-9)
    assert (separator.multipliers >= 0).all()
    np.testing.assert_allclose(rows.T @ separator.multipliers, separator.vector, atol=1e-7 * np.sqrt(upper))
    assert max_margin.margin(rows, separator.vector) == pytest.approx(upper**-0.5, rel=1e-6, abs=0)
    assert max_margin.least_norm(1e-5 * rows).norm2 == pytest.approx(1e10 * separator.norm2, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_libsvm_agrees(seed):
    rows = _separable(seed, 20, 6)
    machine = SVC(kernel="linear", C=1e9, tol=1e-8).fit(np.concatenate([rows, -rows]), [1] * 20 + [-1] * 20)
    assert max_margin.least_norm(rows).norm2 == pytest.approx(float((machine.coef_**2).sum()), rel=1e-4)


def test_separators_by_hand():
    assert max_margin.least_norm(np.eye(3)).norm2 == pytest.approx(3)
    np.testing.assert_allclose(max_margin.least_norm(np.array([[0.0, 2.0]])).vector, [0, 0.5])
    slack = max_margin.least_norm(np.array([[1.0, 0.0], [3.0, 0.0]]))
    np.testing.assert_allclose(slack.vector, [1, 0], atol=1e-12)
    np.testing.assert_allclose(slack.multipliers, [1, 0], atol=1e-12)


def test_rows_that_cannot_be_separated_are_refused():
    with pytest.raises(ValueError, match="no vector separates"):
        max_margin.least_norm(np.array([[1.0, 2.0], [-1.0, -2.0]]))


def test_a_wrong_separator_is_not_certified():
    rows = np.eye(2)
    claimed = max_margin.Separator(np.array([1.0, 2.0]), np.array([1.0, 0.0]), 5.0)
    assert max_margin.certified_range(rows, claimed) == pytest.approx((1.0, 5.0))
    backwards = max_margin.Separator(-np.ones(2), np.array([-1.0, 1.0]), 2.0)
    assert max_margin.certified_range(rows, backwards) == pytest.approx((1.0, np.inf))


def test_a_separator_is_no_farther_from_the_best_than_its_doubt():
    rng = np.random.default_rng(8)
    for _ in range(20):
        rows = rng.standard_normal((6, 9)) + 1.0
        best = max_margin.least_norm(rows)
        assert max_margin.doubt(rows, best) < 1e-4
        moved = best.vector + 0.05 * rng.standard_normal(9)
        if (least := float((rows @ moved).min())) <= 0:
            continue
        given = max_margin.Separator(moved / least, best.multipliers, 0.0)
        away = float(np.linalg.norm(given.vector - best.vector) / np.linalg.norm(given.vector))
        assert away / 20 < away <= max_margin.doubt(rows, given) < 1


def test_the_doubt_is_attained():
    """min |v| s.t. v_1 >= 1 is (1, 0); (1, t) is off by t, and |v|^2 - |v*|^2 = t^2."""
    rows = np.array([[1.0, 0.0]])
    given = max_margin.Separator(np.array([1.0, 0.5]), np.array([1.0]), 0.0)
    assert max_margin.doubt(rows, given) == pytest.approx(0.5 / np.sqrt(1.25), abs=1e-9)
