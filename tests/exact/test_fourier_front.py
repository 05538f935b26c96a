"""What a user meets: the number type, the choice of engine, the read-outs, and the refusals."""

import subprocess
import sys
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.errors import UserError
from whyconv.exact import (
    Scaled,
    Signs,
    choose,
    clip,
    coefficient,
    expected_square,
    fourier_gap,
    level_weights,
    on_lattice,
    partials,
    piecewise_linear,
)
from whyconv.exact.fourier import trapezoid
from whyconv.exact.fourier.activations import NAMED, resolve

GAUSSIAN = np.random.default_rng(1).standard_normal(200)


def test_scaled_reaches_below_doubles():
    tiny = Scaled(-0.5, -1000.0)
    assert tiny.log10 == pytest.approx(np.log10(0.5) - 1000 / np.log(10), rel=1e-12, abs=0)
    assert str(tiny) == "-2.54e-435"
    assert tiny.value == 0.0
    assert tiny.squared().log10 == pytest.approx(2 * tiny.log10, rel=1e-12, abs=0)
    assert str(Scaled(9.999, 0.0)) == "1.00e+01"
    assert str(Scaled(0.0)) == "0"
    assert str(Scaled(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))) == "[1.00e+00, 2.00e+00, 3.00e+00, 4.00e+00, ...]"


def test_scaled_arithmetic_across_scales():
    array = Scaled(np.array([3.0, 0.0, 4.0]), np.array([-900.0, 0.0, -900.0]), np.array([0.3, 0.0, 0.4]))
    norm = array.norm()
    assert norm.mantissa * np.exp(norm.log_scale + 900) == pytest.approx(5.0, rel=1e-12, abs=0)
    assert norm.relative_error == pytest.approx(0.1, rel=0.1, abs=0)
    assert array.largest().mantissa == 4.0
    assert array.smallest().mantissa == 0.0
    assert (array[0] + array[2]).log10 == pytest.approx(np.log10(7) - 900 / np.log(10), rel=1e-12, abs=0)
    assert (array[0] - array[2]).value == 0.0
    assert (array[0] - array[2]).mantissa < 0
    assert (Scaled(2.0) - Scaled(0.5)).value == pytest.approx(1.5, rel=1e-12, abs=0)
    assert (-Scaled(2.0) * 3).value == pytest.approx(-6.0, rel=1e-12, abs=0)
    assert Scaled(np.array([1.0, 2.0])).sum().value == pytest.approx(3.0, rel=1e-12, abs=0)
    assert Scaled(np.zeros(2)).norm().value == 0.0


@settings(deadline=None)
@given(st.fractions(-3, 3, max_denominator=12), st.sampled_from(["relu", "clipped-relu"]))
def test_piecewise_conventions(z, name):
    high = 10**9 if name == "relu" else 1
    s = resolve(name)
    assert s.value(np.array(float(z))) == pytest.approx(float(min(max(z, 0), high)), abs=1e-15)
    assert s.derivative(np.array(float(z))) == (1.0 if 0 < z < high else 0.0)


def test_offset_clip_and_leaky_slope():
    z = np.array([-6.0, -5.0, -2.0, 1.0, 2.0])
    assert np.allclose(clip(0, 6, offset=5).value(z), np.clip(5 + z, 0, 6))
    assert np.array_equal(clip(0, 6, offset=5).derivative(z), [0, 0, 1, 0, 0])
    leaky = piecewise_linear([(0, 0)], left=Fraction(1, 4), right=1)
    assert np.array_equal(leaky.derivative(np.array([-1.0, 0.0, 1.0])), [0.25, 0.25, 1.0])


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf"])
def test_slopes_and_their_transforms(name):
    s, z = NAMED[name], np.arange(-6000, 6001) / 100
    slope = (s.value(z[2:]) - s.value(z[:-2])) / 0.02
    assert np.abs(s.derivative(z[1:-1]) - slope).max() < 1e-3
    for t in (0.1, 1.0, 3.0):
        assert np.exp(s.log_transform(t)) == pytest.approx(
            0.01 * s.derivative(z) @ np.cos(t * z), rel=1e-9, abs=0
        )


