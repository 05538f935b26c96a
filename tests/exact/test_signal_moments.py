"""Moments of the soft threshold: against mpmath far into the tails, against closed forms for other noise."""

from itertools import pairwise, product
from math import factorial, prod

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from whyconv.exact.signal.moments import gaussian_moments, noise_moments, soft_threshold

WEIGHTS = st.lists(st.floats(0.2, 1.5), min_size=3, max_size=6, unique_by=lambda v: round(v, 1))


def test_the_soft_threshold():
    z = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    assert np.array_equal(soft_threshold(z, 1.0), [-2, 0, 0, 0, 0, 0, 2])
    assert np.array_equal(soft_threshold(z, 0.0), z)


@given(st.floats(-2, 2), st.floats(0.05, 2), st.floats(0, 2))
@settings(max_examples=15, deadline=None)
def test_gaussian_moments_against_quadrature(alpha, s, bias):
    points = sorted(np.clip([alpha, -bias, bias], alpha - 12 * s, alpha + 12 * s))
    for power, value in enumerate(gaussian_moments(alpha, s, bias), start=1):

        def integrand(z, power=power):
            return float(soft_threshold(z, bias)) ** power * stats.norm.pdf(z, alpha, s)

        ends = [alpha - 12 * s, *points, alpha + 12 * s]
        told = sum(integrate.quad(integrand, a, b)[0] for a, b in pairwise(ends) if a < b)
        assert value == pytest.approx(told, abs=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.3, 1.0])
@pytest.mark.parametrize(
    "s, bias", [(0.1, 0.0), (0.1, 0.199), (0.1, 0.201), (0.1, 1.0), (0.03, 1.0), (2.0, 0.4)]
)
def test_gaussian_tails_against_mpmath(alpha, s, bias):
    with mp.workdps(50):

        def ramp(mean):
            z = mp.mpf(mean) / s
            return s * (z * mp.ncdf(z) + mp.npdf(z)), mp.mpf(s) ** 2 * (
                (z**2 + 1) * mp.ncdf(z) + z * mp.npdf(z)
            )

        up, down = ramp(mp.mpf(alpha) - bias), ramp(-mp.mpf(alpha) - bias)
        first, second = float(up[0] - down[0]), float(up[1] + down[1])
    m, square = gaussian_moments(alpha, s, bias)
    error = 1e-14 + 4e-16 * max(bias - alpha, 0) ** 2 / s**2
    assert square == pytest.approx(second, rel=error, abs=0)
    assert m == pytest.approx(first, rel=error * max(1, s / max(alpha, 1e-9)), abs=0)


def test_no_noise_is_the_limit():
    alpha = np.array([-1.5, -0.5, 0.0, 0.5, 0.7, 2.0])
    m, square = gaussian_moments(alpha, 0.0, 0.5)
    assert np.array_equal(m, soft_threshold(alpha, 0.5)) and np.array_equal(square, m**2)
    near, near_square = gaussian_moments(alpha, 1e-9, 0.5)
    assert near == pytest.approx(m, abs=1e-8) and near_square == pytest.approx(square, abs=1e-8)
    tiny = gaussian_moments(alpha, 5e-324, 0.5)
    assert np.array_equal(tiny[0], m) and np.array_equal(tiny[1], square)


def test_shapes_are_broadcast_and_negative_thresholds_refused():
    m, square = gaussian_moments(np.zeros((4, 1)), np.ones(3), 0.1)
    assert m.shape == square.shape == (4, 3) and not m.any()
    with pytest.raises(ValueError, match="needs bias >= 0"):
        gaussian_moments(1.0, 1.0, -0.1)


def uniform_ramp(weights, mean, power):
    """E max(0, mean + sum v_j U_j)^p: the (d)-fold difference of the (p+d)-th power. In mpmath."""
    with mp.workdps(60):
        root, count = mp.sqrt(3), len(weights)
        total = mp.mpf(0)
        for signs in product((1, -1), repeat=count):
            end = mean + root * sum(e * mp.mpf(v) for e, v in zip(signs, weights, strict=True))
            total += prod(signs) * max(end, mp.mpf(0)) ** (power + count)
        scale = prod(2 * root * mp.mpf(v) for v in weights)
        return total * factorial(power) / factorial(power + count) / scale


