"""The plain network and its inputs: what section 3 says of them."""

import numpy as np
import pytest

from whyconv.papers.brutzkus.exact import max_pooling


def test_patterns_are_orthonormal_and_uniform():
    basis = max_pooling.random_patterns(np.random.default_rng(0), 4, 7)
    assert basis.shape == (4, 7)
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-14)
    corner = [max_pooling.random_patterns(np.random.default_rng(s), 1, 3)[0, 0] for s in range(600)]
    assert abs(np.mean(corner)) < 4 * np.sqrt(1 / 3 / 600)
    assert np.mean(np.square(corner)) == pytest.approx(1 / 3, abs=0.05)


def test_a_sample_has_one_discriminative_pattern_at_a_uniform_place():
    indices, labels = max_pooling.sample(np.random.default_rng(1), 6000, 5, 6)
    assert ((indices < 2).sum(axis=1) == 1).all()
    place = (indices < 2).argmax(axis=1)
    np.testing.assert_array_equal(indices[np.arange(6000), place], np.where(labels == 1, 0, 1))
    assert np.abs(np.bincount(place) - 1200).max() < 4 * np.sqrt(6000 * 0.16)
    assert abs(labels.mean()) < 4 / np.sqrt(6000)
    spurious = np.bincount(indices[indices >= 2] - 2)
    assert np.abs(spurious - 6000).max() < 4 * np.sqrt(24_000 * 3 / 16)


@pytest.mark.parametrize(("positions", "patterns"), [(2, 3), (3, 4), (4, 5)])
def test_the_support_is_complete_and_without_repetition(positions, patterns):
    indices, labels = max_pooling.support(positions, patterns)
    assert len(indices) == 2 * positions * (patterns - 2) ** (positions - 1)
    assert len(np.unique(indices, axis=0)) == len(indices)
    assert ((indices < 2).sum(axis=1) == 1).all()
    np.testing.assert_array_equal((indices == 0).any(axis=1), labels == 1)


def test_forward_is_equation_one():
    filters, readout = np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([2.0, 5.0])
    inputs = np.array([[[3.0, 1.0], [-1.0, 4.0]], [[-2.0, -7.0], [0.5, 1.0]], [[-1.0, 1.0], [-2.0, 2.0]]])
    np.testing.assert_array_equal(max_pooling.pooled(filters, inputs), [[3, 0], [0.5, 7], [0, 0]])
    np.testing.assert_array_equal(max_pooling.forward(filters, readout, inputs), [6, 36, 0])
