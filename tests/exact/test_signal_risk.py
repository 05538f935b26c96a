"""The risk under laws of signals: the closed form against all scenes, the oracle and its specification."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.exact.signal.law import SignalLaw, simulate
from whyconv.exact.signal.moments import gaussian_moments, soft_threshold
from whyconv.exact.signal.risk import linear_risk, mixed_risk, oracle, population_risk
from whyconv.papers.lahoti.exact.rates import first_step_alignment, rate


def plain(patches, dim=4, sigma=0.1, **fields):
    table = np.full((1, patches, dim), dim**-0.5)
    return SignalLaw(table, np.full(patches, sigma), np.ones((patches, dim), bool), **fields)


@st.composite
def laws(draw):
    """Gaussian laws of every kind but signals without noise."""
    patches, dim, rolls = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    live = np.arange(dim) < rng.integers(1, dim + 1, (patches, 1))
    table = rng.normal(size=(rolls, patches, dim)) * live
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    kind = draw(st.sampled_from(["one", "place", "several", "product"]))
    fields = {
        "one": {},
        "place": {"place": int(rng.integers(1, patches + 1))},
        "several": {"signals": int(rng.integers(1, patches + 1))},
        "product": {"product": patches > 1},
    }[kind]
    return SignalLaw(table, rng.uniform(0.05, 1, patches), live, **fields)


def local(filters):
    nodes = np.zeros((len(filters), *filters.shape))
    nodes[np.arange(len(filters)), np.arange(len(filters))] = filters
    return nodes


@given(laws(), st.integers(0, 99), st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_the_closed_form_is_the_mean_over_scenes(law, seed, bias):
    filters = np.random.default_rng(seed).normal(size=law.table.shape[1:])
    filters[0] *= seed % 3 > 0
    assert population_risk(law, filters, bias) == pytest.approx(
        mixed_risk(law, local(filters), bias), rel=1e-12
    )


@pytest.mark.parametrize("noise_law", ["gaussian", "uniform", "laplace"])
@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("fields", [{}, {"place": 2}, {"signals": 3}, {"product": True}])
def test_the_closed_form_against_draws(noise_law, noisy, fields):
    rng = np.random.default_rng(5)
    table = rng.normal(size=(2, 4, 2))
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    live = np.ones((4, 2), bool)
    law = SignalLaw(table, np.array([0.2, 0.3, 0.5, 0.4]), live, noise_law, noisy, **fields)
    filters = 0.6 * table[0] + 0.2 * rng.normal(size=(4, 2))
    x, y = simulate(law, 40_000, 3)
    losses = (y - soft_threshold(np.einsum("nij,ij->ni", x, filters), 0.1).sum(axis=1)) ** 2
    error = losses.std() / len(losses) ** 0.5
    assert population_risk(law, filters, 0.1) == pytest.approx(losses.mean(), abs=4 * error)


def test_the_formula_of_the_specification():
    """R = 1 - (2/k) sum m + (1/k) [sum M + (k-1) sum M(0)], written out."""
    rng = np.random.default_rng(0)
    law = plain(7, sigma=0.3)
    filters = rng.normal(size=(7, 4)) / 2
    alpha, s = filters @ law.table[0, 0], 0.3 * np.linalg.norm(filters, axis=1)
    m, square = gaussian_moments(alpha, s, 0.2)
    noise = gaussian_moments(0.0, s, 0.2)[1]
    told = 1 - 2 / 7 * m.sum() + (square.sum() + 6 * noise.sum()) / 7
    assert population_risk(law, filters, 0.2) == pytest.approx(told, rel=1e-13)


@pytest.mark.parametrize("patches, risk", [(10, 0.0329), (20, 0.0408), (30, 0.0457)])
def test_the_oracle_of_the_specification(patches, risk):
    found, bias, scale = oracle(plain(patches))
    assert scale == 1
    assert found == pytest.approx(risk, abs=5e-5)
    law = plain(patches)
    assert found == pytest.approx(population_risk(law, law.table[0], bias), rel=1e-12)
    grid = [population_risk(law, law.table[0], b) for b in np.linspace(0, 0.5, 101)]
    assert found <= min(grid)
    assert min(grid) == pytest.approx(found, rel=1e-2)


@given(laws())
@settings(max_examples=10, deadline=None)
def test_the_oracle_misses_no_minimum(law):
    found, bias, scale = oracle(law)
    assert 0 <= scale <= 1
    assert found == pytest.approx(population_risk(law, scale * law.table[0], bias), rel=1e-10)
    grid = [
        population_risk(law, c * law.table[0], c * b)
        for b in np.linspace(0, 3, 20)
        for c in (0.1, 0.3, 0.6, 1)
    ]
    assert found <= min(grid) + 1e-12


def test_nothing_that_sums_over_patches_tells_a_product():
    law = plain(5, product=True)
    risk, bias, scale = oracle(law)
    assert risk == linear_risk(law) == 1
    assert population_risk(law, scale * law.table[0], bias) == 1
    assert population_risk(law, law.table[0], 0.2) > 1


@pytest.mark.parametrize("patches, sigma", [(6, 0.1), (20, 0.1), (5, 1.0)])
def test_the_linear_risk(patches, sigma):
    noise = sigma**2 * patches
    assert linear_risk(plain(patches, sigma=sigma)) == pytest.approx(noise / (1 + noise), rel=1e-12)


@given(laws())
@settings(max_examples=25, deadline=None)
def test_the_linear_risk_is_the_least_over_scales(law):
    if law.product:
        return

    def risk(c):
        return population_risk(law, c * law.table[0], 0.0)

    # three values tell a parabola, and so its least value
    low, middle, high = risk(0.0), risk(1.0), risk(2.0)
    bend = (high - 2 * middle + low) / 2
    slope = middle - low - bend
    assert linear_risk(law) == pytest.approx(low - slope**2 / (4 * bend), abs=1e-10)


def test_too_many_scenes_are_not_gone_through():
    law = plain(40, signals=8)
    assert mixed_risk(law, local(law.table[0]), 0.1) is None
    assert population_risk(law, law.table[0], 0.1) > 0


def test_simulated_inputs_follow_the_law():
    law = plain(5, signals=2, noise_law="laplace", sigma=0.3, noisy_signal=False)
    x, y = simulate(law, 20_000, 1)
    exact = (np.abs(x - y[:, None, None] * law.table[0]) < 1e-15).all(axis=2)
    assert (exact.sum(axis=1) == 2).all()
    assert exact.mean(axis=0) == pytest.approx(np.full(5, 2 / 5), abs=0.02)
    assert x[~exact].var() == pytest.approx(0.09, rel=0.02)
    assert abs(y.mean()) < 0.03


def test_rates():
    k, d, sigma = 10, 20, 0.1
    log = np.log(200)
    told = {"cnn-upper": 0.3 * log, "lcn-upper": 3 * log, "lcn-lower": 2.0, "fcn-lower": 20.0}
    for name, value in told.items():
        assert rate(name, k, d, sigma) == pytest.approx(value)
    with pytest.raises(ValueError, match="there is no rate 'mlp'; take one of cnn-upper, lcn-upper"):
        rate("mlp", k, d, sigma)


@pytest.mark.parametrize("network", ["lcn", "cnn"])
def test_alignment_after_one_step(network):
    patches, m = 5, 400
    law = plain(patches, dim=30, sigma=0.5)
    found = []
    for seed in range(20):
        x, y = simulate(law, m, seed)
        step = np.einsum("n,nij->ij", y.astype(float), x)
        step = step.sum(axis=0, keepdims=True) if network == "cnn" else step
        found.append((step @ law.table[0, 0] / np.linalg.norm(step, axis=1)).mean())
    told = first_step_alignment(network, patches, 30, 0.5, m)
    assert np.mean(found) == pytest.approx(told, rel=0.015)
    with pytest.raises(ValueError, match="take one of lcn, cnn"):
        first_step_alignment("mlp", 1, 1, 1, 1)
