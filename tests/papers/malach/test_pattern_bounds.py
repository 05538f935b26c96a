"""The bounds of section 3 and the sizes they ask for: known values, exact minimality, what is refused."""

from fractions import Fraction
from itertools import product
from math import comb, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.errors import UserError
from whyconv.papers.malach.exact import (
    bounds,
    k_patterns,
    online_descent,
    oracle_sizes,
    sizes,
    window_features,
)
from whyconv.papers.malach.exact.window_descent import Ramp

DIMENSIONS = {
    "n": st.integers(2, 40), "k": st.integers(1, 8), "width": st.integers(1, 10**8),
    "steps": st.integers(1, 10**6), "cap": st.floats(0.5, 8),
}  # fmt: skip


def test_the_width_of_lemma_6():
    for k, delta in ((1, 0.5), (2, 0.1), (5, 0.01)):
        width = bounds.width_needed(k, delta)
        assert width > 2 ** (k + 3) * log(2**k / delta) >= width - 1
        assert 2**k * exp(-width * 2**-k / 8) <= delta
    assert [bounds.width_needed(k, 0.1) for k in (1, 2, 3)] == [48, 119, 281]


def test_the_exact_failure_of_the_start():
    found = [bounds.union_failure(bounds.width_needed(k, 0.1), k) for k in (2, 4, 6, 8, 10)]
    assert found == pytest.approx([1.08e-3, 2.97e-3, 1.67e-3, 1.70e-3, 7.92e-4], rel=5e-3, abs=0)
    assert max(found) < 0.1
    width = 119
    by_hand = 4 * sum(comb(width, few) * 3 ** (width - few) for few in range(15)) / 4**width
    assert bounds.union_failure(width, 2) == pytest.approx(by_hand, rel=1e-10, abs=0)
    for width in (1, 5, 8):
        words = product(range(4), repeat=width)
        bad = sum(min(word.count(z) for z in range(4)) < width / 8 for word in words)
        assert bounds.failure_by_counting(width, 2) == bad / 4**width


def test_the_separator_of_drawn_filters_is_the_least_norm_readout():
    rng, relu = np.random.default_rng(0), Ramp()
    for k in (1, 2, 3):
        assert window_features.worst_error_over_targets(k, relu, 1 / k - 1) < 1e-14
        signs = rng.choice([-1.0, 1.0], (200, k))
        _, counts = np.unique(signs, axis=0, return_counts=True)
        answers = window_features.features(signs / k, k_patterns.cube(k), range(1), relu, 1 / k - 1)
        readouts, residual = window_features.least_norm_readouts(answers, k_patterns.cube(2**k).T)
        norm = window_features.separator_norm(counts, k)
        assert residual < 1e-12
        np.testing.assert_allclose(np.linalg.norm(readouts, axis=0), norm)
        assert 2**k * k / sqrt(200) <= norm <= bounds.separator_bound(200, k) / sqrt(2)
    assert window_features.worst_error_over_targets(2, np.tanh, -0.5) > 0.5
    assert window_features.worst_error_over_targets(2, relu, 0.0) > 0.5


def test_features_stand_window_by_window():
    filters = np.array([[1.0, 0.0], [0.0, 1.0]])
    answers = window_features.features(filters, np.array([[1.0, 2.0, 3.0]]), range(2), Ramp(10.0), 0.5)
    np.testing.assert_array_equal(answers, [[1.5, 2.5, 2.5, 3.5]])


def test_theorem_4_at_the_known_sizes():
    assert bounds.stated_terms(4, 2, 40_000, 10_000) == pytest.approx((0.0128, 0.32, 0.16), rel=1e-12, abs=0)
    for n, k, width, steps, total in (
        (6, 2, 400_000, 10_000, 1.015), (6, 3, 2_000_000, 20_000, 1.374), (8, 3, 20_000_000, 20_000, 5.15),
    ):  # fmt: skip
        assert sum(bounds.stated_terms(n, k, width, steps)) == pytest.approx(total, rel=1e-3, abs=0)
    assert bounds.local_terms(4, 2, 40_000, 5_000) == pytest.approx((0.0032, 0.32, 0.32), rel=1e-12, abs=0)


