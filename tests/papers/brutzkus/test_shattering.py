"""Expressive power: the paper's construction, ours, and the exact VC dimension."""

from decimal import Decimal, localcontext
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.exact import pattern_sets
from whyconv.exact.pattern_sets import surjections
from whyconv.papers.brutzkus.exact import max_pooling, shattering


def test_vc_dimension_of_the_paper_s_sizes():
    assert [shattering.vc_dimension(n, 2 * n) for n in (2, 3, 4, 5)] == [4, 20, 82, 324]
    for n in range(2, 13):
        value = shattering.vc_dimension(n, 2 * n)
        assert value == 2 ** (2 * n - 2) + comb(2 * n - 2, n - 1) - 2
        assert value >= 2 ** (2 * n - 2) >= 2 ** (n - 1)


@pytest.mark.parametrize(("positions", "patterns"), [(2, 3), (3, 7), (6, 4), (4, 6)])
def test_vc_dimension_counts_the_possible_pattern_sets(positions, patterns):
    spurious = range(patterns - 2)
    sets = [c for size in range(1, positions) for c in combinations(spurious, size)]
    assert shattering.vc_dimension(positions, patterns) == 2 * len(sets)
    assert (
        shattering.vc_dimension(positions, patterns)
        == (pattern_sets.joint_law(positions, patterns) > 0).sum()
    )


def test_the_shattered_points_lie_in_the_support():
    points = shattering.shattered_points(4, np.array([0, 1] * 4))
    assert points.shape == (8, 4)
    assert points.min() == 0 and points.max() == 7
    assert len(np.unique(points[:, :-1], axis=0)) == 8
    assert ((points[:, :-1] >= 2).all(axis=1)).all() and set(points[:, -1]) == {0, 1}
    assert ((points[:, :-1] // 2) == [1, 2, 3]).all()


@settings(max_examples=25, deadline=None)
@given(positions=st.integers(2, 6), data=st.data())
def test_any_labelling_comes_out_of_equation_one(positions, data):
    size = 2 ** (positions - 1)
    labels = np.array(data.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=size, max_size=size)))
    alpha = shattering.coefficients(labels)
    for index in range(size):
        assert alpha.sum() - alpha[index] == pytest.approx(labels[size - 1 - index], abs=1e-9)
    np.testing.assert_allclose(alpha, shattering.coefficients_by_solving(labels), atol=1e-12)
    scores, readout = shattering.shattering_network(alpha, positions)
    points = shattering.shattered_points(positions, np.zeros(size, dtype=np.int64))
    values = max_pooling.forward(scores, readout, np.eye(2 * positions)[points])
    np.testing.assert_allclose(values, labels, atol=1e-11)


@given(seed=st.integers(0, 10**6), patterns=st.integers(3, 7))
def test_every_function_of_pattern_sets_is_a_network(seed, patterns):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, (2, 1 << (patterns - 2))).astype(float)
    values[:, 0] = 0
    before = values.copy()
    scores, readout = shattering.network_of(values)
    np.testing.assert_array_equal(pattern_sets.outputs(scores, readout), values)
    np.testing.assert_array_equal(values, before)


def test_unseen_mass_is_right_where_single_sets_are_rarer_than_rounding():
    """Another route, in 60 decimals; in floats 1 - q is 1 there, and nothing would ever be seen."""
    positions, patterns, samples = 32, 64, 10**18
    with localcontext(prec=60):
        total = Decimal(0)
        for size in range(1, positions):
            ways = Decimal(surjections(positions - 1, size)) / Decimal(patterns - 2) ** (positions - 1)
            total += comb(patterns - 2, size) * ways * ((1 - ways / 2).ln() * samples).exp()
    assert 0.01 < total < 0.99
    assert shattering.unseen_mass(positions, patterns, samples) == pytest.approx(float(total), rel=1e-9)


def test_unseen_mass_is_the_expected_error_of_the_memoriser():
    rng = np.random.default_rng(9)
    law = pattern_sets.joint_law(4, 6)
    missed = [law[pattern_sets.draw_counts(rng, 12, 4, 6) == 0].sum() for _ in range(3000)]
    standard_error = np.std(missed) / np.sqrt(3000)
    assert abs(np.mean(missed) - shattering.unseen_mass(4, 6, 12)) < 4 * standard_error
    assert shattering.unseen_mass(4, 6, 0) == pytest.approx(1)


def test_the_memoriser_needs_exponentially_many_examples():
    needed = [shattering.samples_for_error(n, 2 * n, 0.25) for n in (3, 4, 5, 6)]
    assert needed == [26, 104, 415, 1623]
    assert shattering.unseen_mass(5, 10, 415) <= 0.25 < shattering.unseen_mass(5, 10, 414)
