"""Learning curves: what is complete, what is paired, what is refused."""

import math

import numpy as np
import pandas as pd
import pytest

from whyconv.measure.curves import Curve
from whyconv.measure.intervals import mean_interval

TABLE = pd.DataFrame(
    {
        "size": [8, 2, 2, 8, 4, 8],
        "run": [0, 1, 0, 1, 0, 2],
        "error": [0.1, 0.5, 0.3, 0.2, 0.4, 0.3],
        "other": ["x"] * 6,
    }
)


def curve():
    return Curve.from_table(TABLE, m="size", seed="run", value="error")


def test_a_table_and_a_mapping_give_the_same_curve_in_the_order_of_the_sizes():
    assert curve() == Curve({8: {0: 0.1, 1: 0.2, 2: 0.3}, 4: {0: 0.4}, 2: {0: 0.3, 1: 0.5}})
    assert curve().sizes == (2, 4, 8)
    assert curve().up_to(4).sizes == (2, 4)


def test_the_columns_have_names_by_default():
    table = pd.DataFrame({"m": [1], "seed": [7], "value": [0.25]})
    assert Curve.from_table(table) == Curve({1: {7: 0.25}})


def test_nothing_is_an_empty_curve():
    assert Curve.from_table(pd.DataFrame()) == Curve({}) == Curve({5: {}})
    assert Curve({}).sizes == Curve({}).seeds == ()
    assert Curve({}).means() == Curve({}).intervals() == {}


def test_a_size_and_seed_twice_is_refused_even_with_equal_risks():
    with pytest.raises(ValueError, match=r"m = 8 with seed 1 twice"):
        Curve.from_table(pd.DataFrame({"m": [8, 8], "seed": [1, 1], "value": [0.1, 0.1]}))


def test_a_size_below_one_is_refused():
    assert Curve({1: {0: 0.1}}).sizes == (1,)
    with pytest.raises(ValueError, match="m = 0"):
        Curve({0: {0: 0.1}})


def test_complete_keeps_the_sizes_with_every_expected_seed_and_these_seeds_only():
    assert curve().complete([0, 1]) == Curve({2: {0: 0.3, 1: 0.5}, 8: {0: 0.1, 1: 0.2}})
    assert curve().complete(range(3)).sizes == (8,)
    assert curve().complete(range(4)).sizes == ()
    assert curve().complete([1, 0]).seeds == (0, 1)


def test_seeds_and_array_need_the_same_seeds_at_every_size():
    with pytest.raises(ValueError, match=r"lacks seed 2 at m = 2; take complete"):
        _ = curve().seeds
    np.testing.assert_array_equal(
        Curve({4: {1: 0.4, 0: 0.3}, 2: {0: 0.1, 1: 0.2}}).array(), [[0.1, 0.3], [0.2, 0.4]]
    )


def test_means_are_exact_for_equal_risks_and_poisoned_by_what_is_not_finite():
    got = Curve({2: dict.fromkeys(range(7), 0.1), 3: {0: 0.1, 1: math.inf}, 4: {0: 0.25, 1: 0.75}}).means()
    assert (got[2], got[4]) == (0.1, 0.5)
    assert math.isnan(got[3])


def test_intervals_are_those_of_the_mean():
    got = curve().intervals(0.9)
    assert got[8] == mean_interval([0.1, 0.2, 0.3], 0.9)
    assert (got[4].low, got[4].high, got[4].count) == (-math.inf, math.inf, 1)


def test_differences_pair_what_both_have():
    other = Curve({8: {2: 0.05, 0: 0.1, 9: 5.0}, 4: {3: 0.1}, 16: {0: 0.0}})
    got = curve().differences(other, 0.9)
    assert list(got) == [8]
    assert got[8] == mean_interval([0.1 - 0.1, 0.3 - 0.05], 0.9)
    assert got[8].count == 2
