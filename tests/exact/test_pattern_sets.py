"""Pattern sets against brute force over every input of the support, and against sampling."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.exact import pattern_sets
from whyconv.papers.brutzkus.exact import max_pooling


@pytest.mark.parametrize(("positions", "patterns"), [(2, 3), (3, 4), (4, 5), (5, 4), (4, 6), (2, 6)])
def test_law_is_the_frequency_over_all_sequences(positions, patterns):
    sequences = list(product(range(patterns - 2), repeat=positions - 1))
    tally = Counter(sum(1 << j for j in set(sequence)) for sequence in sequences)
    expected = [tally[mask] / len(sequences) for mask in range(1 << (patterns - 2))]
    np.testing.assert_allclose(pattern_sets.law(positions, patterns), expected, rtol=1e-15)


@given(positions=st.integers(2, 30), patterns=st.integers(3, 12))
def test_law_sums_to_one_and_knows_the_impossible_sets(positions, patterns):
    law = pattern_sets.law(positions, patterns)
    size = np.bitwise_count(np.arange(len(law)))
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert ((law > 0) == ((size >= 1) & (size <= positions - 1))).all()
    np.testing.assert_array_equal(pattern_sets.joint_law(positions, patterns), [law / 2, law / 2])


def test_surjections_of_small_numbers():
    assert [pattern_sets.surjections(4, s) for s in range(6)] == [0, 1, 14, 36, 24, 0]


@given(seed=st.integers(0, 10**6), size=st.integers(1, 6), channels=st.integers(1, 4))
def test_subset_max_is_the_maximum_with_floor_zero(seed, size, channels):
    scores = np.random.default_rng(seed).standard_normal((channels, size))
    table = pattern_sets.subset_max(scores)
    for mask in range(1 << size):
        members = [j for j in range(size) if mask >> j & 1]
        expected = [max([0.0, *row[members]]) for row in scores]
        np.testing.assert_array_equal(table[:, mask], expected)


def _slow_network(filters, readout, x):
    """Eq. 1 in plain Python."""
    return sum(
        a * max(max(0.0, float(w @ pattern)) for pattern in x) for w, a in zip(filters, readout, strict=True)
    )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), positions=st.integers(2, 4), patterns=st.integers(3, 5))
def test_exact_error_is_the_error_over_the_whole_support(seed, positions, patterns):
    rng = np.random.default_rng(seed)
    basis = max_pooling.random_patterns(rng, patterns, patterns + 2)
    filters, readout = rng.standard_normal((5, patterns + 2)), rng.standard_normal(5)
    indices, labels = max_pooling.support(positions, patterns)
    wrong = [
        (1 if _slow_network(filters, readout, basis[row]) > 0 else -1) != label
        for row, label in zip(indices, labels, strict=True)
    ]
    exact = pattern_sets.exact_error(filters @ basis.T, readout, positions)
    assert exact == pytest.approx(np.mean(wrong), abs=1e-12)


def test_exact_error_agrees_with_sampling():
    rng = np.random.default_rng(3)
    scores, readout = rng.standard_normal((40, 9)), rng.standard_normal(40)
    indices, labels = max_pooling.sample(rng, 20_000, 6, 9)
    values = max_pooling.forward(scores, readout, np.eye(9)[indices])
    exact = pattern_sets.exact_error(scores, readout, 6)
    standard_error = np.sqrt(exact * (1 - exact) / 20_000)
    assert 0.1 < exact < 0.9
    assert abs(max_pooling.error_rate(values, labels) - exact) < 4 * standard_error


def test_the_sign_of_zero_is_minus_one():
    detects_positive = np.array([[1.0, 0.0, 0.0]])
    assert pattern_sets.exact_error(detects_positive, np.array([1.0]), 3) == 0
    assert pattern_sets.exact_error(detects_positive, np.array([-1.0]), 3) == 0.5
    assert pattern_sets.exact_error(detects_positive, np.array([0.0]), 3) == 0.5
    assert max_pooling.error_rate(np.array([0.0, 0.0]), np.array([1, -1])) == 0.5
    assert max_pooling.error_rate(np.array([0.0]), np.array([-1])) == 0


def test_an_output_of_uncertain_sign_is_right_in_the_least_error_and_wrong_in_the_largest():
    rng = np.random.default_rng(5)
    scores, readout = rng.standard_normal((30, 6)), rng.standard_normal(30)
    exact = pattern_sets.exact_error(scores, readout, 4)
    assert pattern_sets.error_range(scores, readout, 4) == pytest.approx((exact, exact), abs=1e-12)
    pooled = pattern_sets.features(scores)
    cosine = np.abs(pooled @ readout) / (np.linalg.norm(pooled, axis=2) * np.linalg.norm(readout))
    possible = pattern_sets.law(4, 6) > 0
    nearest = np.sort(cosine[:, possible].ravel())
    low, high = pattern_sets.error_range(scores, readout, 4, (nearest[0] + nearest[1]) / 2)
    label, mask = np.argwhere(cosine == nearest[0])[0]
    assert low <= exact <= high
    assert high - low == pytest.approx(pattern_sets.joint_law(4, 6)[label, mask], abs=1e-12)
    assert pattern_sets.error_range(scores, readout, 4, 1.0) == pytest.approx((0, 1), abs=1e-12)


def test_a_tie_up_to_rounding_has_no_certain_sign_and_no_feature_has_a_certain_one():
    pooled = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.4], [0.0, 0.0, 0.0]])
    readout = np.array([1.0, 1.0, -1.0])  # 0.1 + 0.2 - 0.3 is 5.6e-17 here
    assert pooled[0] @ readout != 0
    np.testing.assert_array_equal(pattern_sets.unsure(pooled, readout, 0.0), [True, False, False])
    assert not pattern_sets.unsure(pooled, 0 * readout, 0.5).any()


def test_features_and_outputs_agree_whatever_the_block(monkeypatch):
    rng = np.random.default_rng(4)
    scores, readout = rng.standard_normal((11, 6)), rng.standard_normal(11)
    whole = pattern_sets.outputs(scores, readout)
    np.testing.assert_allclose(pattern_sets.features(scores) @ readout, whole, atol=1e-13)
    monkeypatch.setattr(pattern_sets, "_BLOCK", 48)
    np.testing.assert_allclose(pattern_sets.outputs(scores, readout), whole, atol=1e-13)


def test_twenty_patterns_are_enumerated():
    scores = np.concatenate([np.eye(20)[:2], np.zeros((1, 20))])
    assert pattern_sets.exact_error(scores, np.array([1.0, -1.0, 1.0]), 10) == 0
    assert pattern_sets.exact_error(scores, np.array([-1.0, 1.0, 1.0]), 10) == pytest.approx(1)


def test_counts_of_inputs_are_counts_of_their_sets():
    indices = np.array([[0, 2, 3], [3, 0, 2], [1, 2, 2], [4, 4, 1]])
    counts = pattern_sets.count(indices, np.array([1, 1, -1, -1]), 5)
    expected = np.zeros((2, 8), dtype=int)
    expected[0, 0b011], expected[1, 0b001], expected[1, 0b100] = 2, 1, 1
    np.testing.assert_array_equal(counts, expected)


def test_drawn_counts_follow_the_law():
    counts = pattern_sets.draw_counts(np.random.default_rng(5), 1_000_000, 4, 5)
    law = pattern_sets.joint_law(4, 5)
    assert counts.sum() == 1_000_000
    assert (counts[law == 0] == 0).all()
    deviation = (counts - 1e6 * law)[law > 0] / np.sqrt(1e6 * law * (1 - law))[law > 0]
    assert np.abs(deviation).max() < 4.5
