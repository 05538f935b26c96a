"""Intervals hold what they should; without the correction they would not."""

import numpy as np
import pytest
from scipy import stats

from whyconv.auditing import corrected, coverage
from whyconv.auditing.order import two_sided
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


def test_the_order_test_is_two_sided_and_exact():
    chance = np.random.default_rng(0)
    found = [two_sided(chance.standard_normal(), chance.standard_normal(39)) for _ in range(4000)]
    share = np.mean(np.array(found) <= 0.05 + 1e-9)
    assert abs(share - 0.05) < 0.012
    assert two_sided(0.0, np.ones(39)) == two_sided(2.0, np.ones(39)) == pytest.approx(0.05)
    assert two_sided(1.0, np.ones(39)) == 1, "ties are no evidence"
