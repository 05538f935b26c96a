"""The linear SVM against scikit-learn's, separability both ways, and its failures."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from whyconv.exact.margins import margin_path, margin_routes, max_margin
from whyconv.learners import Job, margin
from whyconv.learners.margin import LinearSVM
from whyconv.tasks import Sample


def fit(x, y, **fields):
    job = Job(None, Sample(x[:, None, :], y), len(y), None, None)
    learner = LinearSVM(**fields)
    state = learner.start(job)
    assert learner.progress(state) == 0
    state = learner.advance(job, state, 1)
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


def test_separability_is_proved_either_way():
    y = np.array([1.0, -1.0] * 5)
    near = np.array([[1.0, 0.0], [2.0, 1e-3]] * 5)
    got = fit(near, y)
    assert got.facts["separable"] is True and got.facts["norm2"] == pytest.approx(1 + 3000.0**2, rel=1e-9)
    assert fit(np.array([[1.0, 0.0], [2.0, 0.0]] * 5), y).facts["separable"] is False
    assert fit(*data(np.random.default_rng(1), 200, 1.0)).facts["separable"] is False


def test_what_is_not_proved_is_not_found_or_an_error(monkeypatch):
    """Worthless proposals: with noise no separator is found; without, one that is not the least."""

    def nothing(units, sides):
        yield [(units.sum(axis=0), np.ones(len(sides)))]

    monkeypatch.setattr(margin_routes, "proposals", nothing)
    got = fit(*data(np.random.default_rng(2), 300, 0.7))
    assert got.facts["separable"] == "not found" and got.facts["soft_margin_C"] in LinearSVM().grid
    x, y = data(np.random.default_rng(0), 3, 0.0)
    with pytest.raises(max_margin.Undecidable, match="3 rows can be separated, but"):
        fit(x, y)


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


@pytest.fixture
def as_if_large(monkeypatch):
    """Every sample goes along the path of soft margins."""
    monkeypatch.setattr(margin, "SMALL", 0)


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_a_large_sample_gets_the_same_answer(noise, monkeypatch):
    x, y = data(np.random.default_rng(5), 300, noise)
    small = fit(x, y)
    monkeypatch.setattr(margin, "SMALL", 0)
    large = fit(x, y)
    assert large.facts.keys() == small.facts.keys()
    assert large.facts["separable"] is small.facts["separable"] is (noise == 0)
    assert large.facts.get("soft_margin_C") == small.facts.get("soft_margin_C")
    np.testing.assert_allclose(large.params, small.params, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("as_if_large")
def test_more_inputs_than_examples_are_separable_whatever_the_labels():
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((30, 60)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    got = fit(x, y)
    assert got.facts["separable"] is True and (y * got.scores(x[:, None, :])).min() > 1 - 1e-6


@pytest.mark.usefixtures("as_if_large")
@pytest.mark.parametrize(("noise", "outcome"), [(0.7, "not found"), (0.0, None)])
def test_a_path_that_ends_early_is_told_or_an_error(noise, outcome, monkeypatch):
    monkeypatch.setattr(margin_path, "RIDGES", (1e-2,))
    x, y = data(np.random.default_rng(0), 40, noise)
    if outcome is None:
        with pytest.raises(ArithmeticError, match="hard margin"):
            fit(x, y)
    else:
        got = fit(x, y)
        assert got.facts["separable"] == outcome and got.facts["soft_margin_C"] in LinearSVM().grid


def test_the_forecast_knows_which_way_is_taken():
    svm = LinearSVM()
    assert svm.cost(None, (10, 20), 2560).flops == pytest.approx(20 * 2560 * 200**2)
    assert svm.cost(None, (4, 784), 10_000).flops == pytest.approx(10 * 10_000 * 3136**2)
    assert svm.cost(None, (4, 784), 1000).flops == pytest.approx(10 * 1000**3)


def test_a_score_that_is_zero_up_to_rounding_is_zero():
    """An input orthogonal to w, in a basis that leaves no number exact: the last bit must not decide."""
    basis = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 6)))[0]
    got = fit(np.array([[1.0, 2.0, 0, 0, 0, 0], [-1.0, 1.0, 3.0, 0, 0, 0]]) @ basis, np.array([1.0, -1.0]))
    unseen = (
        np.array([[0, 0, 0, 1.0, 2.0, -3.0], [0, 0, 0, -2.0, 0.1, 7.0], [1e-3, 0, 0, 5.0, 5.0, 5.0]]) @ basis
    )
    raw = unseen @ got.params
    assert np.any(raw[:2] != 0), "rounding leaves something, or this test shows nothing"
    np.testing.assert_array_equal(got.scores(unseen[:, None, :]), [0, 0, raw[2]])
    assert raw[2] != 0
