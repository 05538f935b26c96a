"""Orders, juntas and parities, counted."""

from itertools import permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyconv.exact.rank import rank_modulo
from whyconv.papers.malach.exact import juntas
from whyconv.papers.malach.exact.bit_networks import all_inputs


@pytest.mark.parametrize("n_bits", range(1, 7))
def test_all_orders_are_all_permutations(n_bits):
    found = {tuple(order) for order in juntas.all_orders(n_bits).tolist()}
    assert found == set(permutations(range(n_bits))) and len(juntas.all_orders(n_bits)) == len(found)


def test_rotations_shift_every_bit():
    np.testing.assert_array_equal(juntas.rotations(3), [[0, 1, 2], [1, 2, 0], [2, 0, 1]])


@given(st.data())
def test_an_order_puts_the_set_where_it_is_asked_to(data):
    n_bits = data.draw(st.integers(1, 12))
    subset = sorted(data.draw(st.sets(st.integers(0, n_bits - 1), min_size=1)))
    first = data.draw(st.integers(0, n_bits - len(subset)))
    order = juntas.order_for(subset, n_bits, first)
    assert sorted(order) == list(range(n_bits))
    assert order[first : first + len(subset)].tolist() == subset


def test_window_masks_are_the_sets_that_windows_read():
    orders = juntas.all_orders(5)
    found = juntas.window_masks(orders, 2)
    assert found.shape == (120, 4)
    for order, row in zip(orders, found, strict=True):
        assert row.tolist() == [(1 << int(order[i])) + (1 << int(order[i + 1])) for i in range(4)]
    np.testing.assert_array_equal(juntas.masks(juntas.subsets(4, 2)), [3, 5, 9, 6, 10, 12])


@pytest.mark.parametrize(("n_bits", "k_window"), [(n, k) for n in range(1, 9) for k in range(1, n + 1)])
def test_hits_are_counted_exactly(n_bits, k_window):
    windows = juntas.window_masks(juntas.all_orders(n_bits), k_window)
    hits = (windows == (1 << k_window) - 1).sum(axis=1)
    assert hits.max() == 1
    assert hits.sum() == juntas.hit_orders(n_bits, k_window)
    orders = factorial(n_bits) * (n_bits - k_window + 1)
    assert juntas.hit_orders(n_bits, k_window) * comb(n_bits, k_window) == orders


def test_parities_are_products_and_hadamard_columns():
    sets = juntas.subsets(5, 3)
    table = juntas.parity_table(sets, all_inputs(5))
    x = all_inputs(5)
    np.testing.assert_array_equal(table[:, 1], x[:, 0] * x[:, 1] * x[:, 3])
    np.testing.assert_array_equal(table, juntas.walsh_columns(5, juntas.masks(sets)))


def test_parities_of_biased_bits_are_not_orthogonal():
    inputs = all_inputs(6)
    law = np.where(inputs > 0, 3, 1).prod(axis=1)
    table = juntas.parity_table(juntas.subsets(6, 2), inputs)
    gram = table.T @ (law[:, None] * table)
    assert (gram[~np.eye(15, dtype=bool)] > 0).all()


def test_level_weights_of_known_functions():
    x = all_inputs(3)
    np.testing.assert_allclose(juntas.level_weights(x.prod(axis=1), 3), [0, 0, 0, 1])
    np.testing.assert_allclose(juntas.level_weights(np.sign(x.sum(axis=1)), 3), [0, 3 / 4, 0, 1 / 4])
    np.testing.assert_allclose(juntas.level_weights(2 + x[:, 0], 3), [4, 1, 0, 0])


@given(seed=st.integers(0, 1000), n_bits=st.integers(1, 7))
def test_level_weights_sum_to_the_mean_square(seed, n_bits):
    table = np.random.default_rng(seed).normal(size=2**n_bits)
    assert juntas.level_weights(table, n_bits).sum() == pytest.approx((table**2).mean(), rel=1e-12, abs=0)


@pytest.mark.parametrize(("n_bits", "k_window"), [(3, 1), (4, 2), (6, 2), (5, 3)])
def test_juntas_span_what_the_statistical_query_dimension_counts(n_bits, k_window):
    tables = juntas.junta_tables(n_bits, k_window)
    assert len(tables) == comb(n_bits, k_window) * 2**2**k_window
    assert rank_modulo(tables) == juntas.sq_dimension(n_bits, k_window)
    assert juntas.sq_dimension(n_bits, k_window) >= comb(n_bits, k_window)
    parities = np.concatenate([juntas.masks(juntas.subsets(n_bits, i)) for i in range(k_window + 1)])
    columns = juntas.walsh_columns(n_bits, parities)
    assert columns.shape[1] == juntas.sq_dimension(n_bits, k_window)
    np.testing.assert_array_equal(columns.T @ columns, 2**n_bits * np.eye(columns.shape[1], dtype=int))


def test_every_junta_depends_on_its_own_bits_only():
    tables = juntas.junta_tables(4, 2)
    flipped = tables[:, np.arange(16) ^ 0b1000]
    assert (tables[:16] == flipped[:16]).all() and (tables[:16] == tables[:16, np.arange(16) ^ 0b0100]).all()
    assert not (tables == flipped).all()
