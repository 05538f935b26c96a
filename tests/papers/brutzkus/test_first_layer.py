"""First-layer descent: the update is the gradient, and the two routes walk the same way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.exact import pattern_sets
from whyconv.papers.brutzkus.exact import first_layer, layerwise, max_pooling


def _loss(filters, readout, inputs, labels):
    return np.logaddexp(0, -labels * max_pooling.forward(filters, readout, inputs)).mean()


def test_a_step_goes_down_the_gradient():
    rng = np.random.default_rng(0)
    schedule = first_layer.Schedule(channels=4, steps=1, step=0.3, radius=1.0)
    filters, readout = first_layer.initial(rng, schedule, 5)
    basis = max_pooling.random_patterns(rng, 4, 5)
    indices, labels = max_pooling.sample(rng, 12, 3, 4)
    inputs = max_pooling.embed(indices, basis)
    gradient = np.zeros_like(filters)
    for spot in np.ndindex(filters.shape):
        nudge = np.zeros_like(filters)
        nudge[spot] = 1e-6
        high, low = (_loss(filters + side * nudge, readout, inputs, labels) for side in (1, -1))
        gradient[spot] = (high - low) / 2e-6
    after = first_layer.descend_on_inputs(inputs, labels, filters, readout, schedule)
    np.testing.assert_allclose(after[1], filters - 0.3 * gradient, atol=1e-8)
    counts = pattern_sets.count(indices, labels, 4)
    by_sets = first_layer.descend_on_sets(counts, filters @ basis.T, readout, schedule)
    np.testing.assert_allclose(by_sets[1], after[1] @ basis.T, atol=1e-14)


@settings(max_examples=10, deadline=None)
@given(dim=st.integers(3, 5), fewer=st.integers(0, 2), positions=st.integers(2, 5), seed=st.integers(0, 99))
def test_both_routes_give_one_trajectory(dim, fewer, positions, seed):
    run = layerwise.run(dim, max(3, dim - fewer), positions, half=9, steps=4, seed=seed)
    assert run.disagreement < 1e-12
    outside = np.eye(dim) - run.basis.T @ run.basis
    np.testing.assert_allclose(run.filters[-1] @ outside, run.start @ outside, atol=1e-18)


def test_the_schedule_is_the_theorem_s():
    schedule = first_layer.Schedule.of_theorem(3, 9)
    assert (schedule.channels, schedule.steps) == (217, 9)
    assert schedule.step == pytest.approx(1 / 8680, rel=1e-15, abs=0)
    assert schedule.radius == pytest.approx(schedule.step / 200, rel=1e-15, abs=0)


def test_the_start_lies_on_the_sphere_with_fair_signs():
    filters, readout = first_layer.initial(
        np.random.default_rng(2), first_layer.Schedule(4000, 1, 1.0, 0.25), 6
    )
    np.testing.assert_allclose(np.linalg.norm(filters, axis=1), 0.25)
    assert set(readout) == {1.0, -1.0} and abs(readout.mean()) < 4 / np.sqrt(4000)
    assert np.abs(filters.mean(axis=0)).max() < 4 * 0.25 / np.sqrt(6 * 4000)


def test_luck_by_its_definition():
    scores = np.array([[2.0, 9, 1], [2, 9, 3], [-1, -1, -2], [1, 2, 1.5], [5, 4, -1], [0, 1, -1]])
    positive, negative = first_layer.lucky(scores, np.ones(6))
    assert positive.tolist() == [True, False, False, False, True, False] and not negative.any()
    positive, negative = first_layer.lucky(scores, -np.ones(6))
    assert negative.tolist() == [True, True, False, True, True, True] and not positive.any()


def test_broken_runs_differ_in_the_break_alone():
    honest, large = layerwise.run(3, 3, 3), layerwise.run(3, 3, 3, radius_factor=1000.0)
    np.testing.assert_allclose(large.start, 1000 * honest.start)
    np.testing.assert_array_equal(large.first[0], honest.first[0])
    few = layerwise.run(3, 3, 3, positive_share=0.1)
    assert few.class_share == pytest.approx(0.1)
    assert honest.pattern_dim == honest.patterns == 3


def test_rows_of_the_support_are_signed_features_of_possible_sets():
    scores = np.random.default_rng(3).standard_normal((6, 5))
    rows = layerwise.support_rows(scores, 3)
    indices, labels = max_pooling.support(3, 5)
    plain = labels[:, None] * max_pooling.pooled(scores, np.eye(5)[indices])
    np.testing.assert_allclose(
        np.unique(rows.round(12), axis=0), np.unique(plain.round(12), axis=0), atol=1e-11
    )