@pytest.mark.parametrize(
    ("activation", "weights", "engine"),
    [
        ("tanh", GAUSSIAN, "trapezoid"),
        ("erf", [0.5, -0.5], "trapezoid"),
        ("relu", [0.5, -0.5], "krawtchouk"),
        ("clipped-relu", GAUSSIAN[:30], "meet"),
        ("relu", on_lattice(GAUSSIAN, 64), "lattice"),
        ("relu", GAUSSIAN[:44], "meet"),
    ],
)
def test_the_right_engine(activation, weights, engine):
    assert choose(activation, weights).engine == engine


def test_a_saturated_neuron_of_few_bits_keeps_its_digits():
    """tanh'(100) = 4 e^-200: the integral cancels, the sum over inputs does not."""
    found = coefficient("tanh", [1.0, 0.5], 100.0, [], derivative=True)
    exact = np.mean([4 * np.exp(-2 * (100 + a + b)) for a in (1, -1) for b in (0.5, -0.5)])
    assert found.value == pytest.approx(exact, rel=1e-10, abs=0)
    poor = coefficient("tanh", [1.0, 0.5], 100.0, [], derivative=True, engine="trapezoid")
    assert poor.relative_error > 1e-10


def test_a_result_names_the_engine_that_computed_it():
    weights = GAUSSIAN[:8] / 3
    assert choose("tanh", weights, 30.0).engine == "trapezoid"
    saturated = partials("tanh", weights, 30.0, [0, 1])
    assert saturated.choice.engine == "enumeration" and "better than trapezoid" in saturated.choice.reason
    by_inputs = partials("tanh", weights, 30.0, [0, 1], engine="enumeration")
    assert np.array_equal(saturated.value, by_inputs.value) and by_inputs.choice.reason == "asked for."
    plain = partials("tanh", weights, 0.3, [0, 1])
    assert plain.choice == plain[0].choice == plain.largest().choice == choose("tanh", weights, 0.3)
    assert coefficient("relu", [0.5, -0.5], 0.0, [0]).choice.engine == "krawtchouk"
    assert (plain[0] + plain[1]).choice is None


def test_many_saturated_bits_keep_the_first_engine_and_its_error():
    found = partials("tanh", GAUSSIAN[:30] / 6, 30.0, [0, 1])
    assert found.choice.engine == "trapezoid" and np.max(found.relative_error) > 1


@pytest.mark.parametrize(("size", "k"), [(1e-3, 20), (0.03, 3)])
def test_the_integral_is_cut_where_nothing_is_left(monkeypatch, size, k):
    """Many different weights make short blocks of t, so the cut is close to where it is meant to be."""
    weights = np.random.default_rng(2).standard_normal(1500) * size
    found = partials("tanh", weights, 0.3, range(k))
    monkeypatch.setattr(trapezoid, "NEGLIGIBLE", 200.0)
    further = partials("tanh", weights, 0.3, range(k))
    assert np.abs(found.log10 - further.log10).max() < 1e-12


def test_fourier_gap_is_read_off_the_gradient():
    weights = GAUSSIAN[:40] / 6
    gradient = np.abs(partials("tanh", weights, 0.3, [3, 7, 11]).value)
    inside = np.isin(np.arange(40), [3, 7, 11])
    found = fourier_gap("tanh", weights, 0.3, [3, 7, 11])
    assert found.relevant.value == pytest.approx(gradient[inside].min(), rel=1e-12, abs=0)
    assert found.irrelevant.value == pytest.approx(gradient[~inside].max(), rel=1e-12, abs=0)
    assert found.gap.value == pytest.approx(
        gradient[inside].min() - gradient[~inside].max(), rel=1e-12, abs=0
    )
    assert fourier_gap("tanh", weights, 0.3, []).relevant.value == 0.0
    assert fourier_gap("tanh", weights, 0.3, range(40)).irrelevant.value == 0.0


@pytest.mark.parametrize("derivative", [False, True])
def test_level_weights_add_up_and_hold_each_coefficient(derivative):
    weights = GAUSSIAN[:6]
    levels = level_weights("sigmoid", weights, 0.2, derivative)
    singles = [coefficient("sigmoid", weights, 0.2, [i], derivative).value ** 2 for i in range(6)]
    assert levels[1] == pytest.approx(sum(singles), rel=1e-12, abs=0)
    s = resolve("sigmoid")
    signs = 1 - 2 * ((np.arange(64)[:, None] >> np.arange(6)) & 1)
    assert levels.sum() == pytest.approx(
        np.mean(s.evaluate(signs @ weights + 0.2, derivative) ** 2), rel=1e-12, abs=0
    )


