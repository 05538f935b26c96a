"""Second-layer descent: gradient, the two routes, and the bounds that go with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.exact.margins import max_margin
from whyconv.papers.brutzkus.exact import second_layer


def _problem(seed, count=6, channels=9):
    """Rows that some vector separates, weights that sum to one, a start."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, channels))
    truth = rng.standard_normal(channels)
    rows *= np.sign(rows @ truth)[:, None]
    weights = rng.random(count) + 0.1
    return rows, weights / weights.sum(), rng.standard_normal(channels)


def _loss(rows, weights, readout):
    return weights @ np.logaddexp(0, -rows @ readout)


def test_a_step_goes_down_the_gradient():
    rows, weights, start = _problem(0)
    nudges = 1e-6 * np.eye(len(start))
    gradient = [(_loss(rows, weights, start + e) - _loss(rows, weights, start - e)) / 2e-6 for e in nudges]
    kept = second_layer.descend(rows, weights, start, 0.7, [0, 1])
    np.testing.assert_array_equal(kept[0], start)
    np.testing.assert_allclose(kept[1], start - 0.7 * np.array(gradient), atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_gram_route_is_the_plain_route(seed):
    rows, weights, start = _problem(seed)
    marks = [0, 1, 5, 40]
    plain = second_layer.descend(rows, weights, start, 0.4, marks)
    kept, losses = second_layer.descend_by_gram(rows @ rows.T, rows @ start, weights, 0.4, marks)
    np.testing.assert_allclose(start + kept @ rows, plain, atol=1e-10)
    expected = [_loss(rows, weights, readout) for readout in plain]
    np.testing.assert_allclose(losses[marks], expected, rtol=1e-10)


def test_smoothness_is_the_curvature_at_zero():
    rows, weights, _ = _problem(1)
    hessian = rows.T @ (weights[:, None] / 4 * rows)
    expected = np.linalg.eigvalsh(hessian)[-1]
    assert second_layer.smoothness(rows @ rows.T, weights) == pytest.approx(expected, rel=1e-12, abs=0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_certificate_bounds_every_loss_and_tends_to_zero(seed):
    rows, weights, start = _problem(seed)
    gram, margins = rows @ rows.T, rows @ start
    step = 1 / second_layer.smoothness(gram, weights)
    _, losses = second_layer.descend_by_gram(gram, margins, weights, step, [400])
    norm2 = max_margin.least_norm(rows).norm2
    times = np.arange(2.0, 401)
    bound = second_layer.loss_certificate(times, margins.min(), norm2, step)
    assert (losses[2:] <= bound).all()
    assert second_layer.loss_certificate(np.array([1e12]), margins.min(), norm2, step)[0] < 1e-4


def test_the_certificate_by_hand():
    value = second_layer.loss_certificate(np.array([np.e**2]), 0.0, 3.0, 0.5)
    assert value[0] == pytest.approx((1 + 4 * 3 / 1) / np.e**2)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_half_the_margin_is_reached_in_the_proved_number_of_steps(seed):
    rows, _, _ = _problem(seed)
    rows /= np.linalg.norm(rows, axis=1).max()
    weights = np.full(len(rows), 1 / len(rows))
    gamma = max_margin.least_norm(rows).norm2 ** -0.5
    allowed = second_layer.half_margin_steps(gamma, len(rows))
    cap = int(np.ceil(allowed)) + 1
    gram = rows @ rows.T
    for exponential in (False, True):
        plain = second_layer.steps_to_margin(rows, weights, gamma / 2, cap, exponential)
        assert plain <= allowed
        assert second_layer.steps_to_margin_by_gram(gram, weights, gamma / 2, cap, exponential) == plain
        assert second_layer.steps_to_margin(rows, weights, 1.01 * gamma, 20, exponential) == 21
        assert second_layer.steps_to_margin_by_gram(gram, weights, 1.01 * gamma, 20, exponential) == 21


def test_the_first_normalised_step_is_half_the_mean():
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    weights = np.array([0.8, 0.2])
    target = 0.2 / np.hypot(0.8, 0.2)
    for exponential in (False, True):
        for route, data in (
            (second_layer.steps_to_margin, rows),
            (second_layer.steps_to_margin_by_gram, rows @ rows.T),
        ):
            assert route(data, weights, target - 1e-9, 5, exponential) == 1
            assert route(data, weights, target + 1e-3, 5, exponential) == 2


def test_the_number_of_steps_by_hand():
    assert second_layer.half_margin_steps(0.5, 100) == pytest.approx(32 * np.log(100))


def test_the_proved_margin_is_half_after_the_proved_steps_and_kept_to():
    rows, weights = np.array([[1.0, 0.1], [-1.0, 0.1]]), np.array([0.99, 0.01])
    rows /= np.hypot(1, 0.1)
    gamma = max_margin.least_norm(rows).norm2 ** -0.5
    steps = second_layer.half_margin_steps(gamma, 100)
    assert second_layer.proved_margin(gamma, 100, steps) == pytest.approx(gamma / 2)
    late = second_layer.proved_margin(gamma, 100, 4 * steps)
    assert second_layer.steps_to_margin(rows, weights, late, int(4 * steps), exponential=True) <= 4 * steps
    assert late == pytest.approx(0.6875 * gamma)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_cosine_keeps_to_its_certificate_from_any_start(seed):
    rows, weights, start = _problem(seed)
    gram, marks = rows @ rows.T, [1, 3, 10, 100, 1000]
    step = 1 / second_layer.smoothness(gram, weights)
    kept, losses = second_layer.descend_by_gram(gram, rows @ start, weights, step, marks)
    separator = max_margin.least_norm(rows)
    direction, gamma = separator.vector / np.linalg.norm(separator.vector), separator.norm2**-0.5
    readouts = start + kept @ rows
    cosines = readouts @ direction / np.linalg.norm(readouts, axis=1)
    radius = np.linalg.norm(rows, axis=1).max()
    rest = (gamma, (start @ direction, np.linalg.norm(start)), weights.min(), radius, step * losses[0])
    assert (cosines >= second_layer.direction_certificate(kept.sum(axis=1), *rest) - 1e-12).all()
    assert second_layer.direction_certificate(np.array([1e12]), *rest)[0] > 0.99


def test_the_direction_certificate_by_hand():
    found = second_layer.direction_certificate(
        np.array([2.0, 0.0]), 0.5, (-0.25, 3.0), 2 / np.e**3, 2.0, 0.25
    )
    np.testing.assert_allclose(found, [0.75 / (1 + np.sqrt(9 + 7 * 2)), -1.0])
