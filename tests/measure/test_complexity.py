"""Sample complexity: the search, the crossing with its interval, and ratios, by hand and by property."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whyconv.measure.complexity import Ratio, Search, ratio, sample_complexity
from whyconv.measure.curves import Curve

T4 = float(stats.t.ppf(0.975, 4))


def searched(search, risk, target=0.0):
    """The known means when the search is done, and the rounds it took."""
    means, rounds = {}, []
    while sizes := search.wanted(means, target):
        assert not set(sizes) & set(means)
        assert all(search.low <= m <= search.cap for m in sizes)
        rounds.append(sizes)
        means |= {m: risk(m) for m in sizes}
    return means, rounds


def straight(logs, sizes=(50, 100, 200, 400), slope=1.0):
    """Seeds whose risks are straight and parallel in log m and meet the target 0 at exp(logs)."""
    return Curve({m: {s: slope * (z - math.log(m)) for s, z in enumerate(logs)} for m in sizes})


def around(size, spread=0.05):
    return math.log(size) + spread * np.array([-1.0, -0.3, 0.1, 0.4, 0.8])


# the search


def test_search_by_hand():
    """The middle and the cap, the bracket's geometric middles, and the flank 37 // 4."""
    means, rounds = searched(Search(1, 900), lambda m: -1.0 if m >= 37 else 1.0)
    assert rounds == [[30, 900], [164], [70], [46], [37], [33], [35], [36], [9]]
    assert min(m for m, mean in means.items() if mean <= 0) == 37


def test_search_stops_at_its_resolution():
    _, rounds = searched(Search(1, 10_000, 0.5), lambda m: -1.0 if m >= 700 else 1.0)
    assert rounds == [[100, 10_000], [1000], [316], [562], [750]]  # 750 / 562 <= 1.5, and 100 <= 750 / 4


def test_the_bracket_may_be_as_wide_as_the_resolution_exactly():
    means = {32: 1.0, 128: 1.0, 192: -1.0, 1024: -1.0}
    assert Search(1, 1024, 0.5).wanted(means, 0.0) == []
    assert Search(1, 1024, 0.49).wanted(means, 0.0) == [157]


def test_a_target_is_reached_by_equality():
    assert Search(1, 100, 0.05).wanted({10: 0.5, 100: 0.1}, 0.1) == [32]
    assert Search(1, 100, 0.05).wanted({10: 0.5, 100: 0.1}, math.nextafter(0.1, 0)) == []


@pytest.mark.parametrize("value", [1.0, math.nan, math.inf])
def test_a_cap_that_fails_is_the_end(value):
    means, rounds = searched(Search(10, 1000), lambda m: value)
    assert rounds == [[100, 1000]]
    assert sample_complexity(Curve({m: {0: v} for m, v in means.items()}), 0.0, 1000).m_star is None


def test_a_cap_that_fails_above_a_middle_that_passes_is_not():
    _, rounds = searched(Search(10, 1000), lambda m: 1.0 if m < 90 or m > 500 else -1.0)
    assert rounds[1] == [32]


def test_the_first_round_is_completed_first():
    assert Search(10, 1000).wanted({100: -1.0}, 0.0) == [1000]
    assert Search(10, 1000).wanted({1000: -1.0}, 0.0) == [100]


def test_sizes_outside_of_the_range_are_ignored():
    known = {100: 1.0, 1000: -1.0}
    assert Search(10, 1000).wanted(known | {5: -1.0, 2000: -1.0}, 0.0) == Search(10, 1000).wanted(known, 0.0)


def test_if_all_sizes_reach_the_target_the_smallest_is_measured():
    means, _ = searched(Search(7, 1000), lambda m: -1.0)
    assert min(means) == 7
    assert searched(Search(1, 2), lambda m: -1.0)[1] == [[1, 2]]
    assert searched(Search(100, 104), lambda m: -1.0)[1] == [[102, 104], [100]]


def test_the_flank_is_asked_for_once_and_not_below_low():
    fails = {100: 1.0, 1000: -1.0, 102: -1.0}
    assert Search(10, 1000).wanted(fails, 0.0) == [25]
    assert Search(10, 1000).wanted(fails | {25: 1.0}, 0.0) == []
    assert Search(50, 200).wanted({100: 1.0, 200: -1.0, 102: -1.0}, 0.0) == [50]
    assert Search(50, 200).wanted({100: 1.0, 200: -1.0, 102: -1.0, 50: 1.0}, 0.0) == []


