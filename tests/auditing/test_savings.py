"""Factors between learning curves: known ones are found, by another route too; verdicts; corrections."""

import math

import numpy as np
import pytest
from scipy import stats

from whyconv.auditing import corrected, forecast, savings
from whyconv.auditing.study import Audit

SIZES = np.array([32, 64, 128, 256, 512, 1024])


def curves(factor, noise=0.0, rounds=5, seed=0, exponent=0.5):
    """Errors c m^-1/2 of an arm and of one whose examples count ``factor`` times."""
    chance = np.random.default_rng(seed)
    shared = noise * chance.standard_normal((rounds, len(SIZES)))
    own = [noise * chance.standard_normal((rounds, len(SIZES))) for _ in range(2)]
    without, given = (4 * (f * SIZES) ** -exponent for f in (1.0, factor))
    return without + shared + own[0], given + shared + own[1]


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, 2.0, 4.0, 16.0])
def test_a_known_factor_is_found_exactly_at_measured_sizes(factor):
    found = savings.saving(*curves(factor), SIZES, 1 / 3)
    assert found.value == pytest.approx(factor)
    assert found.low == pytest.approx(factor) == found.high
    around = savings.gap(*curves(factor), SIZES, 1 / 3)
    assert around is not None and around.mean == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize("factor", [1 / 64, 64.0])
def test_beyond_the_measured_sizes_only_a_limit_is_known(factor):
    found = savings.saving(*curves(factor), SIZES, 1 / 3)
    assert math.isnan(found.value)
    if factor > 1:
        assert (found.low, found.high) == (32.0, math.inf)
        assert savings.decided(found, 0.0) == "saves"
    else:
        assert (found.low, found.high) == (0.0, pytest.approx(1 / 32))
        assert savings.decided(found, 0.0) == "costs"


def test_swapping_the_arms_inverts_factor_and_interval():
    a, b = curves(3.0, noise=0.004)
    there, back = savings.saving(a, b, SIZES, 0.3), savings.saving(b, a, SIZES, 0.3)
    assert there.value == pytest.approx(1 / back.value)
    assert (there.low, there.high) == (pytest.approx(1 / back.high), pytest.approx(1 / back.low))
    assert there.p == pytest.approx(back.p) and there.at == back.at


def test_the_interval_inverts_the_corrected_t_test():
    a, b = curves(3.0, noise=0.01, seed=3)
    found, ratio = savings.saving(a, b, SIZES, 0.3), 0.3
    inside = []
    for g in np.linspace(math.log(1 / 32), math.log(32), 2_001):
        logs, last = np.log(SIZES), math.log(SIZES[-1])
        if g >= 0:
            d = np.array([np.interp(last - g, logs, row) for row in b]) - a[:, -1]
        else:
            d = b[:, -1] - np.array([np.interp(last + g, logs, row) for row in a])
        error = d.std(ddof=1) * math.sqrt(1 / len(d) + ratio)
        if abs(d.mean()) <= stats.t.ppf(0.975, len(d) - 1) * error:
            inside.append(math.exp(g))
    assert found.low == pytest.approx(min(inside), rel=5e-3)
    assert found.high == pytest.approx(max(inside), rel=5e-3)


def test_equal_curves_cost_and_save_nothing():
    a, b = curves(1.0, noise=0.002, seed=5)
    found = savings.saving(a, b, SIZES, 1 / 3)
    assert found.low < 1 < found.high and savings.decided(found, 1.0) in ("no difference", "undecided")


def test_verdicts():
    def verdict(low, high, p):
        return savings.decided(savings.Factor(math.sqrt(low * high), low, high, p, 0.1), p)

    assert verdict(1.1, 3.0, 0.01) == "saves" and verdict(0.3, 0.9, 0.01) == "costs"
    assert verdict(1.1, 3.0, 0.06) == "undecided", "the adjusted test must agree"
    assert verdict(0.7, 1.4, 0.5) == "no difference" and verdict(0.6, 1.4, 0.5) == "undecided"
    assert verdict(1.1, 1.4, 0.2) == "no difference"


def test_what_would_decide_is_rounds_or_examples():
    chance = np.random.default_rng(0)
    noise = chance.standard_normal((5, 1))
    near = savings.what_would_decide(1.2 + noise - noise.mean(), np.zeros((5, 1)), 0.1, 0.1, 0.1)
    assert "rounds in all" in near
    far = savings.what_would_decide(0.01 + noise - noise.mean(), np.zeros((5, 1)), 0.1, 0.9, 0.9)
    assert "more examples" in far
    solved = savings.what_would_decide(np.zeros((5, 1)), np.zeros((5, 1)), 0.1, 0.9, 0.9)
    assert "fewer would tell them apart" in solved


def test_rounds_that_agree_exactly_promise_no_more_than_the_grain_allows():
    without, given = np.full((5, 1), 0.105), np.full((5, 1), 0.1)
    p = corrected.p_value(without[:, 0] - given[:, 0], 1 / 3, 1 / 67)
    assert "more examples" in savings.what_would_decide(without, given, 1 / 3, min(1, 3 * p), p, 1 / 67)
    assert "rounds in all" in savings.what_would_decide(without + 0.03, given, 0.01, 0.1, 0.1, 1 / 67)


