"""Intervals hold what they should; without the correction they would not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from test_audit import small

from whyconv.auditing import corrected, coverage
from whyconv.auditing.arms import GLOBAL_MAX, SHARED_MAX
from whyconv.auditing.order import chance, deviations, order_test
from whyconv.measure.intervals import rate_interval
from whyconv.trial import Row


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


@pytest.mark.parametrize(
    ("step", "why"), [(-0.03, ""), (0.03, "random orders do better: neighbours say the same")]
)
def test_an_order_that_one_network_with_one_window_sees_is_found(step, why):
    _, study = small(count=160, orders=39, windows=(3, 4, 5, 6), sizes=(60, 120))

    def row(point, seen):
        labels = point.labels
        rng = np.random.default_rng([labels["order"], labels["window"], len(labels["arm"])])
        error = 0.4 + 0.02 * rng.uniform(-1, 1)
        if seen and (labels["arm"], labels["window"], labels["order"]) == (GLOBAL_MAX, 5, 0):
            error = 0.4 + step
        return Row(point.trial.key, "", {}, {}, "ok", {"test_error": error})

    points = study.order_points()
    assert {point.labels["arm"] for point in points} == {SHARED_MAX, GLOBAL_MAX}
    rows = {point.trial.key: row(point, seen=True) for point in points}
    found = order_test(study, points, rows)
    assert (found.verdict, found.p, found.orders, found.arm) == ("matters", 1 / 40, 39, GLOBAL_MAX)
    assert found.here == 0.4 + step and found.permuted == pytest.approx(0.4, abs=0.01) and found.why == why
    unseen = order_test(study, points, {point.trial.key: row(point, seen=False) for point in points})
    assert unseen.verdict == "not seen" and unseen.p > 0.05
    last = points[-1].trial.key
    failed = {**rows, last: replace(rows[last], status="failed", error="no room")}
    less = {key: each for key, each in rows.items() if key != last}
    for lacking in (less, failed, {}):
        assert order_test(study, points, lacking).verdict == "not judged"
    none = study.model_copy(update={"orders": 0})
    assert order_test(none, none.order_points(), rows).verdict == "not judged"


def test_one_view_of_several_is_enough():
    rng = np.random.default_rng(0)
    blind, sees = 0.3 + 0.03 * rng.standard_normal((2, 40)), 0.4 + 0.03 * rng.standard_normal(40)
    sees[0] = 0.25  # far below its own orders, but not the least of all outcomes
    blind[:, 0] = 0.3
    outcomes = np.vstack([blind, sees])
    assert chance(deviations(blind).max(axis=0)) > 0.05
    assert chance(deviations(outcomes).max(axis=0)) == 1 / 40