def test_a_search_may_begin_with_a_learning_curve():
    search = Search(4, 64, 0.25, (4, 8, 64))
    assert search.wanted({}, 0.0) == search.usual() == [4, 8, 64]
    assert search.wanted({4: 1.0, 8: 1.0}, 0.0) == [64]
    assert search.wanted({4: 1.0, 8: 1.0, 64: -1.0}, 0.0) == [23]
    assert search.wanted({4: 1.0, 8: -1.0, 64: -1.0}, 0.0) == [6]
    assert search.wanted({4: 1.0, 8: 1.0, 64: 1.0}, 0.0) == []
    ends = Search(4, 64, math.inf, (4, 64))
    assert ends.wanted({}, 0.0) == [4, 64] and ends.wanted({4: 1.0, 64: -1.0}, 0.0) == []
    assert ends.wanted({4: -1.0, 64: -1.0}, 0.0) == []


def test_a_forecast_counts_on_sizes_all_over_the_range():
    assert Search(2, 1000).usual() == [11, 22, 45, 89, 179, 358, 1000]
    assert Search(50, 60).usual() == [50, 55, 60]


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ((0, 10), "low = 0"),
        ((10, 10), "low < cap"),
        ((1, 10, 0.0), "above 0"),
        ((1, 10, math.nan), "above 0"),
        ((4, 64, 0.25, (4, 32)), "up to cap"),
        ((4, 64, 0.25, (2, 64)), "from low"),
    ],
)
def test_a_search_that_makes_no_sense(values, match):
    with pytest.raises(ValueError, match=match):
        Search(*values)


ranges = st.tuples(st.integers(1, 500), st.integers(1, 5000), st.sampled_from([0.001, 0.05, 0.5, 3.0]))


