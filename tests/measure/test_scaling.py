"""Exponents against straight lines, SciPy's regression, and censoring by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from whyconv.measure.complexity import sample_complexity
from whyconv.measure.curves import Curve
from whyconv.measure.scaling import exponent, exponents

SIZES = (50, 100, 200, 400, 800, 1600)
WIGGLE = np.array([-1.0, -0.3, 0.1, 0.4, 0.8])


def of(logs, cap=1600):
    """Straight, parallel learning curves that meet the target 0 at exp(logs)."""
    curve = Curve({m: {s: z - math.log(m) for s, z in enumerate(logs)} for m in SIZES})
    return sample_complexity(curve, 0.0, cap)


def grown(x, power, spread, first=80.0, cap=1600):
    return [(k, of(math.log(first * k**power) + s * WIGGLE, cap)) for k, s in zip(x, spread, strict=True)]


def test_the_interval_is_the_wider_one_of_seeds_and_settings():
    x = (1.0, 2.0, 3.0, 7.0)
    means, spread = np.log([[80], [170], [225], [580]]), np.outer([0.05, -0.1, 0.02, 0.1], WIGGLE)
    for noise, seeds_decide in ((1.0, False), (6.0, True)):
        logs = means + noise * (spread - spread.mean(axis=1, keepdims=True))
        got = exponent((k, of(z)) for k, z in zip(x, logs, strict=True))
        line = stats.linregress(np.log(x), logs.mean(axis=1))
        slopes = [stats.linregress(np.log(x), seed).slope for seed in logs.T]
        over_seeds = stats.t.ppf(0.975, 4) * stats.sem(slopes)
        over_settings = stats.t.ppf(0.975, 2) * line.stderr
        assert (over_seeds > over_settings) == seeds_decide
        reach = max(over_seeds, over_settings)
        assert got.value == pytest.approx(line.slope)
        assert (got.low, got.high) == pytest.approx((line.slope - reach, line.slope + reach))
        assert got.r_squared == pytest.approx(line.rvalue**2)
        residuals = logs.mean(axis=1) - line.intercept - line.slope * np.log(x)
        assert got.residual == pytest.approx(np.abs(residuals).max())
        assert (got.settings, got.censored, got.count, got.spare) == (4, 0, 5, 2)


def test_two_settings_always_fit():
    got = exponent(grown((1.0, 2.0), 1.0, (0.1, 0.0)))
    assert (got.spare, got.r_squared) == (0, pytest.approx(1))
    assert got.high - got.low == pytest.approx(
        2 * stats.t.ppf(0.975, 4) * 0.1 * stats.sem(WIGGLE) / math.log(2)
    )


def test_several_quantities_at_once():
    """A star with two spare settings, one of them off the plane, against least squares by hand."""
    places = [(1, 1), (2, 1), (4, 1), (1, 2), (1, 4), (2, 2)]
    logs = [math.log(80) + 1.5 * math.log(k) + 0.5 * math.log(d) for k, d in places]
    logs[-1] += 0.3
    points = [({"k": k, "d": d}, of([z] * 5)) for (k, d), z in zip(places, logs, strict=True)]
    got = exponents(points, {"k": {"k": 1}, "d": {"d": 1}, "both": {"k": 1, "d": 1}})
    model = np.array([[1, math.log(k), math.log(d)] for k, d in places])
    told, rest, _, _ = np.linalg.lstsq(model, np.array(logs), rcond=None)
    covariance = np.linalg.inv(model.T @ model) * rest[0] / 3
    for name, v in (("k", (0, 1, 0)), ("d", (0, 0, 1)), ("both", (0, 1, 1))):
        reach = stats.t.ppf(0.975, 3) * math.sqrt(np.array(v) @ covariance @ v)
        assert got[name].value == pytest.approx(told @ v)
        assert (got[name].low, got[name].high) == pytest.approx((told @ v - reach, told @ v + reach))
        assert got[name].spare == 3
    with pytest.raises(ValueError, match="two settings"):
        exponents(points[:3], {"k": {"k": 1}})  # d never differs


def test_one_repetition_has_a_slope_and_no_interval():
    got = exponent((k, of([math.log(80 * k)])) for k in (1.0, 2.0, 4.0))
    assert (got.low, got.high) == (-math.inf, math.inf)
    assert str(got) == "1.00, 3 settings, one repetition: no interval, R² 1.00"


def test_what_a_seed_does_to_all_settings_alike_cancels():
    got = exponent(grown((1, 2, 4), 1.31, (0.1, 0.1, 0.1)))
    assert (got.value, got.low, got.high, got.r_squared) == pytest.approx((1.31, 1.31, 1.31, 1))
    assert got.residual == pytest.approx(0, abs=1e-12)


def test_a_setting_not_reached_with_large_x_leaves_a_lower_bound():
    points = grown((1, 2, 4, 8), 1.0, (0.1, 0.0, 0.0, 0.0), cap=400)
    got = exponent(points)  # m* = 80, 160, 320 and more than 400; x in steps of log 2
    steps = np.array([-1.5, -0.5, 0.5, 1.5]) / 5 / math.log(2)
    reach = 0.1 * 1.5 / 5 / math.log(2) * stats.t.ppf(0.975, 4) * stats.sem(WIGGLE)
    logs = np.log([80 * math.exp(0.1 * WIGGLE.mean()), 160, 320, 400])
    assert math.isnan(got.value)
    assert got.low == pytest.approx(steps @ logs - reach)
    assert got.high == math.inf
    assert math.isnan(got.r_squared)
    assert (got.settings, got.censored) == (4, 1)
    assert str(got) == f"at least {got.low:.2f}, 4 settings (1 censored), 5 repetitions"


def test_a_setting_not_reached_with_small_x_leaves_an_upper_bound():
    got = exponent((1 / x, result) for x, result in grown((1, 2, 4, 8), 1.0, (0.1, 0.0, 0.0, 0.0), cap=400))
    mirrored = exponent(grown((1, 2, 4, 8), 1.0, (0.1, 0.0, 0.0, 0.0), cap=400))
    assert (got.low, got.high) == (-math.inf, pytest.approx(-mirrored.low))
    assert str(got).startswith(f"at most {got.high:.2f}, 4 settings (1 censored)")


def test_settings_reached_from_the_first_size_on_are_limits_the_other_way():
    small = exponent([(1, of(math.log(20) + 0.1 * WIGGLE)), (2, of([math.log(100)] * 5))])
    assert (small.low, small.high, small.censored) == (pytest.approx(1), math.inf, 1)
    assert math.isnan(small.value)
    assert math.isnan(small.r_squared)
    assert math.isnan(small.residual)
    large = exponent([(1, of([math.log(100)] * 5)), (2, of(math.log(20) + 0.1 * WIGGLE))])
    assert (large.low, large.high) == (-math.inf, pytest.approx(-1))


def test_censored_on_both_sides_says_nothing():
    got = exponent([(1, of(math.log(9000) + 0.1 * WIGGLE)), (2, of(math.log(9000) + 0.1 * WIGGLE))])
    assert (got.low, got.high) == (-math.inf, math.inf)
    assert str(got) == "unknown, 2 settings (2 censored), 5 repetitions"


@pytest.mark.parametrize("middle", [20, 9000])
def test_a_censored_setting_in_the_middle_has_no_weight(middle):
    """Also if the mean of the logarithms misses the middle by a rounding error, as for 0.1, 0.3, 0.9."""
    points = [(k, of(z)) for k, z in ((0.1, [math.log(80)] * 5), (0.9, [math.log(720)] * 5))]
    got = exponent([*points, (0.3, of(math.log(middle) + 0.1 * WIGGLE))])
    assert (got.value, got.low, got.high) == pytest.approx((1, 1, 1))
    assert (got.settings, got.censored) == (3, 1)
    assert math.isnan(got.residual)


def test_settings_that_share_x():
    points = [
        (1, of(np.log(80) + 0.1 * WIGGLE)),
        (1, of(np.log(120) - 0.1 * WIGGLE)),
        (2, of(np.log(200) + 0 * WIGGLE)),
    ]
    got = exponent(points)
    line = stats.linregress(np.log([1, 1, 2]), [math.log(result.crossing) for _, result in points])
    assert (got.value, got.r_squared) == pytest.approx((line.slope, line.rvalue**2))
    reach = stats.t.ppf(0.975, 1) * line.stderr
    assert (got.low, got.high) == pytest.approx((line.slope - reach, line.slope + reach))


def test_equal_sample_complexities_have_slope_zero_and_nothing_to_explain():
    got = exponent(grown((1, 2, 4), 0.0, (0.0, 0.0, 0.0)))
    assert (got.value, got.low, got.high, got.residual) == pytest.approx((0, 0, 0, 0), abs=1e-12)
    assert math.isnan(got.r_squared)


def test_one_seed_has_a_slope_without_an_interval():
    got = exponent([(1, of([math.log(100)])), (2, of([math.log(200)]))])
    assert (got.value, got.low, got.high, got.count) == (pytest.approx(1), -math.inf, math.inf, 1)


def test_what_has_no_slope():
    with pytest.raises(ValueError, match="two settings"):
        exponent([(2, of(math.log(100) + 0.1 * WIGGLE))] * 2)
    with pytest.raises(ValueError, match="two settings"):
        exponent([])
    with pytest.raises(ValueError, match="x = 0"):
        exponent([(0, of(math.log(100) + 0.1 * WIGGLE)), (1, of(math.log(100) + 0.1 * WIGGLE))])
