"""Intervals hold what they should; without the correction they would not."""

import numpy as np
import pytest
from scipy import stats

from whyconv.auditing import corrected, coverage
from whyconv.auditing.order import chance, deviations
from whyconv.measure.intervals import rate_interval


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_of_rounds_on_one_data_set_cover(grouped, monkeypatch):
    monkeypatch.setattr(coverage, "TRUTHS", 300)
    hits = coverage.covered(60, grouped=grouped, seed=7)
    least = int(stats.binom.ppf(0.001, 60, 0.95))
    assert min(hits.values()) >= least, hits


def test_without_the_correction_they_do_not(monkeypatch):
    monkeypatch.setattr(coverage, "TRUTHS", 300)
    monkeypatch.setattr(
        corrected, "quantile", lambda n, ratio, level=0.95: stats.t.ppf((1 + level) / 2, n - 1)
    )
    assert coverage.covered(60, seed=7)["error"] < 51


@pytest.mark.long
@pytest.mark.parametrize("grouped", [False, True])
def test_coverage_on_a_thousand_populations(grouped):
    for name, hits in coverage.covered(1000, grouped=grouped, seed=11).items():
        assert rate_interval(hits, 1000).high >= 0.93, (name, hits)


@pytest.mark.parametrize("views", [1, 4])
def test_the_order_test_is_two_sided_and_exact(views):
    """Of independent or equal views: the order as it is is found in one of twenty, never more."""
    rng = np.random.default_rng(views)
    for alike in (0.0, 1.0):
        draws = rng.standard_normal((4000, views, 40)) + alike * 9 * rng.standard_normal((4000, 1, 40))
        found = [chance(deviations(each).max(axis=0)) for each in draws]
        share = np.mean(np.array(found) <= 0.05 + 1e-9)
        assert abs(share - 0.05) < 0.012, (views, alike)
    for here in (0.0, 2.0):
        others = 1 + 0.1 * rng.standard_normal((views, 39))
        assert chance(deviations(np.c_[np.full(views, here), others]).max(axis=0)) == 1 / 40
    assert chance(deviations(np.ones((views, 40))).max(axis=0)) == 1, "ties are no evidence"


def test_one_view_of_several_is_enough():
    rng = np.random.default_rng(0)
    blind, sees = 0.3 + 0.03 * rng.standard_normal((2, 40)), 0.4 + 0.03 * rng.standard_normal(40)
    sees[0] = 0.25  # far below its own orders, but not the least of all outcomes
    blind[:, 0] = 0.3
    outcomes = np.vstack([blind, sees])
    assert chance(deviations(blind).max(axis=0)) > 0.05
    assert chance(deviations(outcomes).max(axis=0)) == 1 / 40