@settings(deadline=None)
@given(ranges, st.integers(0, 6000))
def test_a_monotone_curve_is_bracketed(given_range, true):
    low, width, resolution = given_range
    search = Search(low, low + width, resolution)
    means, rounds = searched(search, lambda m: -1.0 if m >= true else 1.0)
    passing = [m for m, mean in means.items() if mean <= 0]
    if true > search.cap:
        assert not passing
        assert len(rounds) == 1
    elif true <= low:
        assert min(passing) == low
    else:
        below = max(m for m, mean in means.items() if mean > 0)
        assert below < true <= min(passing)
        assert min(passing) - below == 1 or min(passing) <= below * (1 + resolution)
        assert min(means) <= max(low, min(passing) // 4)


@settings(max_examples=200, deadline=None)
@given(ranges, st.randoms(use_true_random=False))
def test_the_search_ends_for_any_means(given_range, random):
    low, width, resolution = given_range
    values = [-1.0, 0.0, 1.0, math.nan, math.inf]
    means, _ = searched(Search(low, low + width, resolution), lambda m: random.choice(values))
    passing = [m for m, mean in means.items() if mean <= 0]
    if passing and min(passing) > low:
        below = max(m for m in means if m < min(passing))
        assert min(passing) - below == 1 or min(passing) <= below * (1 + resolution)


# m* and its interval


def test_the_crossing_by_hand():
    """From 0.5 at 10 to 0.1 at 40: the target 0.3 is half way in log m, at 20. Later sizes do not matter."""
    got = sample_complexity(Curve({10: {0: 0.5}, 40: {0: 0.1}, 80: {0: 0.9}}), 0.3, 100)
    assert (got.m_star, got.below, got.cap, got.count, got.reached) == (40, 10, 80, 1, True)
    assert got.crossing == pytest.approx(20, rel=1e-14)
    assert (got.low, got.high, got.logs) == (0.0, math.inf, ())
    assert str(got) == "20, one repetition: no interval"
    late = sample_complexity(Curve({10: {0: 0.5}, 40: {0: 0.4}}), 0.3, 40)
    assert str(late) == "not reached by m = 40, one repetition: no interval"
    assert str(ratio(got, got)) == "1, one repetition: no interval"
    assert str(ratio(late, got)) == "unknown, one repetition: no interval"


def test_the_smallest_size_that_reaches_the_target_counts_with_the_size_before_it():
    got = sample_complexity(
        Curve({m: {0: r} for m, r in zip((1, 2, 4, 8), (3, 1, -1, 1), strict=True)}), 0.0, 8
    )
    assert (got.m_star, got.below, got.crossing) == (4, 2, pytest.approx(math.sqrt(8)))


def test_a_mean_at_the_target_reaches_it_exactly_there():
    got = sample_complexity(Curve({3: dict.fromkeys(range(5), 0.3), 7: dict.fromkeys(range(5), 0.1)}), 0.1, 7)
    assert (got.m_star, got.crossing, got.low, got.high) == (7, 7.0, 7.0, 7.0)
    assert str(got) == "7 [7, 7], 5 repetitions"


def test_parallel_straight_curves_have_the_interval_of_their_own_crossings():
    """There the test inversion is the t interval of log m*, and the pseudo-values are the seeds' own."""
    logs = around(130)
    for slope in (1.0, 0.2):
        got = sample_complexity(straight(logs, slope=slope), 0.0, 400)
        reach = T4 * stats.sem(logs)
        ends = math.exp(logs.mean() - reach), math.exp(logs.mean()), math.exp(logs.mean() + reach)
        assert (got.low, got.crossing, got.high) == pytest.approx(ends, rel=1e-10)
        assert got.logs == pytest.approx(logs, rel=1e-12)
    wider = sample_complexity(straight(logs), 0.0, 400, level=0.99)
    assert math.log(wider.high / wider.low) == pytest.approx(2 * stats.t.ppf(0.995, 4) * stats.sem(logs))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(-6, 6), min_size=3, max_size=3), min_size=2, max_size=5),
    st.sampled_from([0.0, 1.5]),
)
def test_the_interval_is_that_of_a_fine_grid(columns, target):
    """The exact solution against the definition, evaluated at 2000 sizes; disconnected sets included."""
    sizes = [2 * 3**k for k in range(len(columns))]
    got = sample_complexity(
        Curve({m: dict(enumerate(c)) for m, c in zip(sizes, columns, strict=True)}), target, 999
    )
    grid = np.linspace(math.log(sizes[0]), math.log(sizes[-1]), 2001)
    risks = np.array([np.interp(grid, np.log(sizes), seed) for seed in np.transpose(columns)])
    reach = stats.t.ppf(0.975, 2) * stats.sem(risks, axis=0)
    inside = grid[np.abs(risks.mean(0) - target) <= reach + 1e-9]
    step = 1.01 * (grid[1] - grid[0])
    if got.low > 0 and len(inside):
        assert math.log(got.low) <= inside[0] + 1e-6
        assert math.log(got.low) >= inside[0] - step
    if got.high < math.inf and len(inside):
        assert math.log(got.high) >= inside[-1] - 1e-6
        assert math.log(got.high) <= inside[-1] + step
    assert (got.low == 0) == (risks.mean(0)[0] - reach[0] <= target + 1e-12)
    assert (got.high == math.inf) == (risks.mean(0)[-1] + reach[-1] > target + 1e-12)
    if not got.censored:
        assert got.low <= got.crossing * (1 + 1e-12)
        assert got.crossing <= got.high * (1 + 1e-12)
    if got.logs:
        assert np.mean(got.logs) == pytest.approx(math.log(got.crossing))
        width = 2 * stats.t.ppf(0.975, 2) * stats.sem(got.logs)
        assert width == pytest.approx(math.log(got.high / got.low))


def test_a_set_that_falls_apart_gives_its_hull():
    """Clearly above, at the target, clearly below, at the target again, clearly below."""
    wiggle = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    means = {1: 9.0, 3: 0.0, 9: -9.0, 27: 0.0, 81: -9.0}
    got = sample_complexity(Curve({m: dict(enumerate(v + wiggle)) for m, v in means.items()}), 0.0, 81)
    reach = T4 * stats.sem(wiggle)
    assert got.crossing == 3
    assert got.low == pytest.approx(3 ** (1 - reach / 9))
    assert got.high == pytest.approx(27 * 3 ** (reach / 9))


def test_equal_risks_give_an_interval_of_width_zero():
    got = sample_complexity(
        Curve({m: dict.fromkeys(range(5), r) for m, r in ((10, 0.7), (30, 0.2))}), 0.3, 30
    )
    assert got.low == got.high == pytest.approx(got.crossing, rel=1e-14)
    assert got.crossing == pytest.approx(10 * 3**0.8)