@settings(deadline=None)
@given(**DIMENSIONS)
def test_the_stated_terms_follow_from_the_lemmas_with_the_corrected_step(n, k, width, steps, cap):
    stated = bounds.stated_terms(n, k, width, steps, cap)
    step = bounds.step_size(n, width, steps)
    assert bounds.derived_terms(n, k, width, steps, step, cap) == pytest.approx(stated, rel=1e-12, abs=0)
    star = bounds.separator_bound(width, k)
    lemmas = (
        bounds.loss_drift_bound(step, steps, n, k, width, cap, star),
        star**2 / (2 * step * steps),
        bounds.readout_bound(step, 1, width, cap) ** 2 / step * n,
    )
    assert lemmas == pytest.approx(stated, rel=1e-12, abs=0)
    printed = bounds.step_size(n, width, steps, "printed")
    assert printed == pytest.approx(step * sqrt(steps), rel=1e-12, abs=0)
    grown = bounds.derived_terms(n, k, width, steps, printed, cap)
    expected = (stated[0] * steps, stated[1] / sqrt(steps), stated[2] * sqrt(steps))
    assert grown == pytest.approx(expected, rel=1e-12, abs=0)


@settings(deadline=None)
@given(**DIMENSIONS)
def test_the_bounds_of_lemma_8_in_their_order(n, k, width, steps, cap):
    plain = bounds.drift_bound(0.01, steps, n, k, width, cap)
    assert bounds.sharp_drift_bound(0.01, steps, n, k, width, cap) <= plain / 2
    by_readout = n * sqrt(k) * steps * 0.01 * bounds.readout_bound(0.01, steps, width, cap)
    assert plain == pytest.approx(by_readout, rel=1e-12, abs=0)


@settings(deadline=None)
@given(**DIMENSIONS)
def test_the_better_travel_is_the_minimum(n, k, width, steps, cap):
    def first_two(travel):
        return sum(bounds.derived_terms(n, k, width, steps, travel / steps, cap)[:2])

    best = bounds.better_travel(n, k, width, cap)
    assert first_two(best) <= min(first_two(best * 1.01), first_two(best / 1.01))
    assert first_two(best) <= first_two(sqrt(n / width)) * (1 + 1e-12)
    wide = bounds.better_travel(n, k, 1000 * width, cap)
    ratio = sum(bounds.derived_terms(n, k, 1000 * width, steps, wide / steps, cap)[:2]) / first_two(best)
    assert ratio == pytest.approx(0.01, rel=1e-9, abs=0)


@settings(deadline=None)
@given(bits=st.integers(1, 12), extra=st.integers(0, 20), eps=st.floats(0.01, 1), delta=st.floats(0.01, 0.9))
def test_the_sizes_suffice_and_none_is_wasted(bits, extra, eps, delta):
    n = bits + extra
    found = sizes.sizes(n, bits, eps, delta)
    assert sum(found.terms) <= eps / 2 * (1 + 1e-12)
    assert found.width >= bounds.width_needed(bits, delta / 2)
    assert found.terms == bounds.stated_terms(n, bits, found.width, found.steps)
    assert found.step == bounds.step_size(n, found.width, found.steps)
    first, second, _ = bounds.stated_terms(n, bits, found.width - 1, found.steps)
    tight = first + second > eps / 4 * (1 - 1e-12)
    assert tight or found.width == bounds.width_needed(bits, delta / 2)
    assert found.steps > 1
    fewer = bounds.stated_terms(n, bits, found.width, found.steps - 1)[2]
    assert fewer > eps / 4 * (1 - 1e-12)  # T - 1 and T are the same double beyond 2^53


def test_a_tiny_delta_makes_the_start_ask_for_the_width():
    assert sizes.sizes(4, 1, 1.0, 1e-300).width == bounds.width_needed(1, 5e-301) > 10_000


def test_the_width_is_exactly_the_least_at_a_known_size():
    """n = 4, k = 2, eps = 1/2: 512/q + 64/sqrt(q) <= 1/8, in fractions."""
    width = sizes.sizes(4, 2, 0.5, 0.1).width

    def suffices(q):
        rest = Fraction(1, 8) - Fraction(512, q)
        return rest > 0 and Fraction(64**2, q) <= rest**2

    assert width == 270_274 and suffices(width) and not suffices(width - 1)


def test_the_constants_of_the_corrected_corollary_are_64_and_32():
    for n, k in ((2**40, 40), (2**60, 60)):
        found = sizes.sizes(n, k, 0.1, 0.1)
        width, steps = sizes.corollary_sizes(n, 0.1, printed=False)
        assert found.width / width == pytest.approx(64, rel=1e-3)
        assert found.steps / steps == pytest.approx(32, rel=1e-3)
        few, short = sizes.corollary_sizes(n, 0.1, printed=True)
        assert width / few == pytest.approx(k**2) and steps / short == pytest.approx(k)


