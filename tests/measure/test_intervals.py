"""Intervals against SciPy, against tables, and against their own promise."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from whyconv.measure.intervals import (
    Interval,
    flag_rate,
    is_share,
    mean_interval,
    median_interval,
    paired_difference,
    rate_interval,
    share_interval,
    summarise,
)


def test_agrees_with_scipy_at_every_level_and_size():
    rng = np.random.default_rng(0)
    for count in (2, 5, 29, 30, 200):
        values = rng.normal(3, 2, count)
        for level in (0.8, 0.95, 0.99):
            got = mean_interval(values, level)
            low, high = stats.t.interval(level, count - 1, loc=values.mean(), scale=stats.sem(values))
            assert (got.mean, got.low, got.high) == pytest.approx((values.mean(), low, high), rel=1e-12)
            assert got.count == count


def test_known_value_from_the_t_table():
    got = mean_interval([1, 2, 3, 4, 5])  # t(0.975, 4) = 2.776, s = sqrt(2.5)
    assert got.high - got.mean == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)


def test_covers_what_it_promises_with_five_repetitions():
    samples = np.random.default_rng(1).normal(7, 3, (2000, 5))
    covered = np.mean([7 in mean_interval(sample) for sample in samples])
    assert 0.93 <= covered <= 0.97


def test_one_value_has_no_interval_and_decides_nothing():
    got = mean_interval([0.2])
    assert got == Interval(0.2, -math.inf, math.inf, 1)
    assert not got.within(-1, 1)
    assert str(got) == "0.2, one repetition: no interval"
    assert str(mean_interval([0.2, 0.2])) == "0.2 [0.2, 0.2], 2 repetitions"


def test_equal_values_give_width_zero_without_rounding():
    got = mean_interval([0.1] * 7)
    assert (got.mean, got.low, got.high) == (0.1, 0.1, 0.1)
    assert mean_interval([0.1 + 0.2 - 0.3, 0.3, -0.3]).cell.startswith("0 ["), "a rounding error is no mean"


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_not_dropped(bad):
    got = mean_interval([0.1, bad, 0.2])
    assert math.isnan(got.mean)
    assert (got.low, got.high, got.count) == (-math.inf, math.inf, 3)


def test_a_median_covers_what_it_promises_whatever_the_law_and_outliers_do_not_move_it():
    rng = np.random.default_rng(9)
    for sample, truth in ((rng.standard_cauchy, 0.0), (rng.exponential, math.log(2))):
        drawn = sample(size=(2000, 40))
        covered = np.mean([truth in median_interval(values) for values in drawn])
        assert 0.945 < covered < 0.98  # 0.962, by the binomial law
    values = [*range(1, 41)]
    plain, far = median_interval(values), median_interval([*values[:-5], *[1e9] * 5])
    assert (plain.mean, plain.low, plain.high, plain.count) == (20.5, 14, 27, 40) and far == plain
    assert median_interval(range(5)).low == -math.inf and median_interval(range(6)).low == 0
    assert median_interval([*range(9), math.inf]).high == math.inf


def test_nothing_has_no_mean():
    for interval in (mean_interval, share_interval):
        with pytest.raises(ValueError, match="at least one value"):
            interval([])


def test_a_share_stays_within_0_and_1_and_is_the_delta_method_on_the_logit_scale():
    rng = np.random.default_rng(3)
    for values in (
        rng.beta(0.5, 20, 5),
        rng.beta(20, 0.5, 4),
        rng.random(30),
        [0.0, 0.0, 1e-9],
        [1.0, 1 - 1e-9],
    ):
        got, plain = share_interval(values), mean_interval(values)
        assert 0 <= got.low < got.mean < got.high <= 1 and got.mean == plain.mean
        half = (plain.high - plain.low) / 2
        ends = stats.logistic.cdf(
            stats.logistic.ppf(got.mean) + np.array([-1, 1]) * half / (got.mean * (1 - got.mean))
        )
        assert (got.low, got.high) == pytest.approx(tuple(ends), rel=1e-6, abs=1e-15)
    narrow = 0.5 + 0.001 * rng.standard_normal(8)
    assert share_interval(narrow).low == pytest.approx(mean_interval(narrow).low, abs=1e-6)


def test_a_share_and_its_complement_have_mirrored_intervals():
    errors = np.array([0.0, 0.01, 0.04, 0.02])
    one, other = share_interval(errors), share_interval(1 - errors)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), rel=1e-9)


@pytest.mark.parametrize(
    "values", [[0.0, 0.0, 0.0], [1.0, 1.0], [0.3], [0.1, math.nan], [-0.1, 0.3], [0.9, 1.2]]
)
def test_what_is_no_share_or_has_no_spread_gets_the_plain_interval(values):
    got, plain = share_interval(values), mean_interval(values)
    assert (got.low, got.high, got.count) == (plain.low, plain.high, plain.count)


def test_which_columns_are_shares():
    assert all(map(is_share, ("test_error", "test_error_shift_2", "train_error", "exact_error", "accuracy")))
    assert not any(map(is_share, ("risk", "seconds", "terror", "alignment", "difference")))
    table = pd.DataFrame({"arm": ["a"] * 3, "test_error": [0.0, 0.02, 0.07], "risk": [0.0, 0.02, 0.07]})
    share, risk = (summarise(table, ["arm"], column).iloc[0] for column in ("test_error", "risk"))
    assert share["low"] == share_interval(table["test_error"]).low > 0 > risk["low"]


def test_the_rate_of_flags():
    assert flag_rate([True, True, False]) == rate_interval(2, 3)
    assert flag_rate(pd.Series([True] * 20)).low == pytest.approx(0.025 ** (1 / 20), rel=1e-9)


def test_paired_difference_ignores_unmatched_seeds_and_order():
    a = pd.Series({0: 0.5, 1: 0.7, 2: 0.4, 9: 100.0})
    b = pd.Series({2: 0.1, 0: 0.3, 1: 0.3, 8: -100.0})
    got = paired_difference(a, b)
    assert got == mean_interval([0.5 - 0.3, 0.7 - 0.3, 0.4 - 0.1])
    assert got.count == 3


def test_pairing_removes_what_both_arms_share():
    rng = np.random.default_rng(2)
    hardness = pd.Series(rng.normal(0, 10, 8))
    got = paired_difference(hardness + 1 + rng.normal(0, 0.1, 8), hardness)
    assert got.within(0.8, 1.2)


def test_paired_difference_needs_common_and_unique_seeds():
    with pytest.raises(ValueError, match="no seed in common"):
        paired_difference(pd.Series({0: 1.0}), pd.Series({1: 1.0}))
    with pytest.raises(ValueError, match="seed 0 twice"):
        paired_difference(pd.Series([1.0, 2.0], index=[0, 0]), pd.Series({0: 1.0}))


def test_summarise_agrees_with_mean_interval_and_keeps_order():
    table = pd.DataFrame(
        {"arm": ["b", "b", "a", "a", "a"], "m": [1, 1, 1, 1, 2], "risk": [0.1, 0.3, 0.2, 0.5, 0.9]}
    )
    got = summarise(table, ["arm", "m"], "risk")
    assert list(got.columns) == ["arm", "m", "mean", "low", "high", "count", "std"]
    assert list(zip(got["arm"], got["m"], strict=True)) == [("b", 1), ("a", 1), ("a", 2)]
    expected = mean_interval([0.1, 0.3])
    assert tuple(got.loc[0, ["mean", "low", "high", "count"]]) == (
        expected.mean,
        expected.low,
        expected.high,
        2,
    )
    assert got.loc[0, "std"] == pytest.approx(np.std([0.1, 0.3], ddof=1))
    assert math.isinf(got.loc[2, "high"])


def test_summarise_of_nothing_and_of_a_taken_name():
    assert summarise(pd.DataFrame(), ["arm"], "error").empty
    with pytest.raises(ValueError, match="'count'"):
        summarise(pd.DataFrame({"count": [1], "error": [0.1]}), ["count"], "error")
