"""The initial gradient: bounds in their order, the extremal start, two closed forms against enumeration."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from whyconv.exact.fourier.front import partials
from whyconv.papers.malach.exact import initial_gradient, oracle_gradient
from whyconv.papers.malach.exact.bit_networks import all_inputs, tanh_slope


@given(st.data())
def test_tight_is_below_the_paper_and_below_its_proof(data):
    n_bits = data.draw(st.integers(2, 300))
    k_window = data.draw(st.integers(1, n_bits - 1))
    size = n_bits, k_window
    assert initial_gradient.tight_bound(*size) <= initial_gradient.paper_bound(*size)
    assert initial_gradient.proof_bound(*size) == Fraction(2 * n_bits, comb(*size))
    assert initial_gradient.proof_bound(*size) >= initial_gradient.paper_bound(*size)
    assert initial_gradient.readout_bound(*size) == Fraction(1, comb(*size))


@given(st.data())
def test_the_proofs_step_is_backwards_unless_half_the_bits_count(data):
    n_bits = data.draw(st.integers(2, 100))
    k_window = data.draw(st.integers(1, n_bits - 1))
    inside, outside = initial_gradient.inverse_sizes(n_bits, k_window)
    printed = initial_gradient.paper_bound(n_bits, k_window) / n_bits
    assert (max(inside, outside) > printed) == (n_bits != 2 * k_window)


def test_bounds_at_one_size_by_hand():
    assert initial_gradient.inverse_sizes(10, 3) == (Fraction(1, 36), Fraction(1, 84))
    assert initial_gradient.paper_bound(10, 3) == Fraction(10, 84)
    assert initial_gradient.tight_bound(10, 3) == Fraction(8, 120)
    assert initial_gradient.tight_bound(10, 7) == Fraction(8, 120)
    assert initial_gradient.by_levels(0.5, 0.25, 10, 3) == pytest.approx((8 * 0.5 + 4 * 0.25) / 120)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_detectors_slope_is_the_parity_and_the_slope_of_its_value(size):
    activation, slope = initial_gradient.detector(size)
    inputs = all_inputs(size)
    np.testing.assert_allclose(slope(inputs.sum(axis=1)), inputs.prod(axis=1), atol=1e-12)
    z = np.linspace(-5, 5, 101)
    np.testing.assert_allclose((activation(z + 1e-6) - activation(z - 1e-6)) / 2e-6, slope(z), atol=1e-9)
    assert np.abs(activation(z)).max() <= 2 / np.pi and np.abs(slope(z)).max() <= 1


@pytest.mark.parametrize(("n_bits", "size"), [(2, 1), (3, 0), (3, 2), (4, 3), (4, 4)])
@pytest.mark.parametrize("function", [np.tanh, tanh_slope, expit])
def test_the_series_is_the_gaussian_integral(n_bits, size, function):
    """Gauss-Hermite over all weights, a grid of 32^n or 16^n points."""
    order = 32 if n_bits < 4 else 16
    nodes, law = np.polynomial.hermite_e.hermegauss(order)
    axes = np.meshgrid(*[nodes] * n_bits, indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, n_bits) / n_bits**0.5
    masses = np.stack(np.meshgrid(*[law] * n_bits, indexing="ij"), axis=-1).reshape(-1, n_bits).prod(axis=1)
    inputs = all_inputs(n_bits)
    coefficient = function(grid @ inputs.T + 0.3) @ inputs[:, :size].prod(axis=1) / 2**n_bits
    direct = (masses @ coefficient**2) / masses.sum()
    found = initial_gradient.gaussian_square(function, n_bits, size, 0.3)
    assert found == pytest.approx(direct, rel=1e-4, abs=0)


def test_the_series_of_a_cosine_is_known():
    """E over w of the coefficient of cos(<w, x>) on two of n bits: (E sin^2)^2 (E cos^2)^(n-2), exactly."""
    n_bits = 50
    sine, cosine = (1 - np.exp(-2 / n_bits)) / 2, (1 + np.exp(-2 / n_bits)) / 2
    expected = sine**2 * cosine ** (n_bits - 2)
    assert initial_gradient.gaussian_square(np.cos, n_bits, 2, 0.0) == pytest.approx(
        expected, rel=1e-12, abs=0
    )
    expected = sine**12 * cosine ** (n_bits - 12)
    assert initial_gradient.gaussian_square(np.cos, n_bits, 12, 0.0) == pytest.approx(
        expected, rel=1e-10, abs=0
    )


def test_the_series_at_sixteen_bits_against_drawn_weights():
    rng = np.random.default_rng(3)
    inputs = all_inputs(16)
    labels = inputs[:, :3].prod(axis=1)
    drawn = [(tanh_slope(inputs @ rng.normal(0, 0.25, 16) + 0.3) @ labels / 2**16) ** 2 for _ in range(200)]
    off = (
        (np.mean(drawn) - initial_gradient.gaussian_square(tanh_slope, 16, 3, 0.3)) / np.std(drawn) * 200**0.5
    )
    assert abs(off) < 4


@pytest.mark.parametrize(("n_bits", "k_window", "close"), [(256, 8, 0.2), (1024, 10, 0.06), (8192, 13, 0.01)])
def test_a_normal_law_gives_every_partial_nearly(n_bits, k_window, close):
    weights = np.random.default_rng(k_window).normal(0, n_bits**-0.5, n_bits)
    found = initial_gradient.normal_partials(tanh_slope, weights, 0.3, k_window)
    exact = partials("tanh", weights, 0.3, range(k_window)).value
    np.testing.assert_allclose(found, exact, rtol=close, atol=0)


def test_a_normal_law_is_the_integral_with_a_gaussian_for_every_sine_and_cosine():
    """exp(-z^2/6) z for sin z, exp(-z^2/2) for cos z, for exp(-x^2/2) with its Fourier transform."""
    weights, bias, k_window = np.random.default_rng(2).normal(0, 0.4, 7), 0.3, 3
    t = np.linspace(-12, 12, 4001)
    z = t[:, None] * weights
    damped = np.exp(-(z[:, :k_window] ** 2).sum(1) / 6 - (z[:, k_window:] ** 2).sum(1) / 2)
    transform = np.sqrt(2 * np.pi) * np.exp(-(t**2) / 2 + 1j * t * bias) * damped / (2 * np.pi)
    expected = []
    for j in range(7):
        others = sorted({*range(k_window)} ^ {j})
        expected.append((transform * (1j * z[:, others]).prod(axis=1)).sum().real * (t[1] - t[0]))
    found = initial_gradient.normal_partials(lambda x: np.exp(-(x**2) / 2), weights, bias, k_window)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0)


def test_more_terms_change_nothing():
    for function in (np.tanh, tanh_slope):
        few, many = (initial_gradient.gaussian_square(function, 16, 5, 0.3, terms) for terms in (65, 80))
        assert few == pytest.approx(many, rel=1e-12, abs=0)


@pytest.mark.parametrize("n_bits", [3, 6])
def test_krawtchouk_polynomials_are_coefficients(n_bits):
    for point in range(n_bits + 1):
        expected = (
            np.polynomial.polynomial.polyfromroots([1] * point + [-1] * (n_bits - point)) * (-1) ** point
        )
        found = [oracle_gradient.krawtchouk(r, point, n_bits) for r in range(n_bits + 1)]
        assert found == expected.round().astype(int).tolist()


@pytest.mark.parametrize(("n_bits", "k_window"), [(5, 2), (6, 3), (8, 3), (9, 4), (10, 3), (11, 2)])
def test_fractions_against_enumeration(n_bits, k_window):
    """Integer pre-activations times k, so that kinks are met exactly; random signs."""
    signs = np.random.default_rng(n_bits).choice([-1, 1], n_bits)
    inputs = all_inputs(n_bits).astype(int)
    scaled = inputs @ signs + 1 - k_window
    for size in range(1, n_bits + 1):
        chi = inputs[:, :size].prod(axis=1)
        value = Fraction(int(np.clip(scaled, 0, k_window) @ chi), k_window * 2**n_bits)
        slope = Fraction(int(((scaled > 0) & (scaled < k_window)) @ chi), 2**n_bits)
        assert abs(oracle_gradient.ramp_coefficient(n_bits, k_window, size)) == abs(value)
        assert abs(oracle_gradient.slope_coefficient(n_bits, k_window, size)) == abs(slope)


def test_the_papers_start_at_its_sizes():
    ratios = {
        n: float(oracle_gradient.gradient_squares(n, k)[0] / initial_gradient.tight_bound(n, k))
        for n, k in ((16, 4), (256, 8), (512, 9))
    }
    assert ratios == pytest.approx({16: 1.77e-2, 256: 7.50e-3, 512: 4.67e-5}, rel=2e-3, abs=0)
