"""Built runs: they satisfy the conditions, both trajectories agree, and copies are copies."""

import numpy as np
import pytest

from whyconv.papers.brutzkus.exact import bounds, extremal, first_layer, max_pooling


def test_copies_are_so_many_equal_filters():
    start = np.array([[0.3, -0.1, 0.2], [-0.2, 0.4, 0.1]])
    signs, copies = np.array([1.0, -1.0]), np.array([3, 2])
    schedule = first_layer.Schedule(5, 6, 0.4, 1.0)
    indices, labels = max_pooling.sample(np.random.default_rng(0), 9, 3, 3)
    inputs = np.eye(3)[indices]
    few = first_layer.descend_on_inputs(inputs, labels, start, signs, schedule, copies)
    many = first_layer.descend_on_inputs(
        inputs, labels, np.repeat(start, copies, axis=0), np.repeat(signs, copies), schedule
    )
    np.testing.assert_allclose(np.repeat(few, copies, axis=1), many, atol=1e-14)


@pytest.mark.parametrize("own", [0, 1])
def test_the_slowest_growth_has_a_third_of_its_class_and_only_lucky_filters(own):
    run = extremal.slowest_growth(own, 1, 2, steps=5)
    assert run.class_share == pytest.approx(1 / 3)
    assert run.lucky[own].all() and run.copies == bounds.least_channels(4)
    assert run.disagreement < 1e-12
    growth = run.scores[-1, 0, own] / (5 * run.schedule.step)
    assert 0.16 < growth < 1 / 6 + 0.005


def test_starts_lie_on_the_sphere_within_the_range_of_lucky_filters():
    for run, signs in (extremal.least_margin(5, 4), extremal.largest_product(5, 4)):
        np.testing.assert_allclose(np.linalg.norm(run.start, axis=1), run.schedule.radius)
        low, high = bounds.lucky_range(run.schedule.channels, 4)
        for luck, sign in zip(run.lucky, (1, -1), strict=True):
            assert low <= run.copies[luck].sum() <= high
            assert (signs[luck] == sign).all()
        assert run.copies.sum() <= run.schedule.channels and run.class_share >= 1 / 3


def test_more_filters_than_the_network_has_are_refused():
    with pytest.raises(ValueError, match="more filters"):
        extremal.grouped(3, 3, 2, [((1.0, 0, 0), 1, 218)], (1, 1), steps=1)
