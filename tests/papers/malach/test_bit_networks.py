"""Networks of bits: gradients against finite differences, and what permutations do to them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.papers.malach.exact.bit_networks import (
    BitNetwork,
    all_inputs,
    balanced,
    consecutive,
    descend_in_fractions,
    hinge,
    tanh_slope,
)


def network(kind, n_bits, k_window, seed, filters=3):
    rng = np.random.default_rng(seed)
    windows = np.arange(n_bits)[None] if kind == "fcn" else consecutive(n_bits, k_window)
    banks = len(windows) if kind == "lcn" else 1
    shape = (banks, filters, windows.shape[1])
    return BitNetwork(
        windows, rng.normal(size=shape), rng.normal(size=shape[:2]), rng.normal(size=(len(windows), filters))
    )


def word_for_word(net, x):
    """Definitions 1, 2 and 11 with loops."""
    total = 0.0
    for j, window in enumerate(net.windows):
        bank = j if len(net.filters) > 1 else 0
        for w, b, u in zip(net.filters[bank], net.bias[bank], net.readout[j], strict=True):
            total += u * np.tanh(sum(wi * x[i] for wi, i in zip(w, window, strict=True)) + b)
    return total


@pytest.mark.parametrize("kind", ["fcn", "cnn", "lcn"])
def test_values_are_the_definitions(kind):
    net = network(kind, 5, 3, 0)
    inputs = all_inputs(5)
    np.testing.assert_allclose(net.values(inputs), [word_for_word(net, x) for x in inputs], atol=1e-13)


def test_inputs_are_all_signs_in_the_order_of_their_codes():
    inputs = all_inputs(4)
    assert len(np.unique(inputs, axis=0)) == 16 and set(inputs.ravel()) == {-1.0, 1.0}
    np.testing.assert_array_equal(inputs[0], 1)
    np.testing.assert_array_equal(inputs[0b0001], [-1, 1, 1, 1])
    np.testing.assert_array_equal(inputs[0b0101], [-1, 1, -1, 1])


def test_all_windows_are_there():
    np.testing.assert_array_equal(consecutive(4, 3), [[0, 1, 2], [1, 2, 3]])
    assert len(consecutive(9, 9)) == 1 and consecutive(9, 4)[-1][-1] == 8


@pytest.mark.parametrize("kind", ["fcn", "cnn", "lcn"])
def test_the_gradient_is_the_difference_quotient_of_the_hinge_loss(kind):
    net = network(kind, 5, 3, 1)
    inputs = all_inputs(5)
    labels = inputs[:, :2].prod(axis=1)
    by_filter, by_readout = net.gradient(inputs, labels)
    assert by_filter.shape == net.filters.shape and by_readout.shape == net.readout.shape
    for name, gradient in (("filters", by_filter), ("readout", by_readout)):
        for index in np.ndindex(gradient.shape):
            losses = []
            for sign in (1, -1):
                moved = getattr(net, name).copy()
                moved[index] += sign * 1e-6
                losses.append(hinge(replace(net, **{name: moved}).values(inputs), labels))
            assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(gradient[index], abs=1e-8)


def test_at_the_kink_the_subgradient_is_minus_y():
    net = replace(network("fcn", 3, 3, 2), activation=np.ones_like, slope=np.zeros_like)
    net = replace(net, readout=np.array([[0.5, 0.25, 0.25]]))
    np.testing.assert_array_equal(net.gradient(all_inputs(3), np.ones(8))[1], [[-1, -1, -1]])
    net = replace(net, readout=net.readout + 1e-9)
    np.testing.assert_array_equal(net.gradient(all_inputs(3), np.ones(8))[1], [[0, 0, 0]])


def test_descent_moves_against_the_gradient_and_starts_at_the_start():
    net = network("cnn", 5, 2, 3)
    inputs = all_inputs(5)
    labels = inputs[:, 1:3].prod(axis=1)
    first, second, third = net.descend(inputs, labels, 0.1, 2)
    assert first is net
    np.testing.assert_array_equal(second.filters, net.filters - 0.1 * net.gradient(inputs, labels)[0])
    np.testing.assert_array_equal(third.readout, second.readout - 0.1 * second.gradient(inputs, labels)[1])


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(6)), seed=st.integers(0, 1000))
def test_a_permuted_fully_connected_network_walks_the_permuted_way(order, seed):
    net, inputs = network("fcn", 6, 6, seed), all_inputs(6)
    labels = np.where(np.random.default_rng(seed).random(64) < 0.5, 1.0, -1.0)
    twin = replace(net, filters=net.filters[:, :, order])
    for plain, permuted in zip(
        net.descend(inputs, labels, 0.1, 5), twin.descend(inputs[:, order], labels, 0.1, 5), strict=True
    ):
        np.testing.assert_allclose(plain.filters[:, :, order], permuted.filters, atol=1e-12)
        np.testing.assert_allclose(plain.values(inputs), permuted.values(inputs[:, order]), atol=1e-12)


def test_a_reversal_is_the_one_order_that_a_convolution_does_not_mind():
    net, inputs = network("cnn", 6, 3, 5), all_inputs(6)
    labels = inputs[:, 1:4].prod(axis=1)
    mirror = replace(net, filters=net.filters[:, :, ::-1], readout=net.readout[::-1])
    *_, plain = net.descend(inputs, labels, 0.2, 10)
    *_, mirrored = mirror.descend(inputs[:, ::-1], labels, 0.2, 10)
    np.testing.assert_allclose(plain.values(inputs), mirrored.values(inputs[:, ::-1]), atol=1e-12)


@pytest.mark.parametrize("kind", ["cnn", "lcn"])
def test_no_parameters_help_a_window_network_whose_windows_miss_the_parity(kind):
    inputs = all_inputs(6)
    labels = inputs[:, [0, 2, 4]].prod(axis=1)
    for seed in range(20):
        values = network(kind, 6, 3, seed).values(inputs)
        assert abs((values * labels).mean()) < 1e-14 and hinge(values, labels) >= 1 - 1e-14


def test_balanced_networks_are_zero_and_their_gradient_is_one_neurons():
    rng = np.random.default_rng(6)
    weights, inputs = rng.normal(size=(4, 5)), all_inputs(5)
    labels = inputs[:, :3].prod(axis=1)
    net = balanced(weights, 0.3, np.tanh, tanh_slope)
    np.testing.assert_allclose(net.values(inputs), 0, atol=1e-15)
    by_filter, by_readout = net.gradient(inputs, labels)
    for i, w in enumerate(weights):
        z = inputs @ w + 0.3
        np.testing.assert_allclose(
            by_filter[0, i], -(inputs * (labels * tanh_slope(z))[:, None]).mean(axis=0), atol=1e-15
        )
        assert by_readout[0, i] == pytest.approx(-(labels * np.tanh(z)).mean(), abs=1e-15)
    np.testing.assert_allclose(by_filter[0, 4:], -by_filter[0, :4], atol=1e-16)


def test_descent_in_fractions_is_descent():
    rng = np.random.default_rng(7)
    weights = [[Fraction(int(v), 32) for v in row] for row in rng.integers(-32, 33, (3, 4))]
    bias, readout = (
        [Fraction(1, 4), Fraction(3, 8), Fraction(0)],
        [Fraction(1, 4), Fraction(-1, 4), Fraction(1, 2)],
    )
    examples = [(x, x[1] * x[2]) for x in product((1, -1), repeat=4)]
    exact = descend_in_fractions(weights, bias, readout, examples, Fraction(1, 2), 5)
    inputs = np.array([x for x, _ in examples], dtype=float)
    net = BitNetwork(
        np.arange(4)[None],
        np.array(weights, dtype=float)[None],
        np.array([bias], dtype=float),
        np.array([readout], dtype=float),
        lambda z: np.clip(z, 0, 1),
        lambda z: ((z > 0) & (z < 1)).astype(float),
    )
    labels = np.array([y for _, y in examples], dtype=float)
    for plain, (w, u, values) in zip(net.descend(inputs, labels, 0.5, 5), exact, strict=True):
        np.testing.assert_allclose(plain.filters[0], np.array(w, dtype=float), atol=1e-14)
        np.testing.assert_allclose(plain.readout[0], np.array(u, dtype=float), atol=1e-14)
        np.testing.assert_allclose(plain.values(inputs), np.array(values, dtype=float), atol=1e-14)
    assert exact[5][0] != exact[0][0]
