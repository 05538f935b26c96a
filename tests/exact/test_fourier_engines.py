"""Every engine against all 2^n inputs, and engines against each other where two apply."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whyconv.errors import UserError
from whyconv.exact import clip, coefficient, on_lattice, partials, piecewise_linear
from whyconv.exact.fourier.activations import resolve
from whyconv.exact.fourier.front import ENGINES
from whyconv.exact.fourier.neuron import Neuron

ANALYTIC = ("tanh", "sigmoid", "erf")
ZIGZAG = piecewise_linear([(-1, 0), (0, 2), (Fraction(1, 2), -1)], left=Fraction(1, 3), right=-2)
PIECEWISE = ("relu", "clipped-relu", clip(0, 6, offset=5), ZIGZAG)
some = settings(deadline=None, max_examples=60)


@st.composite
def neurons(draw, numbers, most_bits=14):
    """(weights, bias, subset) with n <= most_bits."""
    weights = draw(st.lists(numbers, min_size=1, max_size=most_bits))
    subset = draw(st.sets(st.integers(0, len(weights) - 1)))
    return weights, draw(numbers), sorted(subset)


REALS = st.floats(-2, 2, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-200 else 0.0)
EIGHTHS = st.integers(-12, 12).map(lambda m: Fraction(m, 8))


def plain_mean(activation, weights, bias, subset, derivative):
    """The definition, one input at a time, in exact arithmetic up to the activation."""
    total, n_bits = 0.0, len(weights)
    s = resolve(activation)
    for code in range(2**n_bits):
        x = [-1 if code >> i & 1 else 1 for i in range(n_bits)]
        z = float(sum(Fraction(w) * each for w, each in zip(weights, x, strict=True)) + Fraction(bias))
        total += float(np.prod([x[i] for i in subset])) * float(s.evaluate(np.array(z), derivative))
    return total / 2**n_bits


def close(found, wanted):
    return np.all(np.abs(found - wanted) <= 1e-10 * np.abs(wanted) + 1e-15)


@some
@given(st.sampled_from(ANALYTIC + PIECEWISE), neurons(EIGHTHS, 6), st.booleans())
def test_enumeration_is_the_definition(activation, neuron, derivative):
    found = coefficient(activation, *neuron, derivative, engine="enumeration")
    assert close(found.value, plain_mean(activation, *neuron, derivative))


@some
@given(st.sampled_from(ANALYTIC), neurons(REALS), st.booleans())
@example("sigmoid", ([0.5], 1.0, []), False)
@example("tanh", ([0.0, 1.0], 0.5, [0, 1]), True)
@example("erf", ([0.0, 0.0, 1.0], 0.5, [0, 1]), True)
def test_trapezoid_against_all_inputs(activation, neuron, derivative):
    found = coefficient(activation, *neuron, derivative, engine="trapezoid")
    oracle = coefficient(activation, *neuron, derivative, engine="enumeration")
    assert close(found.value, oracle.value)
    off = abs(found.value - oracle.value)
    assert off <= found.error * np.exp(found.log_scale) + oracle.error + 1e-18
    gradient = partials(activation, *neuron, engine="trapezoid")
    assert close(gradient.value, partials(activation, *neuron, engine="enumeration").value)


@some
@given(st.sampled_from(PIECEWISE), neurons(REALS), st.booleans())
@example("clipped-relu", ([1.0], -4e-104, []), True)
def test_meet_in_the_middle_against_all_inputs(activation, neuron, derivative):
    found = coefficient(activation, *neuron, derivative, engine="meet")
    assert close(found.value, coefficient(activation, *neuron, derivative, engine="enumeration").value)
    gradient = partials(activation, *neuron, engine="meet")
    assert close(gradient.value, partials(activation, *neuron, engine="enumeration").value)


@some
@given(st.sampled_from(PIECEWISE), neurons(EIGHTHS), st.booleans())
@example("relu", ([Fraction(0), Fraction(1)], Fraction(0), [0]), True)
@example("relu", ([Fraction(0), Fraction(0)], Fraction(1), [0, 1]), True)
def test_lattice_meet_and_all_inputs_agree(activation, neuron, derivative):
    checked, s = Neuron.checked(*neuron), resolve(activation)
    exact = ENGINES["lattice"].rational(s, checked, derivative)
    assert exact == ENGINES["meet"].rational(s, checked, derivative)
    assert close(float(exact), coefficient(activation, *neuron, derivative, engine="enumeration").value)
    gradient = ENGINES["lattice"].rational_partials(s, checked)
    assert gradient == ENGINES["meet"].rational_partials(s, checked)
    oracle = partials(activation, *neuron, engine="enumeration").value
    assert close(np.array([float(each) for each in gradient]), oracle)


@some
@given(st.sampled_from(PIECEWISE), st.data(), st.booleans())
def test_krawtchouk_is_the_same_rational(activation, data, derivative):
    size = data.draw(st.fractions(Fraction(1, 9), 2, max_denominator=9))
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=14))
    subset = data.draw(st.sets(st.integers(0, len(signs) - 1)))
    bias = data.draw(st.fractions(-2, 2, max_denominator=9))
    checked, s = Neuron.checked([size * sign for sign in signs], bias, subset), resolve(activation)
    krawtchouk = ENGINES["krawtchouk"]
    exact = krawtchouk.rational(s, len(signs), checked.size, size, bias, derivative) * checked.sign
    assert exact == ENGINES["lattice"].rational(s, checked, derivative)
    found = krawtchouk.partials(s, checked)
    assert np.array_equal(found.value, ENGINES["meet"].partials(s, checked).value)


@some
@given(st.sampled_from(ANALYTIC), neurons(st.just(0.375), 40), st.booleans())
def test_krawtchouk_and_trapezoid_agree_or_krawtchouk_refuses(activation, neuron, derivative):
    try:
        found = coefficient(activation, *neuron, derivative, engine="krawtchouk")
    except UserError as refusal:
        assert "trapezoid" in str(refusal)
        return
    other = coefficient(activation, *neuron, derivative, engine="trapezoid").value
    assert found.value == pytest.approx(other, rel=1e-10, abs=1e-300)


def test_krawtchouk_refuses_what_cancels_and_keeps_the_rest():
    weights = np.full(256, 1 / 16)
    near = coefficient("sigmoid", weights, 0.3, range(8), True, engine="krawtchouk").value
    assert near == pytest.approx(coefficient("sigmoid", weights, 0.3, range(8), True).value, rel=1e-10, abs=0)
    with pytest.raises(UserError, match="cancels"):
        coefficient("sigmoid", weights, 0.3, range(40), True, engine="krawtchouk")


@pytest.mark.parametrize("activation", ["relu", "clipped-relu"])
def test_three_engines_agree_on_larger_lattices(activation):
    rng = np.random.default_rng(5)
    weights = on_lattice(rng.standard_normal(26) / 5, 64)
    subset = [i for i in range(26) if weights[i]][:5]
    checked, s = Neuron.checked(weights, Fraction(1, 4), subset), resolve(activation)
    assert ENGINES["lattice"].rational_partials(s, checked) == ENGINES["meet"].rational_partials(s, checked)
    signs = [Fraction(1, 5) if each > 0 else Fraction(-1, 5) for each in weights]
    checked = Neuron.checked(signs, Fraction(-4, 5), subset)
    exact = ENGINES["lattice"].rational_partials(s, checked)
    assert exact == ENGINES["meet"].rational_partials(s, checked)
    assert np.array_equal(ENGINES["krawtchouk"].partials(s, checked).value, [float(each) for each in exact])


def test_meet_decides_sums_that_agree_to_the_last_bit():
    """Weights too fine for 64 bits, a kink exactly on a sum: pairs are settled in exact integers."""
    third, fine = Fraction(1, 3), Fraction(1, 10**25)
    bias, found = Fraction(-3, 8), []
    for second in (-third + fine, -third):
        weights = [third, second, Fraction(1, 4), Fraction(1, 8)]
        by_hand = Fraction(0)
        for code in range(16):
            x = [-1 if code >> i & 1 else 1 for i in range(4)]
            z = sum(w * each for w, each in zip(weights, x, strict=True)) + bias
            by_hand += Fraction(x[0] * x[1] * (z > 0), 16)
        found.append(ENGINES["meet"].rational(resolve("relu"), Neuron.checked(weights, bias, [0, 1]), True))
        assert found[-1] == by_hand
    assert found[0] != found[1]
