"""The quoted rates and constants of Lahoti et al. against values worked out by hand."""

from fractions import Fraction as F

import pytest

from whyconv.exact.irrational import Exponential, Logarithm
from whyconv.papers.lahoti.exact import printed


def test_rates():
    # σ = 1/2, k = 3, d = 5
    assert printed.fcn_lower(F(1, 2), 3, 5) == F(45, 4)
    assert printed.lcn_lower(F(1, 2), 3, 5) == F(15, 4)
    assert printed.lcn_upper(F(1, 2), 3, 5) == Logarithm(6, 15)
    assert printed.cnn_upper(F(1, 2), 3, 5) == Logarithm(2, 15)


def test_rates_at_the_largest_noise():
    # σ = 1/√k, k = 4, d = 5: kd, d, k + d, (k + d)/k
    assert printed.fcn_lower(F(1, 2), 4, 5) == 20
    assert printed.lcn_lower(F(1, 2), 4, 5) == 5
    assert printed.lcn_upper(F(1, 2), 4, 5) == Logarithm(9, 20)
    assert printed.cnn_upper(F(1, 2), 4, 5) == Logarithm(F(9, 4), 20)


def test_rates_of_the_summary():
    assert printed.fcn_lower_in_summary(3, 5) == 45
    assert printed.lcn_lower_in_summary(3, 5) == 15
    assert printed.lcn_upper_in_summary(3, 5) == 24
    assert printed.cnn_upper_in_summary(3, 5) == 8


def test_conditions():
    assert printed.noise(9) == F(1, 3)
    with pytest.raises(ValueError):
        printed.noise(10)
    assert printed.patches(7) == Exponential(1, 7)
    assert F(1, 100) == printed.LEAST_OUTPUT_BIAS


def test_two_steps():
    assert printed.initial_deviation(2, 3) == F(1, 60)
    assert printed.initial_variance_as_quoted(2, 3) == 3600
    assert printed.initial_variance_as_quoted(3, 1) == 900
    assert (printed.FIRST_RATE, printed.FIRST_BIAS) == (1, 0)
    assert printed.second_bias_squared(2, 4) == Logarithm(F(3, 4096), 8)  # 6/8 / 1024
    assert printed.second_rate(7) == 7000
    assert (F(1, 10_000), 1) == (printed.FINAL_BIAS, printed.FILTER_NORM)
    assert F(1, 4) == printed.FAILED_ALIGNMENT


def test_experiments():
    assert (F(3, 100), 1000, 5) == (printed.TARGET_EXCESS, printed.MOST_EXAMPLES, printed.REPETITIONS)
    assert (printed.FIXED_SIZE, printed.VARIED_SIZES) == (20, (10, 15, 20, 25, 30))
    assert [float(rate) for rate in printed.WEIGHT_RATES] == [1e-1, 1e-2, 1e-3]
    assert [float(rate) for rate in printed.BIAS_RATES] == [1e-2, 1e-3, 1e-4]
    assert printed.LOCAL_OVER_SHARED == (10, 20)