def test_the_sample_size_satisfies_its_inequality_and_hardly_less_does():
    width, gap, delta = 6_594_497, 0.05, 0.05
    found = sizes.samples_needed(4, 2, width, gap, delta)

    def excess(m):
        return log(4) + sizes.log_growth(2 * m, 4, 2, width) - gap**2 * m / 8 - log(delta)

    assert excess(found) <= 0 < excess(found * (1 - 1e-6))
    assert found / sizes.corollary_samples(4, 2, width, 0.1, 0.1) == pytest.approx(27.2, abs=0.1)
    assert sizes.samples_needed(4, 2, 1, 0.5, 0.5) > 5


def test_the_growth_function_bounds_what_one_filter_can_do():
    """q = 1, n = k = 1: the sign patterns of u clip(w x, 0, 1) on x = -1, 1 are at most four."""
    found = set()
    for u in (-1.0, 1.0):
        for w in (-1.0, 1.0):
            found.add(tuple(u * np.clip(w * np.array([-1.0, 1.0]), 0, 1) > 0))
    assert log(len(found)) <= sizes.log_growth(2, 1, 1, 1)
    by_hand = log(2 * (4 * np.e * 50 * 3 / 2) ** 14 * 2 * (4 * np.e * 50 / 35) ** 35)
    assert sizes.log_growth(50, 4, 2, 7) == pytest.approx(by_hand)


def test_what_the_calculator_refuses():
    for arguments, words in {
        (3, 4, 0.1, 0.1): "1 <= k <= n", (3, 0, 0.1, 0.1): "1 <= k <= n", (4, 2, 0.0, 0.1): "eps = 0.0",
        (4, 2, -1.0, 0.1): "eps", (4, 2, float("nan"), 0.1): "eps", (4, 2, 1.5, 0.1): "eps",
        (4, 2, 0.1, 0.0): "delta", (4, 2, 0.1, 1.0): "delta", (4, 2, 0.1, 0.1, 0.4): "at least 0.5",
        (4, 2, 0.1, 0.1, float("inf")): "c = inf", (4000, 3000, 0.1, 0.1): "1e308",
        (4, 2, 1e-300, 0.1): "1e308",
    }.items():  # fmt: skip
        with pytest.raises(UserError, match=words):
            sizes.sizes(*arguments)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 20), step=st.floats(0.001, 10))
def test_online_descent_stays_below_its_bound_with_half_the_step(seed, steps, step):
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.standard_normal((steps, 3, 2)), rng.standard_normal((steps, 3))
    first, target = rng.standard_normal(2), rng.standard_normal(2) * step * steps
    record = online_descent.descend(slopes, offsets, first, step)
    regret, (distance, start, energy) = online_descent.sides(record, slopes, offsets, first, target, step)
    assert regret <= distance + start + energy / 2 + 1e-9


def test_half_the_step_is_the_best_constant():
    slope, step, steps = np.array([3.0, -1.0]), 0.2, 30
    for along in (0.0, 0.5):
        excess = online_descent.excess_of_equal_linear(slope, along, step, steps, (1, 1, 0.5))
        assert excess == pytest.approx(0, abs=1e-12)
        less = online_descent.excess_of_equal_linear(slope, along, step, steps, (1, 1, 0.45))
        assert less == pytest.approx(0.05 * step * 10)
    less = online_descent.excess_of_equal_linear(slope, 0.5, step, steps, (1, 0.9, 0.5))
    assert less == pytest.approx(0.1 * 0.5 * 10)


def test_the_second_route_to_the_sizes_rejects_neighbours():
    found = sizes.sizes(8, 3, 0.1, 0.1)
    assert oracle_sizes.is_least_width(8, 3, found.width, 0.1)
    assert not oracle_sizes.is_least_width(8, 3, found.width + 1, 0.1)
    assert not oracle_sizes.is_least_width(8, 3, found.width - 1, 0.1)
    assert oracle_sizes.is_least_steps(8, found.width, found.steps, 0.1)
    assert not oracle_sizes.is_least_steps(8, found.width, 2 * found.steps, 0.1)
    doubt = oracle_sizes.doubt(50, 4, 2, 7, 0.3)
    by_hand = 2 + (sizes.log_growth(100, 4, 2, 7) - 0.09 * 50 / 8) / log(2)
    assert doubt == pytest.approx(by_hand)


def test_orders_of_the_corollary_for_k_twice_log_n():
    found = sizes.sizes(2**40, 80, 0.1, 0.1)
    width, steps = sizes.corollary_sizes(2**40, 0.1, 2, printed=False)
    assert found.width / width == pytest.approx(64, rel=1e-3)
    assert found.steps / steps == pytest.approx(32, rel=1e-3)
