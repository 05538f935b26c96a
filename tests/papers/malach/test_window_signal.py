"""What windows see of a parity and of a majority."""

from math import comb

import numpy as np
import pytest

from whyconv.papers.malach.exact import juntas, k_patterns, window_signal
from whyconv.papers.malach.exact.bit_networks import BitNetwork, all_inputs

SUBSET = np.array([1, 2, 4])


def test_targets():
    bits = np.array([[1, 1, -1], [-1, -1, 1], [-1, -1, -1]])
    assert window_signal.parity(bits).tolist() == [-1, 1, -1]
    assert window_signal.majority(bits).tolist() == [1, -1, -1]
    assert window_signal.majority(np.array([[1, -1]])).tolist() == [-1]


@pytest.mark.parametrize("name", ["parity", "majority"])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_targets_are_those_of_the_k_patterns(name, size):
    words = k_patterns.cube(size)
    np.testing.assert_array_equal(getattr(window_signal, name)(words), k_patterns.target(name, size))


def test_the_papers_filters_see_the_integers():
    """dL/du by backpropagation with all 2^k filters +-1/k, b = 1/k - 1 and clipped ReLU."""
    windows = juntas.subsets(6, 3)
    filters = all_inputs(3)[None] / 3
    inputs = all_inputs(6)
    for target in (window_signal.parity, window_signal.majority):
        net = BitNetwork(
            windows,
            filters,
            np.full((1, 8), 1 / 3 - 1),
            np.zeros((20, 8)),
            lambda z: np.clip(z, 0, 1),
            lambda z: ((z > 0) & (z < 1)).astype(float),
        )
        by_readout = np.abs(net.gradient(inputs, target(inputs[:, SUBSET]))[1]).max(axis=1)
        counted = window_signal.in_integers(target, SUBSET, windows, 6)
        np.testing.assert_allclose(by_readout * 3 * 2**6, counted, atol=1e-12)


@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_a_parity_is_seen_by_windows_that_contain_it_and_by_no_other(width):
    windows = juntas.subsets(7, width)
    inside = np.array([set(SUBSET.tolist()) <= set(row) for row in windows.tolist()])
    counted = window_signal.in_integers(window_signal.parity, SUBSET, windows, 7)
    np.testing.assert_array_equal(counted > 0, inside)
    np.testing.assert_array_equal(counted[inside], 2 ** (7 - width))
    signal = window_signal.by_backpropagation(window_signal.parity, SUBSET, windows, 7, 0)
    assert signal[~inside].max() < 1e-15
    assert not inside.any() or signal[inside].min() > 1e-3


def test_a_majority_is_seen_by_windows_that_meet_it():
    windows = juntas.subsets(7, 3)
    meets = np.array([bool(set(SUBSET.tolist()) & set(row)) for row in windows.tolist()])
    counted = window_signal.in_integers(window_signal.majority, SUBSET, windows, 7)
    np.testing.assert_array_equal(counted > 0, meets)
    signal = window_signal.by_backpropagation(window_signal.majority, SUBSET, windows, 7, 0)
    np.testing.assert_array_equal(signal > 1e-12, meets)
    assert meets.mean() == pytest.approx(1 - comb(4, 3) / comb(7, 3))


def test_orders_that_show_a_target():
    assert (
        window_signal.orders_that_show(window_signal.parity, SUBSET, 6, 3) == juntas.hit_orders(6, 3) == 144
    )
    assert window_signal.orders_that_show(window_signal.majority, SUBSET, 6, 3) == 720


def test_the_aligned_window_of_ten_bits_has_one_in_k_two_to_the_k():
    windows = juntas.subsets(10, 3)
    counted = window_signal.in_integers(window_signal.parity, SUBSET, windows, 10)
    assert counted.max() / (3 * 2**10) == pytest.approx(1 / 24)