def test_seeds_that_all_cross_at_one_point_leave_no_doubt():
    """Their slopes differ, so there is spread everywhere but there; the discriminant is 0 up to rounding."""
    for share in np.linspace(0.05, 0.95, 50):
        ends = [{s: at * slope for s, slope in enumerate((1.0, 1.1, 1.3, 1.6))} for at in (share, share - 1)]
        got = sample_complexity(Curve({10: ends[0], 1000: ends[1]}), 0.0, 1000)
        assert got.crossing == pytest.approx(10 ** (1 + 2 * share))
        assert (got.low, got.high) == pytest.approx((got.crossing, got.crossing), rel=1e-5)


def test_pseudo_values_are_the_risks_at_the_crossing_stretched_to_the_interval():
    """Means 1 and -3, so u = 1/4; there the deviations are 3/4 of (-1, 0, 1) and 1/4 of (1, -1, 0)."""
    got = sample_complexity(Curve({10: {0: 0.9, 1: 1.0, 2: 1.1}, 160: {0: -2.9, 1: -3.1, 2: -3.0}}), 0.0, 160)
    at = np.array([-0.5, -0.25, 0.75])
    width = math.log(got.high / got.low) / 2 / (stats.t.ppf(0.975, 2) * stats.sem(at))
    assert got.crossing == pytest.approx(20)
    assert got.logs == pytest.approx(math.log(20) + width * at)


def test_sample_complexities_are_told_in_whole_examples_rounded_up():
    got = sample_complexity(straight(around(130)), 0.0, 400)
    assert (got.low, got.crossing, got.high) == pytest.approx((124.55, 130, 135.68), abs=0.01)
    assert str(got) == "130 [125, 136], 5 repetitions"


def test_what_is_not_reached_begins_at_the_cap_if_that_is_clear():
    clear = sample_complexity(straight(around(3000)), 0.0, 1000)
    assert (clear.m_star, clear.below, clear.low, clear.high, clear.cap) == (None, None, 400, math.inf, 400)
    assert math.isnan(clear.crossing)
    assert not clear.reached
    assert clear.censored
    assert str(clear) == "not reached by m = 400, 5 repetitions"
    assert clear.data()["value"] is None and clear.data()["m_star"] is None and clear.data()["cap"] == 400
    narrow = sample_complexity(straight(around(410)), 0.0, 1000)
    assert not narrow.reached
    assert 370 < narrow.low < 400


def test_what_is_reached_narrowly_is_open_above():
    got = sample_complexity(straight(around(395)), 0.0, 1000)
    assert got.reached
    assert 360 < got.low < got.crossing < 400
    assert (got.high, got.logs) == (math.inf, ())


def test_what_is_reached_from_the_first_size_on_is_at_most_that():
    clear = sample_complexity(straight(around(10)), 0.0, 400)
    assert (clear.m_star, clear.below, clear.crossing, clear.low, clear.high) == (50, None, 50, 0, 50)
    assert clear.reached
    assert clear.censored
    assert str(clear) == "at most 50, 5 repetitions"
    narrow = sample_complexity(straight(around(48)), 0.0, 400)
    assert (narrow.m_star, narrow.low) == (50, 0)
    assert 50 < narrow.high < 55


def test_sizes_above_the_cap_do_not_count():
    assert not sample_complexity(straight(around(130)), 0.0, 199).reached
    assert sample_complexity(straight(around(130)), 0.0, 200).m_star == 200


def test_a_risk_that_is_not_finite_fails_and_excludes_nothing():
    risks = {m: dict(by_seed) for m, by_seed in straight(around(130)).risks.items()}
    risks[100][3] = math.inf
    got = sample_complexity(Curve(risks), 0.0, 400)
    assert (got.m_star, got.below, got.crossing, got.logs) == (200, 100, 200, ())
    assert (got.low, got.high) == (50, 200)  # all up to the neighbours
    risks[50][0] = risks[400][0] = math.nan
    got = sample_complexity(Curve(risks), 0.0, 400)
    assert (got.m_star, got.low, got.high) == (200, 0, math.inf)


