"""k-patterns as tables: codes, windows, targets, distributions, against their definitions bit by bit."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.errors import UserError
from whyconv.papers.malach.exact import k_patterns

SIZES = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


def test_the_cube_lists_all_words_in_the_order_of_binary_numbers():
    np.testing.assert_array_equal(k_patterns.cube(3), list(product([-1, 1], repeat=3)))


@settings(deadline=None)
@given(sizes=SIZES)
def test_every_window_of_every_input_has_its_code(sizes):
    n, k = sizes
    inputs, words, codes = k_patterns.cube(n), k_patterns.cube(k), k_patterns.window_codes(n, k)
    assert codes.shape == (2**n, n - k + 1)
    for j in range(n - k + 1):
        np.testing.assert_array_equal(words[codes[:, j]], inputs[:, j : j + k])


@settings(deadline=None)
@given(sizes=SIZES, data=st.data())
def test_the_label_depends_on_the_window_and_nothing_else(sizes, data):
    n, k = sizes
    position = data.draw(st.integers(1, n - k + 1))
    table = k_patterns.target("random", k, data.draw(st.integers(0, 99)))
    words = [tuple(word) for word in k_patterns.cube(k)]
    labels = k_patterns.labels(n, table, position)
    for x, label in zip(k_patterns.cube(n), labels, strict=True):
        assert label == table[words.index(tuple(x[position - 1 : position - 1 + k]))]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_named_targets(k):
    for code, z in enumerate(product([-1, 1], repeat=k)):
        assert k_patterns.target("parity", k)[code] == prod(z)
        assert k_patterns.target("and", k)[code] == (1 if all(bit == 1 for bit in z) else -1)
        assert k_patterns.target("majority", k)[code] == (1 if sum(z) > 0 else -1)
        assert k_patterns.target("dictator", k)[code] == z[0]
    signs = k_patterns.target("random", k, 7)
    assert set(signs) <= {-1.0, 1.0} and (k_patterns.target(list(signs), k) == signs).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_distributions_by_their_moments(n):
    inputs = k_patterns.cube(n)
    for law in ("uniform", "biased", "markov", "point"):
        weights = k_patterns.distribution(law, n)
        assert weights.sum() == pytest.approx(1, abs=1e-15) and weights.min() >= 0
        means = weights @ inputs
        np.testing.assert_allclose(means, {"biased": 0.5, "point": 1.0}.get(law, 0.0), atol=1e-15)
    biased, markov = k_patterns.distribution("biased", n), k_patterns.distribution("markov", n)
    for j in range(n - 1):
        assert biased @ (inputs[:, j] * inputs[:, j + 1]) == pytest.approx(0.25)
        assert markov @ (inputs[:, j] * inputs[:, j + 1]) == pytest.approx(0.5)


def test_what_is_refused():
    for n, k in ((3, 4), (3, 0), (0, 0)):
        with pytest.raises(UserError, match="1 <= k <= n"):
            k_patterns.window_count(n, k)
    with pytest.raises(UserError, match="numbered from 1 to n - k \\+ 1 = 3"):
        k_patterns.labels(4, k_patterns.target("and", 2), 4)
    with pytest.raises(UserError, match="xor"):
        k_patterns.target("xor", 2)
    with pytest.raises(UserError, match="4 entries"):
        k_patterns.target([1, -1], 2)
    with pytest.raises(UserError, match="gaussian"):
        k_patterns.distribution("gaussian", 2)
