"""The rank of a matrix of whole numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyconv.exact.rank import rank_modulo


@given(seed=st.integers(0, 10**6), rank=st.integers(0, 5))
def test_rank_modulo_a_prime_is_the_rank(seed, rank):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-4, 5, (7, rank)) @ rng.integers(-4, 5, (rank, 6))
    assert rank_modulo(matrix) == np.linalg.matrix_rank(matrix)