def test_a_curve_needs_sizes_and_the_same_seeds_everywhere():
    with pytest.raises(ValueError, match="none up to m = 40"):
        sample_complexity(straight(around(130)), 0.0, 40)
    with pytest.raises(ValueError, match="lacks seed 1 at m = 3"):
        sample_complexity(Curve({2: {0: 1.0, 1: 1.0}, 3: {0: 0.0}}), 0.0, 40)


# ratios


def of(logs, cap=400, **more):
    return sample_complexity(straight(logs, **more), 0.0, cap)


def test_a_ratio_of_straight_curves_is_the_paired_t_interval_of_the_logarithms():
    a, b = around(130, 0.2), around(90, 0.1)[::-1]
    got = ratio(of(a), of(b))
    reach = T4 * stats.sem(a - b)
    expected = [math.exp((a - b).mean() + sign * reach) for sign in (0, -1, 1)]
    assert (got.value, got.low, got.high) == pytest.approx(expected, rel=1e-9)
    assert got.count == 5
    inverse = ratio(of(b), of(a))
    assert (1 / inverse.value, 1 / inverse.high, 1 / inverse.low) == pytest.approx(expected, rel=1e-9)


def test_a_ratio_has_the_level_of_what_it_compares():
    a, b = around(130, 0.2), around(90, 0.1)[::-1]
    got = ratio(*(sample_complexity(straight(z), 0.0, 400, 0.8) for z in (a, b)))
    assert math.log(got.high / got.low) == pytest.approx(2 * stats.t.ppf(0.9, 4) * stats.sem(a - b))


def test_what_the_seeds_do_to_both_cancels():
    got = ratio(of(around(180, 0.3)), of(around(120, 0.3)))
    assert (got.low, got.high) == pytest.approx((1.5, 1.5), rel=1e-9)


def test_the_first_not_reached_gives_a_lower_limit():
    a, b = of(around(3000)), of(around(90, 0.1))
    got = ratio(a, b)
    assert math.isnan(got.value)
    assert got.low == pytest.approx(400 / b.high)
    assert got.high == math.inf
    assert str(got) == f"at least {got.low:.3g}, 5 repetitions"
    narrow = ratio(of(around(410)), b)
    assert narrow.low == pytest.approx(of(around(410)).low / b.high)


def test_the_second_not_reached_gives_an_upper_limit():
    a, b = of(around(90, 0.1)), of(around(3000))
    got = ratio(a, b)
    assert math.isnan(got.value)
    assert (got.low, got.high) == (0, pytest.approx(a.high / 400))
    assert str(got) == f"at most {got.high:.3g}, 5 repetitions"


def test_neither_reached_says_nothing():
    got = ratio(of(around(3000)), of(around(5000)))
    assert (got.low, got.high) == (0, math.inf)
    assert str(got) == "unknown, 5 repetitions"


def test_reached_from_the_first_size_on_is_a_limit_the_other_way():
    got = ratio(of(around(90, 0.1)), of(around(10)))
    assert got.low == pytest.approx(of(around(90, 0.1)).low / 50)
    assert got.high == math.inf


def test_without_one_seed_not_reached_widens_and_drops_nothing():
    """The mean reaches the target at the cap, but not if the best seed is left out."""
    a, b = of(around(398, 0.3)), of(around(90, 0.1))
    assert a.reached
    assert np.mean(around(398, 0.3)[1:]) > math.log(400)
    got = ratio(a, b)
    assert got.value == pytest.approx(a.crossing / b.crossing)
    assert (got.low, got.high, got.count) == (pytest.approx(a.low / b.high), math.inf, 5)
    assert str(got) == f"{got.value:.3g} [{got.low:.3g}, inf], 5 repetitions"


def test_one_seed_has_a_ratio_without_an_interval():
    got = ratio(of([math.log(120)]), of([math.log(60)]))
    assert got == Ratio(pytest.approx(2), 0.0, math.inf, 1)


def test_equal_seeds_have_a_ratio_of_width_zero():
    got = ratio(of([math.log(120)] * 5), of([math.log(60)] * 5))
    assert (got.value, got.low, got.high) == pytest.approx((2, 2, 2))


def test_only_the_same_seeds_and_level_are_compared():
    with pytest.raises(ValueError, match="same seeds"):
        ratio(of(around(90)), of(around(90)[:4]))
    with pytest.raises(ValueError, match="level"):
        ratio(of(around(90)), sample_complexity(straight(around(90)), 0.0, 400, 0.9))
