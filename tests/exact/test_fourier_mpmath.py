"""The trapezoid engine against sums over the exact law of <w, x>, in 90 digits.

For weights m_i / den the law of <w, x>, signed by chi_A, has integer weights; they are built here by plain
convolution and summed with mpmath. No integral is involved. Run with -s to see the relative errors.
"""

from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from whyconv.exact import coefficient, partials

BIAS = 0.3
VALUES = {
    ("tanh", False): mp.tanh,
    ("tanh", True): lambda z: mp.sech(z) ** 2,
    ("sigmoid", False): lambda z: 1 / (1 + mp.exp(-z)),
    ("sigmoid", True): lambda z: 1 / (2 * mp.cosh(z / 2)) ** 2,
    ("erf", False): mp.erf,
    ("erf", True): lambda z: 2 / mp.sqrt(mp.pi) * mp.exp(-z * z),
}


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(90):
        yield


def signed_law(numbers, member):
    """Coefficients of prod (y^m - 1 or y^m + 1), m > 0."""
    law = np.array([1], dtype=object)
    for m, inside in sorted(zip(numbers, member, strict=True)):
        gap = np.zeros(m, dtype=object)
        low, high = np.concatenate([law, gap]), np.concatenate([gap, law])
        law = high - low if inside else high + low
    return law


@cache
def activation_on_lattice(kind, reach, den):
    with mp.workdps(90):
        bias = mpf(BIAS)
        return [VALUES[kind](mpf(2 * r - reach) / den + bias) for r in range(reach + 1)]


def reference(kind, law, n_bits, den):
    values = activation_on_lattice(kind, len(law) - 1, den)
    return mp.fsum(int(count) * value for count, value in zip(law, values, strict=True)) / mpf(2) ** n_bits


def relative_error(found, wanted):
    return float(abs(mpf(found.mantissa) * mp.exp(mpf(found.log_scale)) / wanted - 1))


def draw(n_bits, den, seed=0):
    """Gaussian weights of variance 1/n, rounded to odd multiples of 1/den, so that none is 0."""
    weights = np.random.default_rng(seed).standard_normal(n_bits) / np.sqrt(n_bits)
    return (2 * np.floor(weights * den / 2) + 1).astype(int)


CASES = [(64, 6, 64), (256, 8, 64), (1024, 10, 64), (1024, 40, 64)]


@pytest.mark.parametrize(("n_bits", "k", "den"), CASES)
def test_general_weights(n_bits, k, den):
    numbers = draw(n_bits, den)
    member = np.arange(n_bits) < k
    sign = np.prod(np.sign(numbers[:k]))
    for inside, toggled in (
        (member, None),
        (np.arange(n_bits) < k + 1, k),
        (np.arange(n_bits) < k - 1, k - 1),
    ):
        law = signed_law(np.abs(numbers), inside)
        for name in ("tanh", "sigmoid", "erf"):
            if toggled is None:
                found = coefficient(name, numbers / den, BIAS, range(k))
                wanted = sign * reference((name, False), law, n_bits, den)
            else:
                found = partials(name, numbers / den, BIAS, range(k))[toggled]
                wanted = sign * np.sign(numbers[toggled]) * reference((name, True), law, n_bits, den)
            error = relative_error(found, wanted)
            which = "s" if toggled is None else f"s', bit {toggled}"
            print(f"n = {n_bits:4} k = {k:2} {name:8}{which:12} {found!s:>10}  relative error {error:.1e}")
            assert error <= 1e-10
            assert error <= found.relative_error


@pytest.mark.parametrize(("n_bits", "k"), [case[:2] for case in CASES])
def test_signs(n_bits, k):
    """Weights +-1/16 against the Krawtchouk sum, by the same convolution."""
    signs = np.where(np.arange(n_bits) % 3 == 0, -1, 1)
    law = signed_law(np.ones(n_bits, dtype=int), np.arange(n_bits) < k)
    sign = np.prod(signs[:k])
    for kind in VALUES:
        found = coefficient(kind[0], signs / 16, BIAS, range(k), derivative=kind[1])
        error = relative_error(found, sign * reference(kind, law, n_bits, 16))
        print(f"n = {n_bits:4} k = {k:2} {kind[0]:8}{kind[1]!s:6} {found!s:>10}  relative error {error:.1e}")
        assert error <= 1e-10
        assert error <= found.relative_error


def test_values_below_the_range_of_doubles():
    """n = 1024, k = 300, small weights: below 1e-350, still with its digits."""
    n_bits, k, den = 1024, 300, 1024
    law = signed_law(np.ones(n_bits, dtype=int), np.arange(n_bits) < k)
    with mp.workdps(420):
        values = [mp.tanh(mpf(2 * r - n_bits) / den + mpf(BIAS)) for r in range(n_bits + 1)]
        wanted = mp.fsum(int(c) * v for c, v in zip(law, values, strict=True)) / mpf(2) ** n_bits
    found = coefficient("tanh", np.full(n_bits, 1 / den), BIAS, range(k))
    error = relative_error(found, wanted)
    print(f"n = {n_bits} k = {k} tanh {found}  relative error {error:.1e}")
    assert found.log10 < -320
    assert error <= 1e-10