def laplace_ramp(weights, mean, power):
    """By partial fractions of the characteristic function, for weights that differ. In mpmath."""
    with mp.workdps(60):
        total = mp.mpf(0)
        mean = mp.mpf(mean)
        for j, v in enumerate(weights):
            c = mp.mpf(v) / mp.sqrt(2)
            others = [mp.mpf(w) ** 2 / 2 for i, w in enumerate(weights) if i != j]
            share = prod((c**2 / (c**2 - o) for o in others), start=mp.mpf(1))
            tail = mp.e ** (-abs(mean) / c) * (c / 2 if power == 1 else c**2)
            above = mean + tail if power == 1 else mean**2 + 2 * c**2 - tail
            total += share * (above if mean > 0 else tail)
        return total


RAMPS = {"uniform": uniform_ramp, "laplace": laplace_ramp}


def exact(law, weights, alpha, bias):
    ramp = RAMPS[law]
    with mp.workdps(60):
        up, down = mp.mpf(alpha) - mp.mpf(bias), -mp.mpf(alpha) - mp.mpf(bias)
        return (
            float(ramp(weights, up, 1) - ramp(weights, down, 1)),
            float(ramp(weights, up, 2) + ramp(weights, down, 2)),
        )


@pytest.mark.parametrize("law", RAMPS)
@given(WEIGHTS, st.floats(-2, 2), st.floats(0, 2))
@settings(max_examples=20, deadline=None)
def test_other_noise_against_closed_forms(law, weights, alpha, bias):
    weights = [v + 0.003 * j for j, v in enumerate(weights)]
    m, square = noise_moments(law, [weights], [[alpha]], bias)
    first, second = exact(law, weights, alpha, bias)
    s = np.linalg.norm(weights)
    assert m[0, 0] == pytest.approx(first, abs=1e-11 * s)
    assert square[0, 0] == pytest.approx(second, abs=1e-13 * s**2)


@pytest.mark.parametrize("law", RAMPS)
@pytest.mark.parametrize("weights, error", [([0.4], 2e-8), ([0.4, 0.25], 2e-8)])
def test_few_coordinates_are_less_exact_and_how_much(law, weights, error):
    s = np.linalg.norm(weights)
    for alpha in (0.0, 0.1, 0.4 * 3**0.5 + 0.2, 1.0):
        m, square = noise_moments(law, [weights], [[alpha]], 0.2)
        first, second = exact(law, weights, alpha, 0.2)
        assert m[0, 0] == pytest.approx(first, abs=error * s)
        assert square[0, 0] == pytest.approx(second, abs=error / 10 * s**2)


def test_rows_are_their_own_and_order_and_sign_do_not_count():
    rows = np.array([[0.5, 0.2, 0.0], [0.0, -0.2, 0.5], [0.3, 0.3, 0.3], [0.0, 0.0, 0.0]])
    alpha = np.array([[0.4, -0.1], [0.4, -0.1], [0.4, -0.1], [0.4, -0.1]])
    for law in ("uniform", "laplace", "gaussian"):
        m, square = noise_moments(law, rows, alpha, 0.2)
        assert np.array_equal(m[0], m[1]) and np.array_equal(square[0], square[1])
        for row in (0, 2):
            alone = noise_moments(law, rows[[row]], alpha[[row]], 0.2)
            assert m[row] == pytest.approx(alone[0][0], abs=1e-15)
            assert square[row] == pytest.approx(alone[1][0], abs=1e-15)
        assert np.array_equal(m[3], soft_threshold(alpha[3], 0.2))
    biases = np.array([0.0, 0.3])
    many = noise_moments("laplace", rows, alpha[:, :, None], biases)[0]
    assert many.shape == (4, 2, 2)
    assert many[:, :, 1] == pytest.approx(noise_moments("laplace", rows, alpha, 0.3)[0], abs=1e-15)


def test_many_coordinates_are_nearly_gaussian():
    weights = np.full((1, 400), 0.05)
    gaussian = noise_moments("gaussian", weights, [[0.5]], 0.2)
    for law in ("uniform", "laplace"):
        other = noise_moments(law, weights, [[0.5]], 0.2)
        assert other[1] == pytest.approx(gaussian[1], rel=1e-3)
        assert other[1] != pytest.approx(gaussian[1], rel=1e-7)
