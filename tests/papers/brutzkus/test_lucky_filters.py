"""Lucky filters: the exact trinomial against enumeration, quadrature, and recorded values."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from whyconv.papers.brutzkus.exact import bounds, lucky_filters


@pytest.mark.parametrize("patterns", [3, 4, 6, 10])
def test_luck_is_a_gaussian_integral(patterns):
    value, _ = quad(lambda z: np.exp(-z * z / 2) * ndtr(z) ** (patterns - 2), 0, 12, epsabs=1e-13)
    expected = value / np.sqrt(2 * np.pi) / 2
    assert float(lucky_filters.luck(patterns)) == pytest.approx(expected, abs=1e-12)


def test_luck_of_three_patterns():
    assert lucky_filters.luck(3) == Fraction(3, 16)


@pytest.mark.parametrize(
    ("dim", "patterns", "expected"),
    [(3, 3, 2.5995954603892e-05), (4, 4, 5.509930354922e-09), (5, 5, 3.492420313511e-13)],
)
def test_recorded_failures_when_patterns_fill_the_space(dim, patterns, expected):
    channels, p = 8 * dim**3 + 1, lucky_filters.luck(patterns)
    low, high = lucky_filters.count_range(channels, dim)
    assert lucky_filters.failure(channels, float(p), low, high) == pytest.approx(expected, rel=1e-9, abs=0)
    assert lucky_filters.failure_by_counting(channels, p, low, high) == pytest.approx(
        expected, rel=1e-9, abs=0
    )
    assert expected < bounds.lucky_failure(dim) == 4 * exp(-dim)


def test_the_printed_range_is_missed_with_fewer_patterns_than_dimensions():
    channels, p = 8 * 6**3 + 1, lucky_filters.luck(3)
    printed = lucky_filters.count_range(channels, 6)
    success = 1 - lucky_filters.failure_by_counting(channels, p, *printed)
    assert success == pytest.approx(2.8e-5, rel=0.01, abs=0)
    corrected = lucky_filters.count_range(channels, 3)
    assert lucky_filters.failure(channels, float(p), *corrected) < 1e-30


def test_the_range_includes_its_ends():
    assert lucky_filters.count_range(217, 3) == (19, 72)
    assert lucky_filters.count_range(24, 3) == (2, 8)


@given(st.integers(1, 14), st.integers(1, 4), st.integers(0, 3), st.integers(0, 6))
def test_failure_is_the_trinomial_sum(channels, denominator, low, width):
    p, high = Fraction(1, 2 + denominator), low + width
    inside = sum(
        comb(channels, a) * comb(channels - a, b) * p ** (a + b) * (1 - 2 * p) ** (channels - a - b)
        for a in range(low, min(high, channels) + 1)
        for b in range(low, min(high, channels - a) + 1)
    )
    counted = lucky_filters.failure_by_counting(channels, p, low, high)
    assert counted == pytest.approx(float(1 - inside), abs=1e-15)
    assert lucky_filters.failure(channels, float(p), low, high) == pytest.approx(counted, abs=1e-12)


def test_class_share_failure_counts_labellings():
    for samples in range(1, 13):
        few = sum(
            min(bits.bit_count(), samples - bits.bit_count()) * 3 < samples for bits in range(1 << samples)
        )
        assert lucky_filters.class_share_failure(samples) == Fraction(few, 1 << samples)
