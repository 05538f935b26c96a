"""The linear SVM against scikit-learn's, separability both ways, and its failures."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from whyconv.learners import Job
from whyconv.learners.margin import LinearSVM, separation
from whyconv.tasks import Sample


def fit(x, y, **fields):
    job = Job(None, Sample(x[:, None, :], y), len(y), None, None)
    learner = LinearSVM(**fields)
    state = learner.start(job)
    assert learner.progress(state) == 0
    state = learner.advance(job, state)
    assert learner.progress(state) == 1
    return learner.finish(job, state)


def data(rng, count, noise):
    x = rng.standard_normal((count, 6))
    y = np.where(x[:, 0] + noise * rng.standard_normal(count) > 0, 1.0, -1.0)
    return x, y


def test_the_hard_margin_is_scikit_learns():
    x, y = data(np.random.default_rng(0), 40, 0.0)
    x, y = np.vstack([x, -x]), np.append(y, -y)  # symmetric, so that the intercept of libsvm is zero
    got = fit(x, y)
    reference = SVC(kernel="linear", C=1e8, tol=1e-8).fit(x, y)
    np.testing.assert_allclose(got.params, reference.coef_[0], rtol=1e-4)
    assert got.facts["separable"] and (y * got.scores(x[:, None, :])).min() == pytest.approx(1, abs=1e-6)


def test_separability_is_decided_exactly():
    x = np.array([[1.0, 0.0], [2.0, 1e-3]])
    y = np.array([1.0, -1.0])
    assert separation(x, y) > 1e-6
    assert separation(np.array([[1.0], [2.0]]), y) == pytest.approx(0, abs=1e-9)
    noisy, labels = data(np.random.default_rng(1), 200, 1.0)
    assert separation(noisy, labels) == pytest.approx(0, abs=1e-9)


def test_the_soft_margin_is_tuned_and_reported():
    x, y = data(np.random.default_rng(2), 300, 0.7)
    got = fit(x, y)
    assert not got.facts["separable"] and got.facts["soft_margin_C"] in LinearSVM().grid
    assert np.argmax(np.abs(got.params)) == 0
    accuracy = np.mean(np.where(got.scores(x[:, None, :]) > 0, 1, -1) == y)
    assert 0.7 < accuracy < 1


def test_a_solver_that_does_not_converge_is_an_error():
    x, y = data(np.random.default_rng(3), 300, 0.7)
    with warnings.catch_warnings(), pytest.raises(ConvergenceWarning):
        warnings.simplefilter("ignore")
        fit(1e3 * x, y, grid=(1e6,), iterations=1)


@pytest.mark.parametrize("grid", [(), (1.0, -1.0)])
def test_an_impossible_grid_is_refused(grid):
    with pytest.raises(ValueError, match="positive"):
        LinearSVM(grid=grid)
