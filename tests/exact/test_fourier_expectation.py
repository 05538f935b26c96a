"""The mean over Gaussian weights: three routes that share no code with the two-dimensional integral.

For fixed x, x' the pre-activations are jointly Gaussian with correlation rho = <x, x'> / n, so E shat(A)^2 =
2^-n sum_r K_r(|A|) G(rho_r), G(rho) = E[s(u + b) s(v + b)]. G is known in closed form for erf; it is a
quadrature at small n; and in powers of rho it gives a sum of positive terms, which cancels at no n.
"""

from math import comb, pi, sqrt

import numpy as np
import pytest
from mpmath import mp, mpf

from whyconv.errors import UserError
from whyconv.exact import Gaussian, Signs, coefficient, expected_gradient_square, expected_square, partials
from whyconv.exact.fourier.activations import resolve


def plain_counts(n_bits, size):
    """Coefficients of (y - 1)^size (y + 1)^(n - size), lowest first, by binomials."""
    return [
        sum((-1) ** (size - i) * comb(size, i) * comb(n_bits - size, r - i) for i in range(min(size, r) + 1))
        for r in range(n_bits + 1)
    ]


def relative_error(found, wanted):
    return float(abs(mpf(found.mantissa) * mp.exp(mpf(found.log_scale)) / wanted - 1))


@pytest.mark.parametrize(
    ("n_bits", "size", "bias", "std"),
    [
        (12, 3, 0.3, 0.3),
        (64, 64, 0.5, 0.1),
        (256, 8, 0.3, 1 / 16),
        (1024, 11, 0.3, 1 / 32),
        (1024, 9, 0.3, 1.0),
    ],
)
def test_slope_of_erf_in_closed_form(n_bits, size, bias, std):
    """s' is a Gaussian density, so G is one too."""
    with mp.workdps(100):
        variance, wanted = mpf(std) ** 2 * n_bits, mpf(0)
        for r, count in enumerate(plain_counts(n_bits, size)):
            across = variance * mpf(2 * r - n_bits) / n_bits
            own = variance + mpf(1) / 2
            density = mp.exp(-(mpf(bias) ** 2) / (own + across)) / (2 * mp.pi * mp.sqrt(own**2 - across**2))
            wanted += count * 4 * density
        found = expected_square("erf", n_bits, size, bias, Gaussian(std), derivative=True)
        error = relative_error(found, wanted / mpf(2) ** n_bits)
    print(f"n = {n_bits:4} |A| = {size:2} erf' std {std:.3f} {found}  relative error {error:.1e}")
    assert error <= 1e-10
    assert error <= found.relative_error


@pytest.mark.parametrize(("n_bits", "size"), [(12, 1), (256, 7), (1024, 9)])
def test_erf_by_the_arcsine_law(n_bits, size):
    """E[erf(u) erf(v)] = 2/pi arcsin(2 rho / (1 + 2)) for unit variances (Williams 1997)."""
    with mp.workdps(100):
        counts = enumerate(plain_counts(n_bits, size))
        terms = (c * 2 / mp.pi * mp.asin(mpf(2) / 3 * mpf(2 * r - n_bits) / n_bits) for r, c in counts)
        found = expected_square("erf", n_bits, size)
        error = relative_error(found, mp.fsum(terms) / mpf(2) ** n_bits)
    print(f"n = {n_bits:4} |A| = {size:2} erf {found}  relative error {error:.1e}")
    assert error <= 1e-10
    assert error <= found.relative_error


def hermite_means(s, bias, scale, most):
    """c_m = E[s(scale g + b) He_m(g)] / sqrt(m!), m = 0..most, by recurrence on a fine grid."""
    grid = np.arange(-1400, 1400) / 100
    root = np.exp(-(grid**2) / 4) / (2 * pi) ** 0.25
    values = s(scale * grid + bias) * root * 0.01
    before, now, found = np.zeros_like(grid), root, []
    for m in range(most + 1):
        found.append(float(values @ now))
        before, now = now, (grid * now - sqrt(m) * before) / sqrt(m + 1)
    return found