def test_permutation_invariance_gives_the_level_identity():
    """E shat(A)^2 = W^|A| / C(n, |A|) when every set of a size has the same square, as with weights +-c."""
    weights = [0.5, -0.5, 0.5, 0.5, -0.5, 0.5, 0.5]
    levels = level_weights("tanh", weights, 0.3)
    for size in range(8):
        found = expected_square("tanh", 7, size, 0.3, Signs(0.5)).value
        assert found == pytest.approx(levels[size] / comb(7, size), rel=1e-10, abs=1e-18)


def test_ten_thousand_bits():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(10_000) / 100
    found = partials("tanh", weights, 0.3, range(13))
    assert np.max(found.relative_error) < 1e-12
    assert fourier_gap("clipped-relu", np.sign(weights) / 128, 0.25, range(13)).gap.value > 0
    single = coefficient("tanh", weights, 0.3, range(12), derivative=True)
    assert found[12].value == pytest.approx(single.value, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tanh", [], 0.0, []), "No weights"),
        (("tanh", [1.0, np.nan], 0.0, []), "Weight 1 is nan"),
        (("tanh", [1.0, 1e-310], 0.0, []), "at least 1e-290"),
        (("tanh", [1.0], np.inf, []), "bias is inf"),
        (("tanh", ["x"], 0.0, []), "must be numbers"),
        (("tanh", [Fraction(10**400)], 0.0, []), "above 1e308"),
        (("tanh", [1.0, 2.0], 0.0, [2]), "from 0 to 1"),
        (("tanh", [1.0, 2.0], 0.0, [-1]), "from 0 to 1"),
        (("tanh", [1.0, 2.0], 0.0, [0.5]), "whole numbers"),
        (("tanh", [1.0, 2.0], 0.0, [1, 1]), "twice"),
        (("gelu", [1.0], 0.0, []), "choose one of tanh"),
        (("relu", GAUSSIAN, 0.0, [1]), "on_lattice"),
        (("tanh", [1e12], 0.0, [0]), "scale the neuron down"),
    ],
)
def test_bad_neurons_are_one_sentence(arguments, said):
    for task in (coefficient, partials):
        with pytest.raises(UserError, match=said) as refusal:
            task(*arguments)
        assert str(refusal.value).count(". ") == 0


@pytest.mark.parametrize(
    ("activation", "weights", "engine", "said"),
    [
        ("relu", [1.0, 2.0], "trapezoid", "derivative jumps"),
        ("tanh", [1.0, 2.0], "meet", "not piecewise linear"),
        ("tanh", [1.0, 2.0], "lattice", "not piecewise linear"),
        ("relu", [1.0, 2.0], "krawtchouk", r"weights \+-c"),
        ("relu", np.ones(21), "enumeration", "n <= 20"),
        ("relu", np.ones(45), "meet", "n <= 44"),
        ("relu", GAUSSIAN, "lattice", "smaller den"),
        ("relu", [1.0], "magic", "choose one of"),
    ],
)
def test_the_wrong_engine_is_refused_with_a_reason(activation, weights, engine, said):
    for task in (coefficient, partials):
        with pytest.raises(UserError, match=said):
            task(activation, weights, 0.0, [0], engine=engine)


def test_bad_activations_are_refused():
    with pytest.raises(UserError, match="rise"):
        piecewise_linear([(1, 0), (1, 1)])
    with pytest.raises(UserError, match="below"):
        clip(1, 1)
    with pytest.raises(UserError, match="n = 21"):
        level_weights("tanh", np.ones(21), 0.0)


def test_the_command_line_starts_without_numpy():
    code = "import sys, whyconv.cli.main; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_estimate_of_work_counts_the_bits_of_the_set(monkeypatch):
    """The integrand of a large set has its peak at a large t, so that many more t are met."""
    weights = np.full(200, 200**-0.5) * np.linspace(0.5, 1.5, 200)
    monkeypatch.setattr(trapezoid, "MOST_WORK", 3e5)
    assert len(partials("tanh", weights, 0.3, range(3))) == 200
    with pytest.raises(UserError, match="a set of 100 bits"):
        partials("tanh", weights, 0.3, range(100))
