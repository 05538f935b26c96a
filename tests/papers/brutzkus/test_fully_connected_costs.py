"""Section 6: the least linear separator and the SGD updates of a leaky-ReLU network."""

import numpy as np
import pytest

from whyconv.exact.margins import max_margin
from whyconv.papers.brutzkus.exact import fully_connected, max_pooling


@pytest.mark.parametrize(("positions", "patterns"), [(2, 3), (3, 3), (3, 4), (4, 4), (5, 4), (6, 4)])
def test_the_least_squared_norm_is_twice_the_positions(positions, patterns):
    indices, labels = max_pooling.support(positions, patterns)
    inputs = np.eye(patterns)[indices].reshape(len(labels), -1)
    assert max_margin.least_norm(labels[:, None] * inputs).norm2 == pytest.approx(2 * positions, abs=1e-8)
    assert fully_connected.linear_certificate(positions, range(positions)) == (2 * positions, 2 * positions)
    assert (inputs**2).sum(axis=1).max() == positions


def test_a_pattern_that_stays_is_cheap():
    assert fully_connected.linear_certificate(7, [0]) == (2, 2)
    assert fully_connected.linear_certificate(7, [1, 4]) == (4, 4)


def test_the_update_bound_by_hand():
    assert fully_connected.update_bound(6.0, 3.0, slope=0.5, step=4.0, start=0.0) == pytest.approx(
        6 * 3.5 / 0.25
    )
    lifted = fully_connected.update_bound(4.0, 3.0, slope=0.5, step=4.0, start=0.25)
    assert lifted == pytest.approx(4 * 3.5 / 0.25 + 2 * 2 * 0.25 / 2)


def test_the_leaky_gradient_is_the_slope_of_the_output():
    rng = np.random.default_rng(1)
    weights, readout, point = rng.standard_normal((5, 4)), rng.standard_normal(5), rng.standard_normal(4)
    by_hand = sum(a * max(0.3 * (w @ point), w @ point) for w, a in zip(weights, readout, strict=True))
    assert fully_connected.leaky_values(weights, readout, point[None], 0.3)[0] == pytest.approx(by_hand)
    gradient = np.zeros_like(weights)
    for spot in np.ndindex(weights.shape):
        nudge = np.zeros_like(weights)
        nudge[spot] = 1e-6
        high, low = (
            fully_connected.leaky_values(weights + side * nudge, readout, point[None], 0.3)[0]
            for side in (1, -1)
        )
        gradient[spot] = (high - low) / 2e-6
    exact = fully_connected.leaky_gradient(weights, readout, point, 0.3)
    np.testing.assert_allclose(exact, gradient, atol=1e-8)


@pytest.mark.parametrize("positions", [2, 5, 9])
@pytest.mark.parametrize("step", [1.0, 100.0])
def test_updates_stay_within_the_bound(positions, step):
    rng = np.random.default_rng(positions)
    updates = fully_connected.count_updates(rng, positions, 4, step=step)
    allowed = fully_connected.update_bound(2 * positions, positions, slope=0.5, step=step, start=1e-3)
    assert positions <= updates <= allowed


def test_updates_grow_with_the_square_of_the_positions():
    few, many = (
        np.mean([fully_connected.count_updates(np.random.default_rng(s), n, 5) for s in range(3)])
        for n in (6, 12)
    )
    assert 3 < many / few < 5


@pytest.mark.parametrize("positions", [2, 5])
@pytest.mark.parametrize("slope", [0.1, 1.0])
def test_inner_products_alone_make_the_same_updates(positions, slope):
    plain, kernel = (
        count(np.random.default_rng(5), positions, 4, neurons=6, slope=slope, step=2.0)
        for count in (fully_connected.count_updates, fully_connected.count_updates_by_kernel)
    )
    assert plain == kernel > 1


def test_copies_of_neurons_act_as_one():
    few = fully_connected.count_updates(np.random.default_rng(6), 4, 5, neurons=4)
    assert fully_connected.count_updates(np.random.default_rng(6), 4, 5, neurons=12, copies=3) == few


def test_the_update_bound_solves_its_inequality():
    exact = fully_connected.update_bound_by_solving(6.0, 3.0, 0.5, 4.0, 0.0)
    assert exact == pytest.approx(6 * 3.5 / 0.25, rel=1e-10)
    lifted = fully_connected.update_bound_by_solving(6.0, 3.0, 0.5, 4.0, 1.0)
    assert exact < lifted < fully_connected.update_bound(6.0, 3.0, 0.5, 4.0, 1.0)