@pytest.mark.parametrize(
    ("name", "n_bits", "k"),
    [(name, 2**k, k) for name in ("tanh", "sigmoid", "erf") for k in (4, 6, 8)] + [("tanh", 1024, 10)],
)
def test_positive_series(name, n_bits, k):
    """G(rho) = sum_m c_m^2 rho^m, and E[chi_A(x) (sum x_i / n)^m] > 0 exactly in integers."""
    s, most = resolve(name), 170
    for size, derivative in ((k - 1, True), (k + 1, True), (k, False)):
        means = hermite_means(s.derivative if derivative else s.value, 0.3, 1.0, most)
        counts = plain_counts(n_bits, size)
        powers = [(2 * r - n_bits) ** size for r in range(n_bits + 1)]
        wanted = 0.0
        for m in range(size, most + 1, 2):
            moment = sum(map(int.__mul__, counts, powers)) / (n_bits**m << n_bits)
            wanted += means[m] ** 2 * moment
            powers = [p * (2 * r - n_bits) ** 2 for r, p in enumerate(powers)]
        found = expected_square(name, n_bits, size, 0.3, derivative=derivative)
        error = abs(found.value / wanted - 1)
        print(f"n = {n_bits:4} |A| = {size:2} {name:8}{derivative!s:6}{found}  relative error {error:.1e}")
        assert error <= 1e-10


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf"])
@pytest.mark.parametrize("derivative", [False, True])
def test_small_n_by_quadrature(name, derivative):
    """Every size at n = 7, among them the empty set, where s(0) enters."""
    n_bits, bias, std = 7, 0.4, 0.5
    grid = np.arange(-90, 90) / 10
    density = np.exp(-(grid**2) / 2) / sqrt(2 * pi) * 0.1
    s, scale = resolve(name), std * sqrt(n_bits)
    means = []
    for r in range(n_bits + 1):
        rho = (2 * r - n_bits) / n_bits
        first = s.evaluate(scale * grid + bias, derivative)
        second = s.evaluate(scale * (rho * grid[:, None] + sqrt(1 - rho**2) * grid) + bias, derivative)
        means.append(float((density * first) @ second @ density))
    for size in range(n_bits + 1):
        wanted = np.dot(plain_counts(n_bits, size), means) / 2**n_bits
        found = expected_square(name, n_bits, size, bias, Gaussian(std), derivative)
        assert found.value == pytest.approx(wanted, rel=1e-10, abs=1e-14)


def test_monte_carlo_agrees_within_its_error():
    rng, n_bits, k = np.random.default_rng(3), 8, 3
    squares = []
    for _ in range(200):
        weights = rng.standard_normal(n_bits) / sqrt(n_bits)
        squares.append(partials("tanh", weights, 0.3, range(k)).norm_squared().value)
    mean, error = np.mean(squares), np.std(squares) / sqrt(len(squares))
    exact = expected_gradient_square("tanh", n_bits, k, 0.3).value
    assert abs(mean - exact) < 4 * error
    assert error < 0.2 * exact


@pytest.mark.parametrize(
    ("n_bits", "gradient", "readout"), [(16, 6.06e-5, 7.97e-7), (1024, 2.51e-24, 2.44e-28)]
)
def test_recorded_values_of_theorem_12(n_bits, gradient, readout):
    k = n_bits.bit_length() - 1
    found = expected_gradient_square("tanh", n_bits, k, 0.3)
    assert found.value == pytest.approx(gradient, rel=2e-3, abs=0)
    assert expected_square("tanh", n_bits, k, 0.3).value == pytest.approx(readout, rel=2e-3, abs=0)
    assert found.value < n_bits / max(comb(n_bits - 1, k), comb(n_bits - 1, k - 1))


@pytest.mark.parametrize("name", ["tanh", "clipped-relu"])
def test_signs_have_one_square(name):
    weights = np.array([0.5, -0.5, 0.5, 0.5, -0.5, 0.5])
    found = expected_square(name, 6, 2, 0.25, Signs(0.5), derivative=True).value
    for subset in ([0, 1], [1, 4], [2, 5]):
        assert coefficient(name, weights, 0.25, subset, derivative=True).squared().value == pytest.approx(
            found, rel=1e-12, abs=0
        )
    total = partials(name, weights, 0.25, [0, 1]).norm_squared().value
    assert expected_gradient_square(name, 6, 2, 0.25, Signs(0.5)).value == pytest.approx(
        total, rel=1e-12, abs=0
    )


def test_expectation_refuses_what_it_cannot_do():
    with pytest.raises(UserError, match="relu, whose derivative jumps"):
        expected_square("relu", 8, 2)
    with pytest.raises(UserError, match="9 of 8 bits"):
        expected_square("tanh", 8, 9)
    with pytest.raises(UserError, match="scale the neuron down"):
        expected_square("tanh", 8, 2, law=Gaussian(1e6))
    with pytest.raises(UserError, match="above 0"):
        expected_square("tanh", 8, 2, law=Gaussian(-1.0))
