"""The margin bound's constants."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyconv.papers.brutzkus.exact import bounds


def test_the_bound_by_hand():
    delta = 2 * exp(-2)
    assert bounds.hard_margin_bound(4.0, 100, delta) == pytest.approx((2 * 2 + 3 * 2) / 10)
    assert bounds.samples_needed(4.0, 0.9999, delta) == 101


def test_the_proof_s_constant():
    assert bounds.proved_norm_product(3) == 153_600
    assert bounds.samples_needed(bounds.proved_norm_product(3), 1.0, 0.05) == 3_426_508


@given(st.floats(1, 1e6), st.floats(0.01, 1), st.floats(0.001, 0.5))
def test_samples_needed_are_enough_and_few(product, level, delta):
    needed = bounds.samples_needed(product, level, delta)
    assert bounds.hard_margin_bound(product, needed, delta) <= level * (1 + 1e-12)
    assert bounds.hard_margin_bound(product, needed - 1, delta) >= level * (1 - 1e-12)