def test_no_more_rounds_are_promised_than_an_audit_has():
    noise = np.random.default_rng(0).standard_normal((5, 1))
    noise, zero = noise - noise.mean(), np.zeros((5, 1))
    told = [savings.what_would_decide(s + noise, zero, 0.01, 0.1, 0.1) for s in np.arange(0.1, 1.0, 0.002)]
    rounds = [int(text.split()[1]) for text in told if text.startswith("about")]
    assert max(rounds) == savings.MOST_ROUNDS == Audit.model_fields["seeds"].default


def test_isotonic_is_the_nearest_falling_sequence():
    chance = np.random.default_rng(1)
    for _ in range(50):
        values = chance.standard_normal(6)
        found = savings.isotonic(values)
        assert (np.diff(found) <= 1e-12).all() and found.sum() == pytest.approx(values.sum())
        others = -np.sort(-chance.standard_normal((200, 6)), axis=1)
        assert ((others - values) ** 2).sum(axis=1).min() >= ((found - values) ** 2).sum() - 1e-12


def test_the_correction_is_that_of_nadeau_and_bengio():
    values, ratio = np.array([0.1, 0.2, 0.4, 0.3]), 0.5
    error = values.std(ddof=1) * math.sqrt(1 / 4 + 0.5)
    found = corrected.interval(values, ratio)
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 3) * error)
    assert corrected.p_value(values, ratio) == pytest.approx(2 * stats.t.sf(0.25 / error, 3))
    assert corrected.interval(values, 0.0).high == pytest.approx(
        stats.t.interval(0.95, 3, values.mean(), stats.sem(values))[1]
    )
    assert corrected.p_value([0.0, 0.0], 0.3) == 1


def test_rounds_that_agree_exactly_are_not_certain():
    assert corrected.p_value([0.2] * 5, 0.3) == 2**-4, "by their signs"
    one = corrected.p_value([0.01] * 5, 0.3, grain=0.01)
    assert one == pytest.approx(2 * stats.t.sf(1 / math.sqrt(0.2 + 0.3), 4)), "one example in a hundred"
    assert corrected.p_value([0.5] * 5, 0.3, grain=0.01) < 1e-6, "fifty of them"
    around = corrected.interval([0.0] * 5, 0.3, grain=0.01)
    assert around.high == pytest.approx(stats.t.ppf(0.975, 4) * 0.01 * math.sqrt(0.5))
    told = savings.saving(np.full((5, 2), 0.01), np.zeros((5, 2)), np.array([50, 100]), 0.3, grain=0.01)
    assert savings.decided(told, told.p) != "saves"


def test_holm_is_stepwise_and_keeps_the_order():
    assert corrected.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert corrected.holm([0.5, 0.9]) == [1.0, 1.0] and corrected.holm([]) == []


def test_a_law_is_found_and_the_forecast_ends_at_twice_the_data():
    law = forecast.fit(SIZES, 0.05 + 2.0 * SIZES**-0.5)
    assert (law.a, law.b, law.c) == (pytest.approx(0.05, abs=1e-6), pytest.approx(2.0), pytest.approx(0.5))
    errors = np.tile(0.05 + 2.0 * SIZES**-0.5, (4, 1))
    found = forecast.forecast(SIZES, errors, 0.3, target=0.05 + 2.0 * 1500**-0.5)
    assert found.m == 2048 and found.error == pytest.approx(0.05 + 2.0 * 2048**-0.5)
    assert found.needed in (1500, 1501) and found.low == pytest.approx(found.error)
    assert forecast.forecast(SIZES, errors, 0.3, target=0.06).needed is None, "beyond the cap"
    assert forecast.forecast(SIZES[:2], errors[:, :2], 0.3).error is None


def test_a_back_test_that_misses_widens_the_forecast():
    bent = np.tile(0.3 - 0.0001 * SIZES, (4, 1))
    found = forecast.forecast(SIZES, bent, 0.3)
    said = forecast.fit(SIZES[:-1], bent[0, :-1]).at(1024)
    assert found.error is not None and found.high is not None
    assert (
        found.high - found.error == pytest.approx(abs(said - bent[0, -1]))
        and "measured: 0.198" in found.backtest
    )


def test_rounds_that_agree_exactly_leave_an_interval_of_the_grain():
    sizes, grain = np.array([100, 200, 400]), 1 / 130
    without = np.tile([0.30, 0.20, 0.10], (3, 1))
    given = np.tile([0.28, 0.18, 0.08], (3, 1))
    found = savings.saving(without, given, sizes, 0.3, grain=grain)
    assert found.low < 1 < found.value < found.high
    assert found.low < found.value - 0.05
    around = savings.gap(without, given, sizes, 0.3, grain)
    assert around.low < 1 < around.high and around.mean == savings.gap(without, given, sizes, 0.3).mean
    assert savings.decided(found, found.p) != "saves"


def test_a_spread_above_the_grain_is_left_as_it_is(rng=np.random.default_rng(3)):
    errors = rng.normal(0.2, 0.02, (5, 3))
    deviations = errors - errors.mean(axis=0)
    assert np.array_equal(corrected.floored(deviations, 0.001), deviations)
    assert corrected.floored(deviations * 0, 0.01).std(axis=0, ddof=1) == pytest.approx([0.01] * 3)
    assert corrected.floored(deviations * 0, 0.01).sum(axis=0) == pytest.approx([0] * 3, abs=1e-15)
