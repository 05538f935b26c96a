"""The plain route to the law of signals: facts that can be had by hand."""

import numpy as np
import pytest

from whyconv.papers.lahoti.exact import oracle_signal as plain

RNG = np.random.default_rng(0)
SIGNAL = np.array([0.6, 0.0, 0.8])


def test_inputs_hold_one_signed_signal_among_noise():
    x, y = plain.draw(SIGNAL, 4, 1e-9, 4000, np.random.default_rng(1))
    held = x @ SIGNAL
    assert set(y) == {-1.0, 1.0} and x.shape == (4000, 4, 3)
    np.testing.assert_allclose(np.sort(held * y[:, None], axis=1), [[0, 0, 0, 1]] * 4000, atol=1e-7)
    places = np.bincount(np.abs(held).argmax(axis=1), minlength=4)
    assert (np.abs(places / 4000 - 0.25) < 0.03).all() and abs(y.mean()) < 0.06
    noise, _ = plain.draw(0 * SIGNAL, 4, 0.5, 4000, np.random.default_rng(2))
    assert noise.std() == pytest.approx(0.5, rel=0.01)


def test_moments_by_hand():
    assert plain.moments(0.7, 0.3, 0.0) == pytest.approx((0.7, 0.7**2 + 0.3**2), rel=1e-13)
    assert plain.moments(0.0, 1.0, 1.0) == pytest.approx((0.0, 0.15068), abs=1e-6)
    assert plain.moments(0.9, 1e-9, 0.3) == pytest.approx((0.6, 0.36), rel=1e-12)
    assert plain.moments(-0.9, 1e-9, 0.3) == pytest.approx((-0.6, 0.36), rel=1e-12)
    assert plain.moments(0.1, 0.001, 0.9) == (0.0, 0.0)


def test_the_risk_of_a_linear_network_is_sigma_squared_k():
    filters = np.tile(SIGNAL, (7, 1))
    assert plain.stated_risk(filters, 0.0, SIGNAL, 0.2) == pytest.approx(7 * 0.04, rel=1e-13)
    assert plain.stated_risk(filters, 0.0, SIGNAL, 0.2, 7) == pytest.approx(8 * 0.04, rel=1e-13)
    assert plain.stated_risk(0.5 * filters, 0.0, SIGNAL, 0.2) == pytest.approx(0.25 + 7 * 0.01, rel=1e-13)
    drawn = plain.draw(SIGNAL, 7, 0.2, 40_000, np.random.default_rng(3))
    mean, error = plain.sampled_risk(filters, 0.0, *drawn)
    assert abs(mean - 7 * 0.04) < 4 * error and error < 0.003


def test_a_network_thresholds_patch_by_patch():
    filters = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    x = np.array([[[0.5, 9, 9], [9, -0.7, 9]], [[0.1, 9, 9], [9, 0.9, 9]]])
    np.testing.assert_allclose(plain.network(filters, 0.2, x), [0.3 - 0.5, 0.7])


@pytest.mark.parametrize("sigma", [0.05, 0.3, 2.0])
def test_posteriors_agree_and_know_a_single_patch(sigma):
    x, _ = plain.draw(SIGNAL, 1, sigma, 50, RNG)
    u = x[:, 0] @ SIGNAL / sigma**2
    for rule in (plain.scene_posterior, plain.sinh_posterior, plain.linear_posterior):
        np.testing.assert_allclose(rule(x, SIGNAL, sigma), np.tanh(u), atol=1e-12)
    x, _ = plain.draw(SIGNAL, 6, sigma, 200, RNG)
    np.testing.assert_allclose(
        plain.scene_posterior(x, SIGNAL, sigma), plain.sinh_posterior(x, SIGNAL, sigma), atol=1e-11
    )
    linear = np.abs(plain.linear_posterior(x, SIGNAL, sigma) - plain.sinh_posterior(x, SIGNAL, sigma)).max()
    assert linear > 0.1 or sigma < 0.1  # with so little noise both are always right


def test_the_posterior_by_direct_arithmetic():
    x = np.array([[[0.5, 0.0, 0.0], [0.0, 0.0, -0.25]]])
    a, b = 0.3, -0.2
    up, down = np.exp(a) + np.exp(b), np.exp(-a) + np.exp(-b)
    assert plain.sinh_posterior(x, SIGNAL, 1.0)[0] == pytest.approx((up - down) / (up + down), rel=1e-14)
    assert plain.linear_posterior(x, SIGNAL, 1.0)[0] == pytest.approx(np.tanh(0.1), rel=1e-14)
